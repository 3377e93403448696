#include "cluster/etcd_store.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "checkpoint/model_file.h"
#include "security/credentials.h"
#include "transport/endpoint.h"

namespace yoke::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

constexpr std::size_t kMaxAnswer = 16u << 20, kMaxHead = 64u << 10;
static_assert(kMaxViewBytes / 3 * 4 + kMaxHead < kMaxAnswer, "a view that was stored can be read, in base64");
constexpr int kMostDeep = 16;
constexpr std::size_t kMostOfAReason = 200;
constexpr auto kBetweenRounds = std::chrono::milliseconds(50);

// --- texts ---

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // OpenSSL ends it with a zero
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(const std::string& text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0 || static_cast<std::size_t>(length) != bytes.size()) return {};
  // OpenSSL counts what is only padding, and takes it anywhere.
  for (int i = 0; i < 2 && !bytes.empty() && text[text.size() - 1 - static_cast<std::size_t>(i)] == '='; ++i)
    bytes.pop_back();
  if (to_base64(bytes) != text) return {};
  return bytes;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// --- HTTP: one question on a connection of its own, which ends with the answer ---

struct Answer {
  int status = 0;
  std::string body;
};

// Of a head in small letters, whose first line ends at its first "\r\n".
std::optional<std::string_view> header(std::string_view head, std::string_view name) {
  const auto at = head.find(fmt::format("\r\n{}:", name));
  if (at == head.npos) return {};
  auto value = head.substr(at + 3 + name.size());
  value = value.substr(0, value.find("\r\n"));
  value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
  return value.substr(0, value.find_last_not_of(" \t") + 1);
}

std::optional<std::string> join_chunks(std::string_view text) {
  std::string whole;
  for (;;) {
    const auto end = text.find("\r\n");
    if (end == text.npos) return {};
    auto line = text.substr(0, end);
    line = line.substr(0, line.find_first_of("; \t"));
    const auto size = parse_number<std::size_t>(line, 16);
    text.remove_prefix(end + 2);
    if (!size || *size > text.size()) return {};
    if (*size == 0) return whole;
    whole += text.substr(0, *size);
    text.remove_prefix(*size);
    if (!text.starts_with("\r\n")) return {};
    text.remove_prefix(2);
  }
}

Result<Answer> parse_answer(std::string_view text) {
  const auto wrong = [](std::string_view why) { return Error{Code::corrupt, fmt::format("its answer {}", why)}; };
  const auto end = text.substr(0, kMaxHead).find("\r\n\r\n");
  constexpr std::string_view kLike = "HTTP/1.1 200";
  if (!text.starts_with("HTTP/1.") || end == text.npos || end < kLike.size()) return wrong("is no HTTP");
  std::string head(text.substr(0, end + 2));
  std::transform(head.begin(), head.end(), head.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  const auto status = parse_number<int>(text.substr(kLike.size() - 3, 3));
  if (!status || *status < 100) return wrong("is no HTTP");
  text.remove_prefix(end + 4);
  if (const auto coding = header(head, "transfer-encoding")) {
    auto body = *coding == "chunked" ? join_chunks(text) : std::nullopt;
    if (!body) return wrong("is cut off, or in pieces that make no sense");
    return Answer{*status, std::move(*body)};
  }
  if (const auto length = header(head, "content-length")) {
    const auto bytes = parse_number<std::size_t>(*length);
    if (!bytes || *bytes > text.size()) return wrong("is cut off");
    text = text.substr(0, *bytes);
  }
  return Answer{*status, std::string(text)};
}

// A socket that does not block, and when to give up on it.
class Socket {
 public:
  Socket(int fd, Clock::time_point give_up) : fd_(fd), give_up_(give_up) {}
  ~Socket() { ::close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  Status send(std::string_view text) {
    while (!text.empty()) {
      const auto sent = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent >= 0) text.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0)
        if (auto goes_on = wait(errno, POLLOUT); !goes_on) return goes_on;
    }
    return {};
  }

  Result<std::string> receive_all() {
    std::string text;
    std::array<char, 65536> piece;
    for (;;) {
      const auto got = ::recv(fd_, piece.data(), piece.size(), 0);
      if (got == 0) return text;
      if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
      if (text.size() > kMaxAnswer)
        return Error{Code::corrupt, fmt::format("its answer has more than the {} bytes that it may", kMaxAnswer)};
      if (got < 0)
        if (auto goes_on = wait(errno, POLLIN); !goes_on) return goes_on.error();
    }
  }

 private:
  Status wait(int problem, short events) const {
    if (problem != EAGAIN && problem != EWOULDBLOCK && problem != EINTR)
      return Error{Code::timed_out, fmt::format("it broke off: {}", std::strerror(problem))};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up_ - Clock::now()).count();
    pollfd waiting{fd_, events, 0};
    if (left > 0 && (::poll(&waiting, 1, static_cast<int>(left)) != 0)) return {};
    return Error{Code::timed_out, "it does not answer"};
  }

  const int fd_;
  const Clock::time_point give_up_;
};

