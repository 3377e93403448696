#include "transport/socket_connection.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>

namespace yoke::transport {
namespace {

using wire::FrameKind;

constexpr std::size_t kBuffer = 64u << 10;
constexpr std::size_t kBehind = 4u << 10;
constexpr std::size_t kAtOnce = 512u << 10;   // read or written in one go: it is summed up while still in the cache
constexpr std::size_t kMostATurn = 1u << 20;  // then others have their turn, and the sender hears what is given back
constexpr std::size_t kPieces = 64;           // of one write
constexpr std::size_t kMostReleases = 4096;   // told in one frame
constexpr std::size_t kMostDescriptors = 16;  // that came and whose frame did not yet
constexpr auto kReleaseBy = std::chrono::milliseconds(20);
constexpr std::align_val_t kLine{64};
constexpr unsigned kPathIsCut = 3000;  // ms
constexpr unsigned kSentAgain = 3;     // times

std::uint64_t load(const std::byte* at) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(at[i]) << (8 * i);
  return value;
}

void store(std::uint64_t value, char* at) {
  for (unsigned i = 0; i < 8; ++i) at[i] = static_cast<char>(value >> (8 * i));
}

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

std::shared_ptr<SocketConnection> SocketConnection::dialled(Loop& loop, std::unique_ptr<Stream> stream,
                                                            bool shared_memory, std::string peer,
                                                            const Settings& settings, Handler& handler) {
  std::shared_ptr<SocketConnection> connection(
      new SocketConnection(loop, shared_memory, std::move(peer), settings, handler));
  connection->fd_ = stream->fd();
  connection->greeting_ = std::make_unique<Greeting>(Greeting::dialling(std::move(stream), connection->settings_));
  connection->start();
  loop.later([connection] { connection->greet(); });
  return connection;
}

std::shared_ptr<SocketConnection> SocketConnection::greeted(Loop& loop, Greeting& greeting, bool shared_memory,
                                                            std::string peer, const Settings& settings,
                                                            Handler& handler, std::shared_ptr<void> held) {
  std::shared_ptr<SocketConnection> connection(
      new SocketConnection(loop, shared_memory, std::move(peer), settings, handler));
  connection->fd_ = greeting.stream().fd();
  connection->held_ = std::move(held);
  connection->start();
  connection->incarnation_ = greeting.incarnation();
  connection->stream_ = greeting.take_stream();
  loop.later([connection, introduction = greeting.introduction()] { connection->come_up(introduction); });
  return connection;
}

SocketConnection::SocketConnection(Loop& loop, bool shared_memory, std::string peer, const Settings& settings,
                                   Handler& handler)
    : loop_(loop), shared_memory_(shared_memory), settings_(settings), handler_(handler) {
  peer_ = std::move(peer);
  want_ = head_bytes_;
}

SocketConnection::~SocketConnection() {
  for (const int fd : descriptors_) ::close(fd);
}

void SocketConnection::start() {
  begun_ = last_tick_ = last_heard_ = Loop::now();
  // The loop's calls keep it alive: it ends by failing, and not otherwise.
  loop_.watch(fd_, EPOLLIN, [self = shared_from_this(), this](std::uint32_t events) { on_ready(events); });
  timer_ = loop_.after(std::min(settings_.heartbeat, settings_.handshake), [this] { tick(); });
}

// Goes on with the handshake.
void SocketConnection::greet() {
  if (down_ || !greeting_) return;
  const auto state = greeting_->advance();
  if (state == Greeting::State::failed)
    return fail(greeting_->failure().kind, fmt::format("{}: {}", peer_, greeting_->failure().text));
  if (state == Greeting::State::going) return loop_.rewatch(fd_, greeting_->events());
  incarnation_ = greeting_->incarnation();
  stream_ = greeting_->take_stream();
  const auto introduction = greeting_->introduction();
  greeting_.reset();
  loop_.rewatch(fd_, EPOLLIN);
  come_up(introduction);
}

void SocketConnection::come_up(const std::string& introduction) {
  if (down_) return;
  up_ = true;
  last_heard_ = Loop::now();
  peer_may_serve_ = stream_->peer_may_serve();
  buffer_.resize(kBuffer);
  handler_.on_up(*this, introduction);
  if (down_) return;
  flush_later();
  read_on_later();  // the other side may have said more in the same breath
}

// --- out ---

SocketConnection::Frame SocketConnection::control_frame(FrameKind kind) const {
  Frame frame;
  frame.head.kind = kind;
  return frame;
}

void SocketConnection::send(std::string control, Bytes payload, Completion done) {
  if (down_ || !finishing_.empty()) {
    if (done) loop_.later([done = std::move(done)] { done(false); });
    return;
  }
  assert(control.size() <= wire::kMaxControl && payload.bytes.size() <= wire::kMaxPayload);
  Frame frame;
  frame.control = std::move(control);
  frame.payload = std::move(payload);
  frame.done = std::move(done);
  enqueue(std::move(frame), false);
}

void SocketConnection::enqueue(Frame frame, bool urgent) {
  if (down_ || half_closed_) return;
  waiting_bytes_ += frame.control.size();
  (urgent ? urgent_ : queue_).push_back(std::move(frame));
  if (queue_.size() > kMostWaiting || waiting_bytes_ > kMostWaitingBytes)
    return fail(Down::timed_out,
                fmt::format("{} does not read what it is sent: {} messages wait for it", peer_, queue_.size()));
  flush_later();
}

void SocketConnection::flush_later() {
  if (flush_planned_ || down_) return;
  flush_planned_ = true;
  loop_.later([self = shared_from_this(), this] {
    flush_planned_ = false;
    if (up_ && !down_ && !want_write_) flush();
  });
}

void SocketConnection::grant(std::uint64_t bytes) {
  if (down_ || half_closed_) return;
  received_.grant(bytes);
  to_grant_ += bytes;
  flush_later();
}

bool SocketConnection::startable(const Frame& frame) const {
  return frame.started || frame.payload.bytes.empty() || credit_.may_send(frame.payload.bytes.size());
}

// Shared memory: says where the payload lies, if it lies where the other side can look. False: that region has not been
// announced yet.
bool SocketConnection::name_place(Frame& frame) {
  if (!shared_memory_ || !settings_.arena || frame.payload.bytes.empty()) return true;
  const auto spot = settings_.arena->find(frame.payload.bytes.data(), frame.payload.bytes.size());
  if (!spot) return true;
  if (spot->region >= announced_regions_) return false;
  frame.head.in_region = true;
  frame.head.region = spot->region;
  frame.head.offset = spot->offset;
  return true;
}

// The next region goes out before the frame that needs it.
void SocketConnection::announce_region() {
  auto region = control_frame(FrameKind::region);
  region.head.region = announced_regions_;
  region.head.payload = settings_.arena->size(announced_regions_);
  region.fd = settings_.arena->descriptor(announced_regions_);
  ++announced_regions_;
  queue_.push_front(std::move(region));
}

void SocketConnection::start_frame(Frame& frame) {
  frame.started = true;
  auto& head = frame.head;
  const auto size = frame.payload.bytes.size();
  head.incarnation = settings_.incarnation;
  head.control = static_cast<std::uint32_t>(frame.control.size());
  head.clock = static_cast<std::uint64_t>(Loop::now().count());
  if (settings_.clock) head.clock = std::max(head.clock, settings_.clock->load(std::memory_order_relaxed));
  if (size > 0) {
    head.payload = size;
    // In shared memory the bytes are the other side's until it gives them back; on a socket they are ours again when
    // they have been written, and only the credit is still out.
    Kept kept;
    if (head.in_region) kept = {std::move(frame.payload), std::move(frame.done)};
    head.sequence = credit_.start(size, std::move(kept));
    if (head.in_region) {
      frame.payload = {};
      frame.done = {};
    }
  }
  frame.bytes = wire::encode_head(head);
  wire::Checksum alone;
  auto& sum = frame.inline_payload() > 0 ? sum_out_ : alone;
  sum.reset();
  sum.add(bytes_of(frame.control));
  frame.check = sum.value();
}

// Sums the payload up to there: no further than it is about to be written, while it is in the cache for that.
void SocketConnection::sum_up(Frame& frame, std::size_t payload_end) {
  if (frame.summed >= payload_end) return;
  sum_out_.add(frame.payload.bytes.subspan(frame.summed, payload_end - frame.summed));
  frame.summed = payload_end;
  if (payload_end == frame.inline_payload()) frame.check = sum_out_.value();
}

void SocketConnection::flush() {
  release_frames();
  while (!down_ && write_some()) {
  }
}

// What was given back and granted since the last time.
void SocketConnection::release_frames() {
  for (std::size_t from = 0; from < give_back_.size() || to_grant_ > 0; from += kMostReleases) {
    const auto rest = std::span(give_back_).subspan(std::min(from, give_back_.size()));
    const auto now = rest.first(std::min(rest.size(), kMostReleases));
    auto frame = control_frame(FrameKind::release);
    frame.control.resize(8 * now.size());
    for (std::size_t i = 0; i < now.size(); ++i) store(now[i], frame.control.data() + 8 * i);
    frame.head.offset = std::exchange(to_grant_, 0);
    waiting_bytes_ += frame.control.size();
    urgent_.push_back(std::move(frame));
  }
  give_back_.clear();
  received_.told();
}

// Writes what can be written in one go. False: nothing more for now.
bool SocketConnection::write_some() {
  iovec pieces[kPieces];
  std::size_t count = 0, skip = written_, total = 0;
  const auto add = [&](const void* at, std::size_t size) {
    if (skip >= size) {
      skip -= size;
    } else if (size > 0) {
      pieces[count++] = {const_cast<char*>(static_cast<const char*>(at)) + skip, size - skip};
      total += size - skip;
      skip = 0;
    }
  };
  char checks[kPieces][wire::kCheckSize];
  int descriptor = -1;
  // A frame that is under way goes on first; then the urgent ones, then the queue as far as the credit reaches.
  std::size_t urgent = 0, queued = 0, frames = 0;
  bool in_queue = written_ > 0 && !sending_urgent_;
  while (count + 4 <= kPieces && total < kAtOnce) {
    Frame* frame = nullptr;
    if (in_queue || urgent == urgent_.size()) {
      if (queued == queue_.size()) break;
      frame = &queue_[queued];
      if (!startable(*frame)) break;
      if (!frame->started && !name_place(*frame)) {
        if (queued > 0) break;  // what is put together here has to go first
        announce_region();
        continue;
      }
      if (frame->fd >= 0 && frames > 0) break;  // a descriptor travels with a write of its own
      ++queued;
    } else {
      frame = &urgent_[urgent++];
    }
    if (!frame->started) start_frame(*frame);
    if (frames++ == 0) sending_urgent_ = !in_queue && queued == 0;
    in_queue = false;
    if (frame->fd >= 0 && skip == 0) descriptor = frame->fd;
    add(frame->bytes.data(), frame->bytes.size());
    add(frame->control.data(), frame->control.size());
    const auto payload = frame->inline_payload();
    const auto end = std::min(payload, skip + kAtOnce - std::min(total, kAtOnce));
    sum_up(*frame, end);
    add(frame->payload.bytes.data(), end);
    if (end < payload) break;
    store(frame->check, checks[frames - 1]);
    add(checks[frames - 1], wire::kCheckSize);
    if (frame->fd >= 0) break;
  }
  if (count == 0) {
    if (stream_->holds_written()) {
      const auto moved = stream_->write({}, -1);
      if (moved.not_now() || stream_->holds_written()) return wait_for_room();
      if (moved.error != 0) return false;  // reading finds out about an end
    }
    if (!finishing_.empty() && queue_.empty() && urgent_.empty() && !half_closed_) {
      // Closing with bytes unread would make the kernel throw away what is still on its way to the other side.
      half_closed_ = true;
      half_closed_at_ = Loop::now();
      stream_->say_no_more();
    }
    return false;
  }
  const auto moved = stream_->write({pieces, count}, descriptor);
  if (moved.not_now()) return wait_for_room();
  if (moved.error != 0) {
    // What it said before it went is still there to be read; reading finds the end as well.
    if (moved.error == EPIPE || moved.error == ECONNRESET) {
      while (!down_ && read_some()) {
      }
    }
    fail(moved.error == ETIMEDOUT ? Down::timed_out : Down::closed,
         fmt::format("{}: the connection is gone ({})", peer_, moved.why()));
    return false;
  }
  sent(moved.bytes);
  return (moved.bytes == total && !stream_->holds_written()) || wait_for_room();
}

bool SocketConnection::wait_for_room() {
  want_write_ = true;
  loop_.rewatch(fd_, EPOLLIN | EPOLLOUT);
  return false;
}

void SocketConnection::sent(std::size_t bytes) {
  written_ += bytes;
  while (written_ > 0) {
    auto& from = sending_urgent_ ? urgent_ : queue_;
    if (from.empty()) break;
    auto& frame = from.front();
    if (written_ < frame.size()) return;
    written_ -= frame.size();
    waiting_bytes_ -= frame.control.size();
    auto done = std::move(frame.done);
    from.pop_front();
    // As `write_some` put them together: the urgent ones first.
    sending_urgent_ = !urgent_.empty() && urgent_.front().started;
    if (done) loop_.later([done = std::move(done)] { done(true); });
  }
}

// --- in ---

void SocketConnection::on_ready(std::uint32_t events) {
  const auto self = shared_from_this();
  if (greeting_) return greet();
  if (!up_) return;  // that comes first, before the loop sleeps
  if ((events & EPOLLOUT) && !down_) {
    want_write_ = false;
    loop_.rewatch(fd_, EPOLLIN);
    flush();
  }
  if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_on();
}

// Reads for a turn; what the stream holds then is not announced by the socket any more.
void SocketConnection::read_on() {
  if (reading_) return;
  std::size_t turns = 0;
  bool more = true;
  while (!down_ && turns++ * kAtOnce < kMostATurn && (more = read_some())) {
  }
  // What it holds after it said "not now" is a part of a record, whose rest the socket will announce.
  if (!down_ && more) read_on_later();
}

void SocketConnection::read_on_later() {
  if (reading_ || !stream_->holds_read()) return;
  reading_ = true;
  loop_.post([self = shared_from_this(), this] {
    reading_ = false;
    if (!down_) read_on();
  });
}

// Reads once. False: there is no more for now.
bool SocketConnection::read_some() {
  iovec pieces[2];
  std::size_t count = 0;
  std::size_t direct = 0;
  if ((stage_ == Stage::payload || stage_ == Stage::control) && want_.size() > 0) {
    direct = std::min(want_.size(), kAtOnce);
    pieces[count++] = {want_.data(), direct};
  }
  // Behind a payload comes the next head, perhaps a whole small frame; the next payload is better read where it goes.
  if (direct == 0) pieces[count++] = {buffer_.data(), buffer_.size()};
  if (direct > 0 && direct == want_.size()) pieces[count++] = {buffer_.data(), kBehind};
  const auto moved = stream_->read({pieces, count}, descriptors_);
  if (moved.not_now()) return false;
  if (moved.error != 0) {
    fail(moved.error == ETIMEDOUT || moved.error == EHOSTUNREACH ? Down::timed_out : Down::closed,
         fmt::format("{}: the connection is gone ({})", peer_, moved.why()));
    return false;
  }
  if (descriptors_.size() > kMostDescriptors) return wrong("too many descriptors");
  if (moved.bytes == 0) {
    if (half_closed_)
      fail(Down::local, finishing_);
    else
      fail(Down::closed,
           fmt::format("{} closed the connection{}", peer_, announced_ ? " in the middle of a message" : ""));
    return false;
  }
  last_heard_ = Loop::now();
  auto bytes = moved.bytes;
  if (direct > 0) {
    const auto here = std::min(bytes, direct);
    checksum_.add(want_.first(here));
    want_ = want_.subspan(here);
    bytes -= here;
    if (want_.empty() && !stage_done()) return false;
  }
  return consume(std::span(buffer_).first(bytes)) && !moved.all;
}

// Hands bytes to the stages, one after another.
bool SocketConnection::consume(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto here = std::min(bytes.size(), want_.size());
    std::memcpy(want_.data(), bytes.data(), here);
    if (stage_ == Stage::control || stage_ == Stage::payload) checksum_.add(bytes.first(here));
    want_ = want_.subspan(here);
    bytes = bytes.subspan(here);
    if (want_.empty() && !stage_done()) return false;
  }
  return !down_;
}

