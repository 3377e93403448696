// For tests/hostile: what a hostile peer needs of Yoke's own format, so that the suite need not have it a second time.
//
//   hostile_peer frames            frames as they lie on the wire, a line each: name, hexadecimal digits
//   hostile_peer roles ADDRESS N   N connections of peers that have the secret, and say what their role may not; the
//                                  credentials are those of the environment. Status 0: all of them were put out
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/endpoint.h"
#include "wire/checksum.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace yoke::transport {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr std::uint64_t kLife = 7;

void print_frame(const char* name, const wire::FrameHead& head, const std::string& control) {
  wire::Checksum sum;
  sum.add(std::as_bytes(std::span(control)));
  fmt::print("{} ", name);
  for (const auto byte : wire::encode_head(head)) fmt::print("{:02x}", std::to_integer<unsigned>(byte));
  for (const char byte : control) fmt::print("{:02x}", static_cast<unsigned char>(byte));
  for (int i = 0; i < 8; ++i) fmt::print("{:02x}", sum.value() >> (8 * i) & 255);
  fmt::print("\n");
}

wire::Identity identity_of(wire::Role role) {
  wire::Identity identity;
  identity.role = role;
  identity.incarnation = kLife;
  identity.version = "0";
  identity.host = "nowhere";
  return identity;
}

int print_frames() {
  const auto made = [](wire::FrameKind kind, const std::string& control) {
    wire::FrameHead head;
    head.kind = kind;
    head.incarnation = kLife;
    head.control = static_cast<std::uint32_t>(control.size());
    return head;
  };
  const auto words = std::string(wire::kNonceSize, 'n') + wire::encode_identity(identity_of(wire::Role::replica));
  const auto proof = std::string(wire::kProofSize, 'p');
  auto head = made(wire::FrameKind::introduce, words);
  print_frame("introduce", head, words);
  print_frame("prove", made(wire::FrameKind::prove, proof), proof);
  print_frame("message", made(wire::FrameKind::message, ""), "");
  head.payload = std::uint64_t{1} << 63;
  print_frame("endless_payload", head, words);
  head.payload = 0;
  head.control = ~std::uint32_t{0};
  print_frame("endless_control", head, words);
  return 0;
}

// Says one thing when it is known, and waits to be put out.
class WrongRole : public Handler {
 public:
  WrongRole(Loop& loop, std::string says, std::string payload)
      : loop_(loop), says_(std::move(says)), payload_(std::move(payload)) {
    limit_ = loop_.after(kPatience, [this] { loop_.stop(); });
  }
  ~WrongRole() override { loop_.cancel(limit_); }

  void on_up(Connection& connection, const std::string&) override {
    if (!says_.empty()) connection.send(says_, {std::as_bytes(std::span(payload_)), nullptr});
  }
  Result<Sink> on_announced(Connection&, const Incoming&) override { return Sink{}; }
  void on_message(Connection&, Incoming message, Bytes) override {
    const auto decoded = wire::decode(message.control);
    refused_ = decoded && std::holds_alternative<wire::Refusal>(*decoded);
    if (!refused_) heard_ = true;
  }
  void on_down(Connection&, const Failure& failure) override {
    put_out_ = failure.kind == Down::closed;
    loop_.stop();
  }
  // Nothing was said to it but why it is refused, and the other side has closed.
  bool put_out() const { return put_out_ && !heard_; }

 private:
  Loop& loop_;
  const std::string says_, payload_;
  Loop::Timer limit_ = 0;
  bool refused_ = false, heard_ = false, put_out_ = false;
};

struct Attempt {
  const char* name;
  wire::Role role;
  std::uint32_t id = 0, shards = 0;
  std::string says, payload;
};

std::vector<Attempt> attempts() {
  using wire::Role;
  const wire::Push push{{{0, kLife}, 1}, 0, 0, 1, 1};
  return {
      {"a watcher that stops the job", Role::watcher, 0, 0, wire::encode(wire::StopNow{"because"}), ""},
      {"a watcher that opens a network", Role::watcher, 0, 0, wire::encode(wire::Open{}), ""},
      {"a watcher that brings values", Role::watcher, 0, 0, wire::encode(wire::FirstValues{}), "1234"},
      {"a watcher that pushes", Role::watcher, 0, 0,
       wire::encode(wire::Post{0, wire::replica_at(0), wire::shard_at(0), push}), "1234"},
      {"a watcher that concludes", Role::watcher, 0, 0, wire::encode(wire::Concluded{}), ""},
      {"a server of another job", Role::server, 5, 9, "", ""},
      {"a second first server", Role::server, 0, 1, "", ""},
      {"a replica that nobody can count", Role::replica, ~0u, 0, "", ""},
  };
}

int try_roles(const std::string& text, int count) {
  const auto address = parse_address(text);
  const auto credentials = security::find_credentials({});
  if (!address || !credentials) {
    fmt::print(stderr, "{}\n", (address ? credentials.error() : address.error()).message);
    return 2;
  }
  const auto all = attempts();
  for (int i = 0; i < count; ++i) {
    const auto& attempt = all[static_cast<std::size_t>(i) % all.size()];
    auto identity = identity_of(attempt.role);
    identity.id = attempt.id;
    identity.shards = attempt.shards;
    Loop loop;
    WrongRole handler(loop, attempt.says, attempt.payload);
    Settings settings;
    settings.introduction = wire::encode_identity(identity);
    settings.incarnation = kLife;
    settings.credentials = *credentials;
    const auto fd = dial(*address, *credentials, kPatience);
    if (!fd) {
      fmt::print(stderr, "{}\n", fd.error().message);
      return 2;
    }
    adopt(loop, *fd, *address, settings, handler);
    loop.run();
    if (!handler.put_out()) {
      fmt::print(stderr, "{} was not put out\n", attempt.name);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace yoke::transport

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "frames" && argc == 2) return yoke::transport::print_frames();
  if (what == "roles" && argc == 4) return yoke::transport::try_roles(argv[2], std::atoi(argv[3]));
  fmt::print(stderr, "usage: hostile_peer frames | roles ADDRESS N\n");
  return 2;
}
