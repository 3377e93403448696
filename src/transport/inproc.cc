#include "transport/inproc.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <deque>

#include "transport/credit.h"

namespace yoke::transport {
namespace {

// Heartbeats only tell the progress: the two ends live and die together, so nobody waits for them.
class InprocConnection : public Connection {
 public:
  InprocConnection(Loop& loop, const Settings& settings, std::string introduction, Handler& handler)
      : loop_(loop),
        post_(loop.poster()),
        settings_(settings),
        handler_(handler),
        introduction_(std::move(introduction)) {
    peer_ = "a part of this process";
    last_heard_ = Loop::now();
  }

  void join(const std::shared_ptr<InprocConnection>& other) { other_ = other; }

  // When both ends are joined: the other one may speak at once.
  void start() {
    loop_.post([self = self(), this] {
      hear();
      tick();
    });
  }

  void send(std::string control, Bytes payload, Completion done) override {
    if (down_ || finishing_) {
      if (done) loop_.later([done = std::move(done)] { done(false); });
      return;
    }
    queue_.push_back({std::move(control), std::move(payload), std::move(done)});
    flush();
    if (queue_.size() > kMostWaiting)
      fail({Down::timed_out, fmt::format("{} takes no payload: {} messages wait for it", peer_, queue_.size())});
  }

  void grant(std::uint64_t bytes) override {
    received_.grant(bytes);
    to_other([bytes](InprocConnection& other) {
      other.credit_.grant(bytes);
      other.flush();
    });
  }

  void close(const std::string& why) override { fail({Down::local, why}); }

  void finish(const std::string& why) override {
    if (down_ || finishing_) return;
    finishing_ = true;
    why_ = why;
    flush();
  }

 private:
  struct Message {
    std::string control;
    Bytes payload;
    Completion done;
  };

  std::shared_ptr<InprocConnection> self() { return std::static_pointer_cast<InprocConnection>(shared_from_this()); }

  template <class Call>
  void to_other(Call call) {
    auto clock = static_cast<std::uint64_t>(Loop::now().count());
    if (settings_.clock) clock = std::max(clock, settings_.clock->load(std::memory_order_relaxed));
    if (const auto other = other_.lock())
      other->post_([other, clock, call = std::move(call)] {
        other->saw(clock);
        other->hear();
        if (!other->down_) call(*other);
      });
  }

  // What one does because of the other is later by its own clock.
  void saw(std::uint64_t clock) {
    if (!settings_.clock) return;
    auto seen = settings_.clock->load(std::memory_order_relaxed);
    while (seen <= clock && !settings_.clock->compare_exchange_weak(seen, clock + 1)) {
    }
  }

  // The other side is there, before anything else is heard of it.
  void hear() {
    if (down_) return;
    last_heard_ = Loop::now();
    if (!std::exchange(up_, true)) handler_.on_up(*this, introduction_);
  }

  // The timer holds the connection: it ends by failing, and not otherwise.
  void tick() {
    if (down_) return;
    if (settings_.progress)
      to_other([progress = settings_.progress->load(std::memory_order_relaxed)](InprocConnection& other) {
        other.peer_progress_ = progress;
      });
    timer_ = loop_.after(settings_.heartbeat, [self = self(), this] { tick(); });
  }

  void flush() {
    while (!down_ && !queue_.empty()) {
      auto& message = queue_.front();
      const auto bytes = message.payload.bytes;
      if (!bytes.empty() && !credit_.may_send(bytes.size())) return;
      std::uint64_t sequence = 0;
      const auto keep = message.payload.keep;
      if (!bytes.empty())
        sequence = credit_.start(bytes.size(), std::move(message));
      else if (message.done)
        loop_.later([done = std::move(message.done)] { done(true); });
      auto control = bytes.empty() ? std::move(message.control) : std::move(credit_.at(sequence).control);
      queue_.pop_front();
      to_other([control = std::move(control), payload = Bytes{bytes, keep}, sequence,
                incarnation = settings_.incarnation](InprocConnection& other) {
        other.deliver(control, payload, sequence, incarnation);
      });
    }
    // All is on its way, and this goes behind it; the other side then ends this one too.
    if (finishing_ && queue_.empty() && !down_ && !std::exchange(half_closed_, true))
      to_other([](InprocConnection& other) { other.hear_end(); });
  }