// The present stage has all its bytes: goes to the next one that needs any.
bool SocketConnection::stage_done() {
  if (stage_ == Stage::head) {
    if (!on_head()) return false;
    stage_ = Stage::control;
    want_ = std::as_writable_bytes(std::span(incoming_.control));
  }
  if (stage_ == Stage::control && want_.empty()) {
    if (!on_control()) return false;
    stage_ = Stage::payload;
    want_ = sink_.into;
  }
  if (stage_ == Stage::payload && want_.empty()) {
    stage_ = Stage::check;
    want_ = check_bytes_;
    return true;
  }
  if (stage_ == Stage::check && want_.empty()) {
    if (load(check_bytes_.data()) != checksum_.value()) return wrong("bytes that were damaged on the way");
    if (!on_whole()) return false;
    stage_ = Stage::head;
    want_ = head_bytes_;
  }
  return true;
}

bool SocketConnection::on_head() {
  auto head = wire::decode_head(head_bytes_);
  if (!head) return wrong(head.error().message);
  head_ = *head;
  if (head_.kind != FrameKind::message && head_.kind != FrameKind::release && head_.kind != FrameKind::heartbeat &&
      head_.kind != FrameKind::region)
    return wrong("an introduction, and it is known already");
  if (head_.incarnation != incarnation_) return wrong("a frame of another life");
  if (settings_.clock) {
    auto seen = settings_.clock->load(std::memory_order_relaxed);
    while (seen <= head_.clock && !settings_.clock->compare_exchange_weak(seen, head_.clock + 1)) {
    }
  }
  if (head_.in_region && !shared_memory_) return wrong("a place in shared memory over a socket");
  if (head_.payload > 0 && head_.kind != FrameKind::message && head_.kind != FrameKind::region)
    return wrong("a payload where none belongs");
  if (head_.control > 0 && (head_.kind == FrameKind::heartbeat || head_.kind == FrameKind::region))
    return wrong("words where none belong");
  sink_ = {};
  own_memory_.reset();
  incoming_.control.resize(head_.control);
  incoming_.payload = head_.kind == FrameKind::message ? head_.payload : 0;
  incoming_.incarnation = head_.incarnation;
  checksum_.reset();
  return true;
}

