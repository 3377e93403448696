#include "checkpoint/strict_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "checkpoint/model_file.h"
#include "wire/checksum.h"

namespace yoke::checkpoint {
namespace {

constexpr std::size_t kMostDeep = 16;
constexpr std::string_view kBeforeSum = "\"sum\":\"", kAfterSum = "\"}\n";
constexpr std::size_t kHexDigits = 16;

// Builds the tree, and refuses what a tree would hide.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string wrong;

  bool null() override { return put(Json()); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)); }
  bool number_float(number_float_t value, const std::string&) override { return put(Json(value)); }
  bool string(std::string& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return refuse("binary data has no place in it"); }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    if (open_.back()->contains(name)) return refuse(fmt::format("'{}' is there twice", printable(name)));
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("it is not JSON from its byte {} on", position));
  }

 private:
  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    auto& into = *open_.back();
    if (into.is_object()) return &(into[key_] = std::move(value));
    into.push_back(std::move(value));
    return &into.back();
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMostDeep) return refuse(fmt::format("it nests deeper than {}", kMostDeep));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  bool refuse(std::string why) {
    wrong = std::move(why);
    return false;
  }

  std::vector<Json*> open_;
  std::string key_;
};

const Json& nothing(Json::value_t kind) {
  static const Json list = Json::array(), object = Json::object();
  return kind == Json::value_t::array ? list : object;
}

}  // namespace

std::uint64_t sum_of(std::string_view text) {
  wire::Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.value();
}

std::string in_hex(std::uint64_t sum) { return fmt::format("{:016x}", sum); }

std::string with_sum(const nlohmann::ordered_json& object) {
  auto text = object.dump(1, ' ', false);
  text.resize(text.size() - 2);  // the last "\n}"
  text += ",\n ";
  const auto sum = in_hex(sum_of(text));
  return text.append(kBeforeSum).append(sum).append(kAfterSum);
}

Result<Json> parse_summed(std::string_view text) {
  constexpr auto kTail = kBeforeSum.size() + kHexDigits + kAfterSum.size();
  if (text.size() < kTail) return Error{Code::corrupt, "it is cut off: the sum at its end is not there"};
  const auto body = text.substr(0, text.size() - kTail);
  const auto tail = fmt::format("{}{}{}", kBeforeSum, in_hex(sum_of(body)), kAfterSum);
  if (text.substr(body.size()) != tail)
    return Error{Code::corrupt, "it does not have the sum that was written: cut off, or a bit flipped"};
  // The JSON reader takes a zero byte for the end, and would never see what stands behind it.
  if (text.find('\0') != text.npos) return Error{Code::corrupt, "it has zero bytes in it"};
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) return Error{Code::corrupt, builder.wrong};
  if (!builder.root.is_object()) return Error{Code::corrupt, "it is no JSON object"};
  builder.root.erase("sum");
  return std::move(builder.root);
}

Fields::Fields(const Json& object, std::string where, std::string& wrong)
    : object_(object), where_(std::move(where)), wrong_(wrong) {
  if (!object.is_object() && wrong_.empty()) wrong_ = fmt::format("{} is no object", where_);
}

Fields::~Fields() {
  if (wrong_.empty() && taken_ != object_.size())
    wrong_ = fmt::format("{} has fields that have no place there", where_);
}

std::string Fields::place(const char* key) const { return where_.empty() ? key : fmt::format("{}.{}", where_, key); }

void Fields::refuse(const char* key, std::string_view why) {
  if (wrong_.empty()) wrong_ = fmt::format("{} {}", place(key), why);
}

const Json* Fields::take(const char* key) {
  if (!wrong_.empty()) return nullptr;
  const auto found = object_.find(key);
  if (found == object_.end()) {
    refuse(key, "is missing");
    return nullptr;
  }
  ++taken_;
  return &*found;
}

std::uint64_t Fields::whole(const char* key, std::uint64_t most) {
  const auto* value = take(key);
  if (!value) return 0;
  if (value->is_number_unsigned() && value->get<std::uint64_t>() <= most) return value->get<std::uint64_t>();
  refuse(key, fmt::format("is no whole number up to {}", most));
  return 0;
}

std::uint32_t Fields::small(const char* key, std::uint32_t most) {
  return static_cast<std::uint32_t>(whole(key, most));
}

double Fields::number(const char* key) {
  const auto* value = take(key);
  if (!value) return 0;
  if (value->is_number() && std::isfinite(value->get<double>())) return value->get<double>();
  refuse(key, "is no finite number");
  return 0;
}

bool Fields::flag(const char* key) {
  const auto* value = take(key);
  if (value && !value->is_boolean()) refuse(key, "is neither true nor false");
  return value && value->is_boolean() && value->get<bool>();
}

std::string Fields::text(const char* key, std::size_t most) {
  const auto* value = take(key);
  if (!value) return {};
  if (value->is_string() && value->get_ref<const std::string&>().size() <= most) return value->get<std::string>();
  refuse(key, fmt::format("is no text of up to {} bytes", most));
  return {};
}

std::uint64_t Fields::hex(const char* key) {
  const auto digits = text(key, kHexDigits);
  const bool good = digits.size() == kHexDigits && digits.find_first_not_of("0123456789abcdef") == digits.npos;
  if (!good) refuse(key, "is no sum of 16 hexadecimal digits");
  return good ? std::stoull(digits, nullptr, 16) : 0;
}

const Json& Fields::list(const char* key, std::size_t most) {
  const auto* value = take(key);
  if (!value) return nothing(Json::value_t::array);
  if (value->is_array() && value->size() <= most) return *value;
  refuse(key, fmt::format("is no list of up to {}", most));
  return nothing(Json::value_t::array);
}

const Json& Fields::object(const char* key) {
  const auto* value = take(key);
  if (value && value->is_object()) return *value;
  if (value) refuse(key, "is no object");
  return nothing(Json::value_t::object);
}

}  // namespace yoke::checkpoint
