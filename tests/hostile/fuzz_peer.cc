#include "fuzz_peer.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>

#include "transport/endpoint.h"
#include "transport/handshake.h"
#include "transport/tls_stream.h"
#include "wire/checksum.h"
#include "wire/codec.h"

namespace yoke::hostile {
namespace {

using transport::Address;
using transport::Handshake;
using transport::Stream;
using wire::FrameKind;

constexpr int kLongestPoll = 10'000;  // ms
constexpr int kMoment = 2;
constexpr std::size_t kMostHeard = 1u << 20;
constexpr std::size_t kFloats[] = {300, 70};  // of the network's two slots

// What is to be done again when the socket is ready; false: it will not be.
bool wait(const Stream& stream, short events) {
  pollfd waiting{stream.fd(), events, 0};
  return poll(&waiting, 1, kLongestPoll) > 0;
}

wire::Open network_of(const Job& job) {
  wire::Open open;
  open.terms.strategy = job.strategy;
  open.terms.replicas = job.replicas;
  open.terms.spares = job.strategy == Strategy::sync ? job.replicas - 1 : 0;  // nobody is waited for
  open.terms.epochs = 1;
  open.terms.steps = 50;
  for (const auto floats : kFloats)
    open.layout.slots.push_back({"slot", {static_cast<std::int64_t>(floats)}, 0, false, false});
  open.layout.slots.push_back({"frozen", {5}, 0, true, false});
  open.layout.groups.push_back(SGD{});
  return open;
}

}  // namespace

void damage(Random& random, std::string& bytes) {
  if (bytes.empty()) return;
  for (auto times = random.below(3) + 1; times > 0 && !bytes.empty(); --times) {
    const auto at = random.below(bytes.size());
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        bytes[at] = static_cast<char>(random.any());
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min<std::size_t>(8, bytes.size() - at),
                    '\xff');
        break;
      default:
        bytes.insert(at, bytes.substr(at / 2, random.below(64)));
    }
  }
}

FuzzPeer::FuzzPeer(Random& random, Address address, security::Credentials credentials, wire::Identity identity,
                   const Job& job)
    : random_(random),
      address_(std::move(address)),
      credentials_(std::move(credentials)),
      identity_(std::move(identity)),
      job_(job),
      odds_(std::array<std::uint64_t, 3>{5, 30, 200}[random.below(3)]),
      arena_(transport::Arena::make()) {}

void FuzzPeer::connect() {
  leave();
  const auto fd = transport::dial(address_, credentials_, std::chrono::seconds(10));
  if (!fd) return;
  ++dialled_;
  const bool tls = address_.kind == Address::Kind::tcp && credentials_.tls;
  stream_ = tls && !random_.one_in(8) ? transport::dial_tls(*fd, *credentials_.tls, "127.0.0.1")
                                      : Stream::plain(*fd, address_.kind == Address::Kind::shm);
  script_ = sequence_ = 0;
  assigned_ = {};
  if (random_.one_in(4)) ++identity_.incarnation;
  // A replica that has left cannot come back, except as another.
  if (was_known_ && !random_.one_in(odds_)) identity_.id += kMostPeers;
  was_known_ = false;
  if (random_.one_in(2 * odds_)) {  // no introduction at all
    std::string bytes(random_.below(1500), 0);
    for (auto& byte : bytes) byte = static_cast<char>(random_.any());
    return write(bytes);
  }
  shake_hands();
}