bool SocketConnection::on_control() {
  if (incoming_.payload == 0) return true;
  if (!received_.take(incoming_.payload)) return wrong("more than it was granted");
  if (head_.in_region) {
    // Copied out of the frame before it is looked at, and looked at once.
    const auto region = head_.region;
    if (region >= mappings_.size()) return wrong("a region that was never announced");
    const auto size = mappings_[region]->size();
    if (head_.offset > size || head_.payload > size - head_.offset) return wrong("a place outside of its region");
    if (head_.offset % alignof(float) != 0) return wrong("a place that is not aligned");
  }
  return choose_sink();
}

bool SocketConnection::choose_sink() {
  auto sink = handler_.on_announced(*this, incoming_);
  if (down_) return false;
  if (!sink) return wrong(sink.error().message);
  if (!sink->into.empty() && sink->into.size() != incoming_.payload)
    return wrong(fmt::format("a payload of {} bytes where {} belong", incoming_.payload, sink->into.size()));
  announced_ = true;
  sink_ = *sink;
  if (head_.in_region) {
    if (!sink_.into.empty())
      std::memcpy(sink_.into.data(), mappings_[head_.region]->data() + head_.offset, incoming_.payload);
    own_memory_.reset();
    if (sink_.into.empty()) return true;
    sink_.into = {};  // nothing comes over the socket
    own_memory_ = std::shared_ptr<std::byte>(const_cast<std::byte*>(sink->into.data()), [](std::byte*) {});
    return true;
  }
  if (sink_.into.empty()) {
    // From the arena, shared or not: what is given back is handed out again, and no page has to be made anew.
    if (settings_.arena) own_memory_ = settings_.arena->allocate(incoming_.payload);
    if (!own_memory_)
      own_memory_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(::operator new(incoming_.payload, kLine)),
                                               [](std::byte* at) { ::operator delete(at, kLine); });
    sink_.into = {own_memory_.get(), incoming_.payload};
  }
  return true;
}

