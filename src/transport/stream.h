// Bytes over a connected, non-blocking socket, which it owns: as they are, or through TLS (tls_stream.h).
#pragma once

#include <sys/uio.h>

#include <deque>
#include <memory>
#include <span>
#include <string>

namespace yoke::transport {

class Stream {
 public:
  struct Moved {
    std::size_t bytes = 0;  // read: none, and no error, is the end
    int error = 0;          // as errno has them; EAGAIN: not now
    std::string problem;    // in words, where errno has none
    bool all = false;       // read: nothing was left for now; what comes later the socket announces
    bool not_now() const;
    // Why the connection is gone.
    std::string why() const;
  };

  // The bytes as they are. `shared_memory`: a Unix socket over which descriptors travel besides.
  static std::unique_ptr<Stream> plain(int fd, bool shared_memory);

  virtual ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  int fd() const { return fd_; }

  // Whatever has to be agreed with the other side before bytes can be moved. `not_now`: again when the socket is ready.
  virtual Moved establish() { return {}; }
  // Descriptors that came along are added to `descriptors`.
  virtual Moved read(std::span<iovec> pieces, std::deque<int>& descriptors) = 0;
  // Takes as much as it can; `descriptor` (-1: none) travels with the first byte.
  virtual Moved write(std::span<const iovec> pieces, int descriptor) = 0;
  // It has taken bytes that the socket has not; write again (nothing, if need be) when that has room.
  virtual bool holds_written() const { return false; }
  // It has read bytes off the socket that nobody has asked for yet: read again without waiting.
  virtual bool holds_read() const { return false; }
  // Nothing follows.
  virtual void say_no_more();

  // Of TLS: bytes that only the two ends know; and whether the other side's certificate lets it be a server.
  virtual std::string session() const { return ""; }
  virtual bool peer_may_serve() const { return true; }

 protected:
  explicit Stream(int fd) : fd_(fd) {}

 private:
  const int fd_;
};

}  // namespace yoke::transport