void FuzzPeer::shake_hands() {
  for (;;) {
    const auto established = stream_->establish();
    if (established.error == 0) break;
    if (!established.not_now() || !wait(*stream_, POLLIN | POLLOUT)) return leave();
    if (random_.one_in(4 * odds_)) return leave();
  }
  auto words = wire::encode_identity(identity_);
  if (random_.one_in(2 * odds_)) damage(random_, words);
  words.resize(std::min(words.size(), wire::kMaxIntroduction));
  auto handshake = Handshake::dialling({words, identity_.incarnation, stream_->session()}, credentials_.secret);
  while (handshake.state() == Handshake::State::going) {
    auto output = handshake.take_output();
    const bool damaged = !output.empty() && random_.one_in(3 * odds_);
    if (damaged) damage(random_, output);
    write(output);
    if (!stream_ || random_.one_in(8 * odds_)) return leave();
    if (damaged || random_.one_in(8 * odds_)) return;  // it dallies: the server may wait for more, so it does not
    const auto place = handshake.want();
    iovec piece{place.data(), place.size()};
    std::deque<int> none;
    const auto moved = stream_->read({&piece, 1}, none);
    if (moved.not_now()) {
      if (!wait(*stream_, POLLIN)) return leave();
      continue;
    }
    if (moved.error != 0 || moved.bytes == 0) return leave();
    handshake.filled(moved.bytes);
  }
  known_ = was_known_ = handshake.state() == Handshake::State::done;
  if (!known_) leave();
}