// The payload as the handler gets it. When it lets go, the sender hears of it.
Bytes SocketConnection::received_payload() {
  const auto size = incoming_.payload, sequence = head_.sequence;
  std::shared_ptr<const void> under;
  const std::byte* at = nullptr;
  if (head_.in_region && !own_memory_) {
    under = mappings_[head_.region];
    at = mappings_[head_.region]->data() + head_.offset;
  } else {
    at = own_memory_ ? own_memory_.get() : sink_.into.data();
    under = own_memory_;
    if (head_.in_region || !own_memory_) {  // it is where the handler wanted it: there is nothing to wait for
      give_back(sequence, size);
      return {{at, size}, nullptr};
    }
  }
  return {{at, size},
          std::shared_ptr<const void>(at, [under = std::move(under), self = weak_from_this(), post = loop_.poster(),
                                           sequence, size](const void*) mutable {
            under.reset();  // it is there again before the next payload comes for it
            if (auto connection = std::static_pointer_cast<SocketConnection>(self.lock()))
              post([connection = std::move(connection), sequence, size] { connection->give_back(sequence, size); });
          })};
}

void SocketConnection::give_back(std::uint64_t sequence, std::uint64_t bytes) {
  if (down_ || half_closed_) return;
  received_.give_back(bytes);
  give_back_.push_back(sequence);
  if (give_back_.size() > kMostWaiting)
    return fail(Down::timed_out, fmt::format("{} sends without reading: {} payloads are to be given back to it", peer_,
                                             give_back_.size()));
  if (received_.scarce()) return flush_later();
  // It travels with the next frame; a frame of its own would wake a process that has better things to do.
  if (std::exchange(release_planned_, true)) return;
  loop_.after(kReleaseBy, [weak = weak_from_this(), this] {
    const auto self = weak.lock();
    if (!self) return;
    release_planned_ = false;
    flush_later();
  });
}