// Code::peer_down: it is not there. Code::timed_out: it is, and whether it has done it is not known.
Result<Answer> post(const transport::Address& to, const char* path, const std::string& body,
                    std::chrono::milliseconds patience) {
  const auto give_up = Clock::now() + patience;
  security::Credentials plain;  // etcd is not of the job, and knows neither its secret nor its certificates
  plain.insecure = true;
  const auto fd = transport::dial_once(to, plain, patience);
  if (!fd) return Error{Code::peer_down, fd.error().message};
  Socket socket(*fd, give_up);
  const auto host = to.host.find(':') == to.host.npos ? to.host : fmt::format("[{}]", to.host);
  auto sent = socket.send(
      fmt::format("POST {} HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\nContent-Type: application/json\r\n"
                  "Content-Length: {}\r\n\r\n{}",
                  path, host, to.port, body.size(), body));
  if (!sent) return sent.error();
  const auto text = socket.receive_all();
  if (!text) return text.error();
  if (text->empty()) return Error{Code::timed_out, "it broke off without an answer"};
  return parse_answer(*text);
}

// --- etcd's JSON ---

// Null where there is none.
const Json& field(const Json& object, const char* name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

// etcd writes them in quotation marks.
std::optional<std::uint64_t> number(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_string()) return {};
  return parse_number<std::uint64_t>(value.get_ref<const std::string&>());
}

std::optional<std::uint64_t> revision_of(const Json& answer) {
  return number(field(field(answer, "header"), "revision"));
}

Result<Json> parse_json(const Answer& answer) {
  auto json = Json::parse(
      answer.body, [](int depth, Json::parse_event_t, Json&) { return depth <= kMostDeep; }, false);
  if (answer.status == 200) {
    // Without the revision somebody else speaks JSON there.
    if (json.is_discarded() || revision_of(json).value_or(0) == 0)
      return Error{Code::corrupt, "its answer is none of etcd's"};
    return json;
  }
  const auto& said = field(json, "message").is_string() ? field(json, "message") : field(json, "error");
  const auto words = fmt::format(
      "it says {} ({})",
      said.is_string() ? checkpoint::printable(said.get_ref<const std::string&>(), kMostOfAReason) : "no reason",
      answer.status);
  // No leader, too slow, too much: may be otherwise in a moment.
  const bool passing = answer.status >= 500 || answer.status == 408 || answer.status == 429;
  return Error{passing ? Code::timed_out : Code::unsupported, words};
}

struct Held {
  std::string value;
  std::uint64_t revision = 0;  // 0: there is no such key
};

// Of the answer to a range, or of that part of a transaction's.
std::optional<Held> held(const Json& range) {
  const auto& found = field(range, "kvs");
  if (found.is_null() || (found.is_array() && found.empty())) return Held{};
  if (!found.is_array() || found.size() != 1) return {};
  const auto revision = number(field(found[0], "mod_revision"));
  const auto& text = field(found[0], "value");
  if (!revision || *revision == 0 || (!text.is_string() && !text.is_null())) return {};
  if (text.is_null()) return Held{"", *revision};
  auto value = from_base64(text.get_ref<const std::string&>());
  if (!value) return {};
  return Held{std::move(*value), *revision};
}

// --- the store ---

constexpr std::string_view kMark = "yoke-view 1 ";

class EtcdStore : public ViewStore {
 public:
  EtcdStore(std::vector<transport::Address> endpoints, std::string key, std::string writer, EtcdPatience patience)
      : endpoints_(std::move(endpoints)), key_(std::move(key)), writer_(std::move(writer)), patience_(patience) {}

  Result<Stored> load() override {
    const auto answer = ask("/v3/kv/range", Json::object({{"key", to_base64(key_)}}));
    if (!answer) return answer.error();
    const auto now = held(*answer);
    if (!now) return senseless();
    if (now->revision == 0) return Stored{};
    const auto line = now->value.find('\n');
    if (!now->value.starts_with(kMark) || line == now->value.npos)
      return Error{Code::corrupt, fmt::format("etcd's key {} holds what is no view: name another job, or remove it "
                                              "(etcdctl del {})",
                                              key_, key_)};
    return Stored{now->value.substr(line + 1), now->revision};
  }

