#include "history/history_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "history/event_fields.h"

namespace yoke::history {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestLine = 64u << 20;  // a record of 200,000 gradients

// Writes straight into text: a recorder does this for every event, while others wait.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void operator()(std::string_view name, const auto& value) {
    out_ += first_ ? "\"" : ",\"";
    first_ = false;
    out_ += name;
    out_ += "\":";
    put(value);
  }

 private:
  void put(bool value) { out_ += value ? "true" : "false"; }
  void put(std::integral auto value) { put_digits(value); }
  void put(double value) {
    if (std::isnan(value)) return put_word("nan");
    if (std::isinf(value)) return put_word(value < 0 ? "-inf" : "inf");
    const auto digits = put_digits(value);
    if (digits.find_first_of(".e") == digits.npos) out_ += ".0";  // an integer would lose the sign of -0
  }
  template <class T>
  requires std::is_enum_v<T>
  void put(T value) { put_word(words_for(value).at(static_cast<std::size_t>(value))); }
  void put(std::string_view text) {
    const bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
    if (plain) return put_word(text);
    out_ += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    if (value) {
      put(*value);
    } else {
      out_ += "null";
    }
  }
  template <class T>
  void put(const std::vector<T>& values) {
    out_ += '[';
    for (const auto& value : values) {
      if (&value != values.data()) out_ += ',';
      put(value);
    }
    out_ += ']';
  }
  void put(const std::map<std::uint32_t, std::uint64_t>& values) {  // a list of pairs
    out_ += '[';
    for (bool first = true; const auto& [key, value] : values) {
      out_ += first ? "[" : ",[";
      first = false;
      put(key);
      out_ += ',';
      put(value);
      out_ += ']';
    }
    out_ += ']';
  }
  template <class T>
  requires std::is_aggregate_v<T>
  void put(const T& value) {
    out_ += '{';
    Writer inner(out_);
    fields(inner, value);
    out_ += '}';
  }

  // The fewest digits that are read back as the same number.
  std::string_view put_digits(auto value) {
    char digits[32];
    const auto end = std::to_chars(std::begin(digits), std::end(digits), value).ptr;
    out_.append(digits, end);
    return std::string_view(out_).substr(out_.size() - static_cast<std::size_t>(end - digits));
  }
  void put_word(std::string_view word) {
    out_ += '"';
    out_ += word;
    out_ += '"';
  }

  std::string& out_;
  bool first_ = true;
};

// Nothing that is read is trusted. The first thing that is wrong goes to `problem`, in words.
class Reader {
 public:
  Reader(const json& object, std::string& problem) : object_(object), problem_(problem) {}

  void operator()(const char* name, auto& value) {
    if (!problem_.empty()) return;
    const auto it = object_.find(name);
    if (it == object_.end()) {
      problem_ = fmt::format("\"{}\" is missing", name);
    } else if (!take(*it, value) && problem_.empty()) {
      problem_ = fmt::format("\"{}\" cannot be {:.40}", name, it->dump(-1, ' ', true));
    }
  }

 private:
  bool take(const json& from, bool& value) {
    if (!from.is_boolean()) return false;
    value = from.get<bool>();
    return true;
  }
  template <std::integral T>
  bool take(const json& from, T& value) {
    if (from.is_number_unsigned()) return take_within(from.get<std::uint64_t>(), value);
    return from.is_number_integer() && take_within(from.get<std::int64_t>(), value);
  }
  template <class T>
  static bool take_within(auto number, T& value) {
    value = static_cast<T>(number);
    return std::in_range<T>(number);
  }
  bool take(const json& from, double& value) {
    if (from.is_number()) {
      value = from.get<double>();
      return true;
    }
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const auto& [word, meaning] : {std::pair{"nan", std::numeric_limits<double>::quiet_NaN()},
                                        std::pair{"inf", kInfinity}, std::pair{"-inf", -kInfinity}})
      if (from == word) {
        value = meaning;
        return true;
      }
    return false;
  }
  template <class T>
  requires std::is_enum_v<T>
  bool take(const json& from, T& value) {
    if (!from.is_string()) return false;
    const auto words = words_for(value);
    const auto it = std::find(words.begin(), words.end(), from.get_ref<const std::string&>());
    if (it == words.end()) return false;
    value = static_cast<T>(it - words.begin());
    return true;
  }
  bool take(const json& from, std::string& value) {
    if (!from.is_string()) return false;
    value = from.get_ref<const std::string&>();
    return true;
  }
  template <class T>
  bool take(const json& from, std::optional<T>& value) {
    if (from.is_null()) {
      value.reset();
      return true;
    }
    return take(from, value.emplace());
  }
  template <class T>
  bool take(const json& from, std::vector<T>& values) {
    if (!from.is_array()) return false;
    values.resize(from.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!take(from[i], values[i])) return false;
    return true;
  }
  bool take(const json& from, std::map<std::uint32_t, std::uint64_t>& values) {
    if (!from.is_array()) return false;
    values.clear();
    for (const auto& pair : from) {
      std::uint32_t key = 0;
      if (!pair.is_array() || pair.size() != 2 || !take(pair[0], key) || values.contains(key)) return false;
      if (!take(pair[1], values[key])) return false;
    }
    return true;
  }
  template <class T>
  requires std::is_aggregate_v<T>
  bool take(const json& from, T& value) {
    if (!from.is_object()) return false;
    Reader inner(from, problem_);
    fields(inner, value);
    return problem_.empty();
  }

  const json& object_;
  std::string& problem_;
};