bool SocketConnection::on_whole() {
  switch (head_.kind) {
    case FrameKind::message: {
      announced_ = false;
      auto payload = incoming_.payload > 0 ? received_payload() : Bytes{};
      own_memory_.reset();
      handler_.on_message(*this, std::move(incoming_), std::move(payload));
      incoming_ = {};
      break;
    }
    case FrameKind::release:
      return on_release();
    case FrameKind::heartbeat:
      peer_progress_ = head_.sequence;
      break;
    case FrameKind::region:
      return on_region();
    default:
      break;  // the head has been looked at
  }
  return !down_;
}

bool SocketConnection::on_release() {
  if (incoming_.control.size() % 8 != 0) return wrong("a release of a strange size");
  credit_.grant(head_.offset);
  for (std::size_t i = 0; i < incoming_.control.size(); i += 8) {
    Kept kept;
    if (!credit_.give_back(load(bytes_of(incoming_.control).data() + i), kept))
      return wrong("the release of a payload that is not out");
    if (kept.done) loop_.later([done = std::move(kept.done)] { done(true); });
  }
  flush_later();
  return true;
}

bool SocketConnection::on_region() {
  if (!shared_memory_ || descriptors_.empty()) return wrong("a region without its descriptor");
  const int fd = descriptors_.front();
  descriptors_.pop_front();
  if (head_.region != mappings_.size() || mappings_.size() >= kMostRegions) {
    ::close(fd);
    return wrong(mappings_.size() >= kMostRegions ? "too many regions" : "a region out of order");
  }
  auto mapping = Mapping::open(fd, head_.payload);
  if (!mapping) return wrong(mapping.error().message);
  mappings_.push_back(std::move(*mapping));
  return true;
}