void FuzzPeer::leave() {
  if (stream_ && random_.one_in(3)) {  // a reset, not an end
    const linger at_once{1, 0};
    setsockopt(stream_->fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  stream_.reset();
  known_ = false;
  heard_.clear();
}

// --- what it says ---

void FuzzPeer::act() {
  if (!stream_) return connect();
  if (known_ && script_ >= 6 && assigned_.sequence == 0) {  // it gives the server a moment to answer
    pollfd waiting{stream_->fd(), POLLIN, 0};
    poll(&waiting, 1, kMoment);
  }
  listen();
  if (!stream_) return;
  if (!random_.one_in(odds_)) return say(something());
  wire::FrameHead head;
  head.incarnation = identity_.incarnation;
  switch (random_.below(6)) {
    case 0:
      return leave();
    case 1:
      return stream_->say_no_more();
    case 2:
      head.kind = FrameKind::heartbeat;
      head.sequence = random_.below(100);
      return say_frame(head, "", "");
    case 3:
      head.kind = FrameKind::release;
      head.offset = random_.one_in(2) ? random_.any() : random_.below(1u << 22);
      return say_frame(head, std::string(8 * random_.below(4), static_cast<char>(random_.below(3))), "");
    case 4:  // any head with the right checksum
      head.kind = static_cast<FrameKind>(random_.below(wire::kLastKind + 2));
      head.in_region = random_.one_in(2);
      head.sequence = random_.one_in(2) ? random_.any() : sequence_ + 1;
      head.control = static_cast<std::uint32_t>(random_.one_in(2) ? random_.any() : random_.below(100));
      head.region = static_cast<std::uint32_t>(random_.below(3));
      head.offset = random_.any() >> random_.below(64);
      head.payload = random_.any() >> random_.below(64);
      head.clock = random_.any() >> random_.below(64);
      return say_frame(head, std::string(head.control % 128, 'c'), std::string(head.payload % 4096, 'p'));
    default:
      return show_region();
  }
}

// Mostly what a good replica would say now, in order; else any of it.
wire::JobMessage FuzzPeer::something() {
  const wire::Life life{identity_.id, identity_.incarnation};
  const auto post = [&](wire::Address to, wire::Message message) {
    return wire::Post{0, wire::replica_at(identity_.id), to, std::move(message)};
  };
  // The chief brings the first values, the others ask for them; then they pull and push for as long as they are let.
  constexpr std::size_t kPull = 6, kPush = 7, kKinds = 19;
  const bool chief = identity_.id == 0;
  auto what = script_;
  if (random_.one_in(odds_))
    what = random_.below(kKinds);
  else if (what == kPush && assigned_.sequence == 0)
    what = kPull;  // there is nothing to push yet
  else
    script_ = script_ == 0 && !chief ? 4 : script_ < kPush ? script_ + 1 : random_.one_in(3) ? kPull : kPush;
  switch (what) {
    case 0:
      return network_of(job_);
    case 1:
    case 2:
      return wire::FirstValues{0, static_cast<std::uint32_t>(what - 1), false, 0};
    case 3:
      return wire::FirstValues{0, 2, true, random_.one_in(odds_) ? random_.any() >> random_.below(64) : 0};
    case 4:
      return wire::FirstValuesDone{0};
    case 5:
      return post(wire::kSequencer, wire::Hello{life, random_.one_in(odds_) ? random_.any() : job_.samples, 8});
    case kPull:
      return post(wire::shard_at(0), wire::Pull{life, step_ + (random_.one_in(odds_) ? random_.below(9) : 0)});
    case kPush: {
      auto gradient = random_.one_in(odds_) ? wire::GradientId{life, random_.below(20)} : assigned_;
      const wire::Push push{gradient, step_ + (random_.one_in(odds_) ? random_.below(9) : 0),
                            static_cast<wire::BlockId>(random_.below(2)), random_.one_in(odds_) ? 0u : 1u, 8};
      return post(wire::shard_at(0), push);
    }
    case 8:
      return wire::StepNews{identity_.id, 1.0, 0.5, 8, wire::Fate::applied, 0, random_.below(9), 0, 0.01, true};
    case 9:
      return wire::AskAccount{};
    case 10:
      return wire::Concluded{};
    case 11:
      return wire::StopNow{"because"};
    case 12:
      return wire::Leaving{"gone", random_.one_in(2), random_.one_in(2) ? 1e9 : 0};
    case 13:
      return wire::Welcome{0, {"127.0.0.1:1"}};
    case 14:
      return post(wire::kSequencer, wire::Report{});
    case 15:
      return post(wire::shard_at(0), wire::Commit{});
    case 16:
      return post(wire::shard_at(0), wire::Record{});
    case 17:
      return wire::BlockValues{0, 0, random_.below(3)};
    default: {
      auto open = network_of(job_);  // another one than the first
      open.network = static_cast<std::uint32_t>(random_.below(3));
      open.terms.replicas = static_cast<std::uint32_t>(random_.below(5000));
      open.terms.shards = static_cast<std::uint32_t>(random_.below(3));
      open.layout.slots[0].shape[0] = static_cast<std::int64_t>(random_.below(1u << 16));
      return open;
    }
  }
}

std::string FuzzPeer::payload_for(const wire::JobMessage& message) {
  std::size_t floats = 0;
  if (const auto* values = std::get_if<wire::FirstValues>(&message))
    floats = values->frozen ? 5 : kFloats[values->block % 2];
  if (const auto* post = std::get_if<wire::Post>(&message))
    if (const auto* push = std::get_if<wire::Push>(&post->message); push && push->ticket != 0)
      floats = kFloats[push->block % 2];
  if (random_.one_in(3 * odds_)) floats = random_.below(5000);
  std::vector<float> values(floats, 0.25f);
  if (floats > 0 && random_.one_in(20)) values[0] = std::numeric_limits<float>::quiet_NaN();
  std::string bytes(floats * sizeof(float), 0);
  if (floats > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void FuzzPeer::say(const wire::JobMessage& message) {
  auto control = wire::encode(message);
  auto payload = payload_for(message);
  if (random_.one_in(2 * odds_)) damage(random_, control);
  wire::FrameHead head;
  head.incarnation = identity_.incarnation;
  head.control = static_cast<std::uint32_t>(control.size());
  head.payload = payload.size();
  if (!payload.empty()) {
    head.sequence = ++sequence_;
    if (shared_ && random_.one_in(2)) {  // it lies in shared memory, or is said to
      head.in_region = true;
      head.offset = random_.one_in(4) ? random_.any() >> random_.below(64) : 0;
      head.region = random_.one_in(10) ? 1 : 0;
      std::memcpy(shared_.get(), payload.data(), std::min<std::size_t>(payload.size(), 4096));
      payload.clear();
    }
  }
  say_frame(head, std::move(control), std::move(payload));
}

void FuzzPeer::say_frame(wire::FrameHead head, std::string control, std::string payload) {
  if (head.control == 0) head.control = static_cast<std::uint32_t>(control.size());
  const auto encoded = wire::encode_head(head);
  std::string bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  wire::Checksum sum;
  sum.add(std::as_bytes(std::span(control)));
  sum.add(std::as_bytes(std::span(payload)));
  bytes += control + payload;
  for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(sum.value() >> (8 * i));
  if (random_.one_in(4 * odds_)) damage(random_, bytes);
  ++frames_;
  if (random_.one_in(4 * odds_)) bytes += bytes;  // twice
  if (random_.one_in(10)) {                       // in two parts, or only the first
    const auto cut = random_.below(bytes.size() + 1);
    write(bytes.substr(0, cut));
    if (random_.one_in(odds_)) return leave();
    bytes.erase(0, cut);
  }
  write(bytes);
}

void FuzzPeer::show_region() {
  if (address_.kind != Address::Kind::shm) return;
  if (!shared_) shared_ = arena_->allocate(4096);
  if (!shared_) return;
  wire::FrameHead head;
  head.kind = FrameKind::region;
  head.incarnation = identity_.incarnation;
  head.region = random_.one_in(6) ? 1 : 0;
  head.payload = random_.one_in(6) ? random_.any() : arena_->size(0);
  const auto encoded = wire::encode_head(head);
  wire::Checksum sum;
  std::string bytes(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  for (unsigned i = 0; i < 8; ++i) bytes += static_cast<char>(sum.value() >> (8 * i));
  ++frames_;
  write(bytes, random_.one_in(6) ? -1 : random_.one_in(6) ? 0 : arena_->descriptor(0));
}

void FuzzPeer::write(const std::string& bytes, int descriptor) {
  std::size_t done = 0;
  while (stream_ && (done < bytes.size() || stream_->holds_written())) {
    const iovec piece{const_cast<char*>(bytes.data()) + done, bytes.size() - done};
    const auto moved = stream_->write({&piece, 1}, done == 0 ? descriptor : -1);
    done += moved.bytes;
    if (moved.error == 0) continue;
    if (!moved.not_now() || !wait(*stream_, POLLOUT | POLLIN)) return leave();
    listen();  // or both sides wait for each other
  }
}

// --- what it hears ---

void FuzzPeer::listen() {
  while (stream_) {
    std::string more(64u << 10, 0);
    iovec piece{more.data(), more.size()};
    std::deque<int> descriptors;
    const auto moved = stream_->read({&piece, 1}, descriptors);
    for (const int fd : descriptors) Stream::plain(fd, false);  // closes it
    if (moved.not_now()) break;
    if (moved.error != 0 || moved.bytes == 0) return leave();
    heard_.append(more, 0, moved.bytes);
  }
  while (known_ && heard_.size() >= wire::kHeadSize) {
    const auto head = wire::decode_head(std::span<const std::byte, wire::kHeadSize>(
        reinterpret_cast<const std::byte*>(heard_.data()), wire::kHeadSize));
    if (!head) return leave();
    const auto size = wire::kHeadSize + head->control +
                      (head->in_region || head->kind == FrameKind::region ? 0 : head->payload) + wire::kCheckSize;
    if (heard_.size() < size) break;
    if (head->kind == FrameKind::message) understand(heard_.substr(wire::kHeadSize, head->control));
    heard_.erase(0, size);
  }
  if (heard_.size() > kMostHeard) leave();
}

void FuzzPeer::understand(const std::string& control) {
  const auto message = wire::decode(control);
  if (!message) return;
  if (const auto* welcome = std::get_if<wire::Welcome>(&*message)) identity_.id = welcome->replica;
  const auto* post = std::get_if<wire::Post>(&*message);
  if (!post) return;
  if (const auto* assign = std::get_if<wire::Assign>(&post->message)) {
    assigned_ = assign->gradient;
    step_ = assign->step;
  } else if (const auto* settled = std::get_if<wire::Settled>(&post->message)) {
    applied_ += settled->verdict.fate == wire::Fate::applied;
  }
}

}  // namespace yoke::hostile