  // The bytes are held as well as their sender holds them: it may be gone before the receiver is done with them.
  void deliver(const std::string& control, const Bytes& sent, std::uint64_t sequence, std::uint64_t incarnation) {
    const auto bytes = sent.bytes;
    Incoming incoming{control, bytes.size(), incarnation};
    if (bytes.empty()) return handler_.on_message(*this, std::move(incoming), {});
    if (!received_.take(bytes.size())) return wrong("more than it was granted");
    auto sink = handler_.on_announced(*this, incoming);
    if (down_) return;
    if (!sink) return wrong(sink.error().message);
    Bytes payload{bytes, nullptr};
    if (!sink->into.empty() && sink->into.size() != bytes.size())
      return wrong(fmt::format("a payload of {} bytes where {} belong", bytes.size(), sink->into.size()));
    if (!sink->into.empty()) {
      std::memcpy(sink->into.data(), bytes.data(), bytes.size());
      payload.bytes = sink->into;
      give_back(sequence, bytes.size());
    } else {
      payload.keep =
          std::shared_ptr<const void>(bytes.data(), [keep = sent.keep, self = weak_from_this(), post = loop_.poster(),
                                                     sequence, size = bytes.size()](const void*) {
            if (auto connection = std::static_pointer_cast<InprocConnection>(self.lock()))
              post([connection = std::move(connection), sequence, size] { connection->give_back(sequence, size); });
          });
    }
    handler_.on_message(*this, std::move(incoming), std::move(payload));
  }

  void give_back(std::uint64_t sequence, std::uint64_t size) {
    if (down_) return;
    received_.give_back(size);
    to_other([sequence](InprocConnection& other) {
      Message kept;
      if (!other.credit_.give_back(sequence, kept)) return;
      if (kept.done) kept.done(true);
      other.flush();
    });
  }

  void wrong(const std::string& what) {
    fail({Down::protocol_error, fmt::format("{} sent what it may not: {}", peer_, what)});
  }

  void hear_end() {
    fail(half_closed_ ? Failure{Down::local, why_} : Failure{Down::closed, peer_ + " closed the connection"});
  }

  void fail(Failure failure) {
    if (down_) return;
    to_other([](InprocConnection& other) { other.hear_end(); });
    down_ = true;
    loop_.cancel(timer_);
    loop_.later([self = self(), this, failure = std::move(failure)] {
      auto queue = std::exchange(queue_, {});
      for (auto& message : queue)
        if (message.done) message.done(false);
      credit_.take_all([](Message& kept) {
        if (kept.done) kept.done(false);
      });
      handler_.on_down(*this, failure);
    });
  }

  Loop& loop_;
  const Loop::Poster post_;  // for the other side, whose loop may live longer
  const Settings settings_;
  Handler& handler_;
  const std::string introduction_;  // the other side's
  std::weak_ptr<InprocConnection> other_;
  Loop::Timer timer_ = 0;
  std::deque<Message> queue_;
  SendCredit<Message> credit_;
  ReceiveCredit received_;
  bool up_ = false, down_ = false, finishing_ = false, half_closed_ = false;
  std::string why_;
};

}  // namespace

std::pair<ConnectionPtr, ConnectionPtr> connect_inproc(Loop& first_loop, const Settings& first, Handler& first_handler,
                                                       Loop& second_loop, const Settings& second,
                                                       Handler& second_handler) {
  auto a = std::make_shared<InprocConnection>(first_loop, first, second.introduction, first_handler);
  auto b = std::make_shared<InprocConnection>(second_loop, second, first.introduction, second_handler);
  a->join(b);
  b->join(a);
  a->start();
  b->start();
  return {a, b};
}

}  // namespace yoke::transport