// --- life and death ---

void SocketConnection::tick() {
  const auto now = Loop::now();
  // A process that was stopped itself has heard nothing meanwhile, and may not blame the others for it.
  if (now - last_tick_ > 2 * settings_.heartbeat) last_heard_ = now;
  last_tick_ = now;
  const auto self = shared_from_this();
  while (up_ && !down_ && now - last_heard_ > settings_.silence / 2 && read_some()) {
  }
  if (down_) return;
  if (half_closed_ && now - half_closed_at_ >= settings_.silence) return fail(Down::local, finishing_);
  if (!up_ && now - begun_ >= settings_.handshake)
    return fail(Down::timed_out, fmt::format("{} has not proven who it is within {:.0f} s", peer_,
                                             std::chrono::duration<double>(settings_.handshake).count()));
  if (now - last_heard_ > settings_.silence)
    return fail(Down::timed_out, fmt::format("{} has been silent for {:.1f} s", peer_,
                                             std::chrono::duration<double>(now - last_heard_).count()));
  if (path_is_cut())
    return fail(Down::timed_out, fmt::format("{}: the way to it is cut, nothing arrives there", peer_));
  auto frame = control_frame(FrameKind::heartbeat);
  if (settings_.progress) frame.head.sequence = settings_.progress->load(std::memory_order_relaxed);
  if (up_ && urgent_.empty()) enqueue(std::move(frame), true);  // else the last one is not even out
  if (!down_) timer_ = loop_.after(settings_.heartbeat, [this] { tick(); });
}