  Result<std::uint64_t> save(const std::string& bytes, std::uint64_t revision) override {
    if (bytes.size() > kMaxViewBytes)
      return Error{Code::invalid_argument, fmt::format("{}: a view of {} bytes is more than the {} that it may have",
                                                       key_, bytes.size(), kMaxViewBytes)};
    const auto mark = fmt::format("{}{} {}\n", kMark, writer_, revision);
    const auto value = mark + bytes;
    auto from = revision;
    for (int turn = 0; turn < kMostTurns; ++turn) {
      const auto answer = ask("/v3/kv/txn", exchange(value, from));
      if (!answer) {
        unsure_from_ = revision;
        return answer.error();
      }
      if (field(*answer, "succeeded") == true) return saved(*revision_of(*answer));
      const auto& responses = field(*answer, "responses");
      const auto now =
          responses.is_array() && responses.size() == 1 ? held(field(responses[0], "response_range")) : std::nullopt;
      if (!now) return senseless();
      // Stored at the first time of asking, and the answer was lost.
      if (now->value == value) return saved(now->revision);
      // A save from here that failed has been done after all, and before anybody else's.
      if (now->value.starts_with(mark) && unsure_from_ == revision) {
        from = now->revision;
        continue;
      }
      return Error{Code::refused,
                   fmt::format("etcd's key {} is at revision {}, and this view was made from {}: another "
                               "coordinator rules this job",
                               key_, now->revision, revision)};
    }
    return Error{Code::timed_out, fmt::format("etcd's key {} changes all the time: saves that were given up still "
                                              "arrive; try again",
                                              key_)};
  }

 private:
  static constexpr int kMostTurns = 8;

  std::uint64_t saved(std::uint64_t revision) {
    unsure_from_.reset();
    return revision;
  }

  Json exchange(const std::string& value, std::uint64_t from) const {
    const auto key = to_base64(key_);
    const Json same = {{"key", key}, {"target", "MOD"}, {"result", "EQUAL"}, {"mod_revision", std::to_string(from)}};
    const Json put = {{"request_put", {{"key", key}, {"value", to_base64(value)}}}};
    const Json look = {{"request_range", {{"key", key}}}};
    return {{"compare", Json::array({same})}, {"success", Json::array({put})}, {"failure", Json::array({look})}};
  }

  // One member after the other, beginning with who answered last; round and round while that may help.
  Result<Json> ask(const char* path, const Json& question) {
    const auto body = question.dump();
    const auto give_up = Clock::now() + patience_.all;
    std::vector<Error> problems(endpoints_.size());
    for (bool again = false;; again = true) {
      for (std::size_t i = 0; i < endpoints_.size(); ++i) {
        if (again && Clock::now() >= give_up) return nobody(problems);
        const auto index = (first_ + i) % endpoints_.size();
        const auto answer = post(endpoints_[index], path, body, patience_.each);
        auto json = answer ? parse_json(*answer) : Result<Json>(answer.error());
        if (json) {
          first_ = index;
          return json;
        }
        problems[index] = json.error();
        if (answer || answer.error().code != Code::peer_down)  // which names it already
          problems[index].message.insert(0, transport::to_string(endpoints_[index]) + ": ");
      }
      const bool may_help =
          std::any_of(problems.begin(), problems.end(), [](const Error& e) { return e.code == Code::timed_out; });
      if (!may_help || Clock::now() >= give_up) return nobody(problems);
      std::this_thread::sleep_for(kBetweenRounds);
    }
  }

  Error nobody(const std::vector<Error>& problems) const {
    const bool same =
        std::all_of(problems.begin(), problems.end(), [&](const Error& e) { return e.code == problems[0].code; });
    const auto code = same ? problems[0].code : Code::peer_down;
    const bool silent = code == Code::peer_down || code == Code::timed_out;
    std::string words = silent ? "no answer from etcd" : "what is asked there is no etcd that takes views";
    for (std::size_t i = 0; i < problems.size(); ++i)
      words += fmt::format("{} {}", i == 0 ? ":" : ";", problems[i].message);
    return {code, words + (silent ? ": see that most of its members run and can be reached from here"
                                  : ": see that the addresses are those of etcd 3.4 or later, for clients")};
  }

  Error senseless() const {
    return {Code::corrupt, fmt::format("etcd's answer about the key {} makes no sense", key_)};
  }

  const std::vector<transport::Address> endpoints_;
  const std::string key_, writer_;
  const EtcdPatience patience_;
  std::size_t first_ = 0;                     // who answered last
  std::optional<std::uint64_t> unsure_from_;  // a save from there failed, and may be done nevertheless
};

}  // namespace

Result<std::unique_ptr<ViewStore>> open_etcd_store(std::vector<transport::Address> endpoints, const std::string& name,
                                                   EtcdPatience patience) {
  std::array<unsigned char, 16> random;
  if (RAND_bytes(random.data(), random.size()) != 1)
    return Error{Code::unsupported, "the system has no random numbers"};
  std::string writer;
  for (const auto byte : random) writer += fmt::format("{:02x}", byte);
  return std::unique_ptr<ViewStore>(
      std::make_unique<EtcdStore>(std::move(endpoints), fmt::format("/yoke/{}/view", name), writer, patience));
}

}  // namespace yoke::cluster
