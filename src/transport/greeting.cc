#include "transport/greeting.h"

#include <sys/epoll.h>

#include <cerrno>

namespace yoke::transport {

Greeting::Greeting(std::unique_ptr<Stream> stream, const Settings& settings, bool dials)
    : stream_(std::move(stream)), settings_(settings), dials_(dials) {}

Greeting Greeting::dialling(std::unique_ptr<Stream> stream, const Settings& settings) {
  return {std::move(stream), settings, true};
}

Greeting Greeting::answering(std::unique_ptr<Stream> stream, const Settings& settings) {
  return {std::move(stream), settings, false};
}

std::uint32_t Greeting::events() const {
  // Nothing more is read before the last word is out.
  if (handshake_ && handshake_->state() == State::done) return EPOLLOUT;
  return wants_write() ? EPOLLIN | EPOLLOUT : EPOLLIN;
}

Greeting::State Greeting::fail(const Stream::Moved& moved) {
  const bool late = moved.error == ETIMEDOUT || moved.error == EHOSTUNREACH;
  const bool wrong = !moved.problem.empty() || moved.error == EMSGSIZE;
  failure_ = {late    ? Down::timed_out
              : wrong ? Down::protocol_error
                      : Down::closed,
              moved.error == 0 ? "it closed the connection before it was known" : moved.why()};
  return State::failed;
}

Stream::Moved Greeting::write() {
  while (wants_write()) {
    const iovec piece{output_.data(), output_.size()};
    const auto moved = stream_->write({&piece, output_.empty() ? 0u : 1u}, -1);
    if (moved.error != 0) return moved;
    output_.erase(0, moved.bytes);
  }
  return {};
}

Greeting::State Greeting::advance() {
  if (!handshake_) {
    const auto established = stream_->establish();
    if (established.not_now()) return State::going;
    if (established.error != 0) return fail(established);
    Handshake::Own own{settings_.introduction, settings_.incarnation, stream_->session()};
    if (dials_)
      handshake_ = Handshake::dialling(std::move(own), settings_.credentials.secret);
    else
      handshake_ = Handshake::answering(
          std::move(own),
          settings_.secret_for ? settings_.secret_for : [secret = settings_.credentials.secret](const auto&) {
            return Result<security::Secret::Ptr>(secret);
          });
  }
  for (;;) {
    output_ += handshake_->take_output();
    const auto written = write();
    if (handshake_->state() == State::failed) {
      failure_ = {Down::protocol_error, handshake_->problem()};
      return State::failed;
    }
    // The last word of it goes out before anything else does. Until then, reading finds out about an end.
    if (handshake_->state() == State::done) {
      if (written.error != 0 && !written.not_now()) return fail(written);
      return wants_write() ? State::going : State::done;
    }
    const auto place = handshake_->want();
    iovec piece{place.data(), place.size()};
    std::deque<int> none;
    const auto moved = stream_->read({&piece, 1}, none);
    if (moved.not_now()) return State::going;
    if (moved.error != 0 || moved.bytes == 0 || !none.empty()) {
      for (const int fd : none) Stream::plain(fd, false);  // closes it: nobody asked for it
      return fail(moved);
    }
    handshake_->filled(moved.bytes);
  }
}

}  // namespace yoke::transport
