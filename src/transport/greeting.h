// Drives a handshake over a stream: TLS first, where the stream has it, then ours. It reads not a byte more than the
// handshake needs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/connection.h"
#include "transport/handshake.h"
#include "transport/stream.h"

namespace yoke::transport {

class Greeting {
 public:
  using State = Handshake::State;

  // Who dials, and who answers.
  static Greeting dialling(std::unique_ptr<Stream> stream, const Settings& settings);
  static Greeting answering(std::unique_ptr<Stream> stream, const Settings& settings);

  // Goes on as far as the socket lets it.
  State advance();
  // What it waits for, as the loop's `watch` wants it.
  std::uint32_t events() const;
  const Stream& stream() const { return *stream_; }

  // Failed: why.
  const Failure& failure() const { return failure_; }
  // Done: who the other side is, and what goes on with it.
  const std::string& introduction() const { return handshake_->introduction(); }
  std::uint64_t incarnation() const { return handshake_->incarnation(); }
  std::unique_ptr<Stream> take_stream() { return std::move(stream_); }

 private:
  Greeting(std::unique_ptr<Stream> stream, const Settings& settings, bool dials);
  State fail(const Stream::Moved& moved);
  Stream::Moved write();
  bool wants_write() const { return !output_.empty() || stream_->holds_written(); }

  std::unique_ptr<Stream> stream_;
  const Settings& settings_;
  const bool dials_;
  std::optional<Handshake> handshake_;  // begins when TLS is through
  std::string output_;
  Failure failure_;
};

}  // namespace yoke::transport