// TCP: what we send is confirmed by nobody, however often. A host whose process merely does not read confirms it still.
bool SocketConnection::path_is_cut() const {
  tcp_info about{};
  socklen_t size = sizeof about;
  return getsockopt(fd_, IPPROTO_TCP, TCP_INFO, &about, &size) == 0 && about.tcpi_unacked > 0 &&
         about.tcpi_retransmits >= kSentAgain && about.tcpi_last_ack_recv >= kPathIsCut;
}

bool SocketConnection::wrong(const std::string& what) {
  fail(Down::protocol_error, fmt::format("{} sent what it may not: {}", peer_, what));
  return false;
}

void SocketConnection::close(const std::string& why) { fail(Down::local, why); }

void SocketConnection::finish(const std::string& why) {
  if (down_ || !finishing_.empty()) return;
  finishing_ = why.empty() ? "finished" : why;
  flush_later();
}

void SocketConnection::fail(Down kind, std::string text) {
  if (down_) return;
  down_ = true;
  const auto self = shared_from_this();
  loop_.cancel(timer_);
  loop_.forget(fd_);
  stream_.reset();  // closes the socket
  greeting_.reset();
  held_.reset();
  // Not from within somebody's call, but before the loop sleeps: first every pending operation, then the end.
  loop_.later([self, this, failure = Failure{kind, std::move(text)}] {
    auto urgent = std::exchange(urgent_, {});
    auto queue = std::exchange(queue_, {});
    for (auto& frame : queue)
      if (frame.done) frame.done(false);
    std::vector<std::shared_ptr<const void>> looked_at;
    credit_.take_all([&](Kept& kept) {
      if (kept.payload.keep) looked_at.push_back(std::move(kept.payload.keep));
      if (kept.done) kept.done(false);
    });
    // In shared memory, until the other side must have heard of the end too: it may be reading them.
    if (!looked_at.empty()) loop_.after(settings_.silence, [looked_at = std::move(looked_at)] {});
    if (std::exchange(announced_, false)) handler_.on_lost(*this, incoming_);
    handler_.on_down(*this, failure);
    // Somebody may still hold the connection; what it held itself goes.
    own_memory_.reset();
    mappings_.clear();
    for (const int fd : std::exchange(descriptors_, {})) ::close(fd);
  });
}

}  // namespace yoke::transport