template <std::size_t... I>
What empty_event(std::size_t kind, std::index_sequence<I...>) {
  What what;
  static_cast<void>(((kind == I ? (what.emplace<I>(), true) : false) || ...));
  return what;
}

Error broken(std::string why) { return {Code::corrupt, std::move(why)}; }

Error unreadable(const std::string& file) {
  return {Code::missing, fmt::format("{}: cannot be read: {}", file, std::strerror(errno))};
}

}  // namespace

std::string to_json_line(const Event& event) {
  std::string line;
  line.reserve(256);
  line += '{';
  Writer writer(line);
  writer("at", event.at.count());
  writer("event", kEventNames[event.what.index()]);
  std::visit([&](const auto& what) { fields(writer, what); }, event.what);
  line += "}\n";
  return line;
}

std::string to_json_lines(std::span<const Event> events) {
  std::string lines;
  for (const auto& event : events) lines += to_json_line(event);
  return lines;
}

Result<Event> from_json_line(std::string_view line) {
  const auto object = json::parse(line, nullptr, false);
  if (!object.is_object()) return broken("it is not a JSON object");
  std::string problem, name;
  std::int64_t at = 0;
  Reader reader(object, problem);
  reader("at", at);
  reader("event", name);
  if (!problem.empty()) return broken(problem);
  const auto* const kind = std::find(kEventNames.begin(), kEventNames.end(), name);
  if (kind == kEventNames.end()) return broken(fmt::format("there is no event {:.40}", json(name).dump(-1, ' ', true)));
  Event event{Time(at), empty_event(static_cast<std::size_t>(kind - kEventNames.begin()),
                                    std::make_index_sequence<kEventNames.size()>())};
  std::visit([&](auto& what) { fields(reader, what); }, event.what);
  if (!problem.empty()) return broken(problem);
  return event;
}

Result<std::vector<Event>> read_history(const std::string& file) {
  const auto close = [](std::FILE* open) { std::fclose(open); };
  const std::unique_ptr<std::FILE, decltype(close)> in(std::fopen(file.c_str(), "rbe"), close);
  if (!in) return unreadable(file);
  std::vector<Event> events;
  std::string line;
  char chunk[1 << 16];
  while (const auto got = std::fread(chunk, 1, sizeof chunk, in.get())) {
    for (std::string_view rest(chunk, got); !rest.empty();) {
      const auto end = rest.find('\n');
      line += rest.substr(0, end);
      const auto where = [&] { return fmt::format("{}, line {}", file, events.size() + 1); };
      if (line.size() > kLongestLine)
        return broken(fmt::format("{}: longer than {} bytes, so it is not a history", where(), kLongestLine));
      if (end == rest.npos) break;
      auto event = from_json_line(line);
      if (!event) return broken(fmt::format("{}: {}", where(), event.error().message));
      events.push_back(std::move(*event));
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (std::ferror(in.get())) return unreadable(file);
  if (auto last = from_json_line(line)) events.push_back(std::move(*last));
  return events;
}

}  // namespace yoke::history
