#include "transport/tls_stream.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <vector>

namespace yoke::transport {
namespace {

constexpr std::size_t kRecord = 16u << 10;
constexpr std::size_t kFirstBuffer = 4u << 10;       // until the other side is known
constexpr std::size_t kInBuffer = 32u << 10;         // of what comes in
constexpr std::size_t kSealedAtOnce = 32u << 10;     // put into records before the socket gets them
constexpr std::size_t kSmall = 4u << 10;             // pieces below this share a record
constexpr std::size_t kMostBeforeKnown = 16u << 10;  // bytes that a stranger may send for TLS's own sake
// AES-GCM is good for 2^24.5 records of one key (RFC 8446, 5.5).
constexpr std::uint64_t kRecordsAKey = std::uint64_t{1} << 22;
constexpr char kBinding[] = "EXPORTER-Channel-Binding";  // RFC 9266

class TlsStream : public Stream {
 public:
  TlsStream(int fd, SSL* end) : Stream(fd), end_(end) {
    auto* bio = end_ ? BIO_new(method()) : nullptr;
    if (!bio) {
      SSL_free(end_);
      throw std::bad_alloc();
    }
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(end_, bio, bio);
  }
  ~TlsStream() override { SSL_free(end_); }

  // OpenSSL keeps its errors by thread, and looks at all of them: each call begins with none, or one connection's
  // trouble would be taken for another's.
  Moved establish() override {
    ERR_clear_error();
    const int done = SSL_do_handshake(end_);
    auto moved = done == 1 ? Moved{} : problem_of(done);
    established_ = done == 1;
    // An alert, or the rest of the handshake: it goes out also when this side has failed.
    const auto flushed = flush();
    if (!established_ || flushed.error == 0 || flushed.not_now()) return moved;
    return flushed;
  }

  Moved read(std::span<iovec> pieces, std::deque<int>&) override {
    std::size_t total = 0;
    for (auto& piece : pieces) {
      std::size_t have = 0;
      while (have < piece.iov_len) {
        std::size_t got = 0;
        ERR_clear_error();
        const int done = SSL_read_ex(end_, static_cast<char*>(piece.iov_base) + have, piece.iov_len - have, &got);
        if (done != 1) {
          // What was read before an end is told first: that comes again.
          const auto moved = total + have > 0 ? Moved{total + have, 0, ""} : problem_of(done);
          if (!out_.empty()) static_cast<void>(flush());  // TLS has something to say for itself
          return moved;
        }
        have += got;
      }
      total += have;
    }
    return {total, 0, ""};
  }

  Moved write(std::span<const iovec> pieces, int) override {
    if (auto flushed = flush(); flushed.error != 0) return flushed;
    std::size_t total = 0;
    for (std::size_t i = 0; i < pieces.size();) {
      // Heads, words and checksums that follow each other share a record.
      stage_.clear();
      while (i < pieces.size() && pieces[i].iov_len < kSmall && stage_.size() + pieces[i].iov_len <= kRecord) {
        const auto* at = static_cast<const std::byte*>(pieces[i].iov_base);
        stage_.insert(stage_.end(), at, at + pieces[i].iov_len);
        ++i;
      }
      if (stage_.empty() && i == pieces.size()) break;
      if (!stage_.empty()) {
        if (auto sealed = seal(stage_.data(), stage_.size()); sealed.error != 0) return sealed;
        total += stage_.size();
      } else {
        const auto& piece = pieces[i++];
        for (std::size_t from = 0; from < piece.iov_len; from += kSealedAtOnce) {
          const auto size = std::min(piece.iov_len - from, kSealedAtOnce);
          if (auto sealed = seal(static_cast<const std::byte*>(piece.iov_base) + from, size); sealed.error != 0)
            return sealed;
          total += size;
          if (out_.size() < kSealedAtOnce) continue;
          if (auto flushed = flush(); flushed.error != 0) return settle(total, flushed);
        }
      }
    }
    return settle(total, flush());
  }

  bool holds_written() const override { return !out_.empty(); }
  bool holds_read() const override { return taken_ < in_size_ || SSL_has_pending(end_) == 1; }

  void say_no_more() override {
    ERR_clear_error();
    SSL_shutdown(end_);
    static_cast<void>(flush());
    out_.clear();  // a farewell that does not fit is left unsaid
    Stream::say_no_more();
  }

  std::string session() const override {
    std::string bytes(32, '\0');
    if (SSL_export_keying_material(end_, reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), kBinding,
                                   sizeof kBinding - 1, nullptr, 0, 0) != 1)
      bytes.clear();
    return bytes;
  }

  bool peer_may_serve() const override {
    auto* certificate = SSL_get0_peer_certificate(end_);
    return certificate && X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1;
  }

 private:
  // What was taken counts as moved, wherever it is now.
  static Moved settle(std::size_t taken, const Moved& flushed) {
    if (taken > 0 && (flushed.error == 0 || flushed.not_now())) return {taken, 0, ""};
    return flushed;
  }

  Moved seal(const std::byte* at, std::size_t size) {
    std::size_t written = 0;
    ERR_clear_error();
    if ((records_ += 1 + size / kRecord) >= kRecordsAKey) {
      records_ = 0;
      SSL_key_update(end_, SSL_KEY_UPDATE_NOT_REQUESTED);
    }
    const int done = SSL_write_ex(end_, at, size, &written);
    if (done == 1 && written == size) return {};
    auto moved = problem_of(done);
    if (moved.error == 0 || moved.not_now()) moved = {0, EPROTO, "TLS: nothing can be written now"};
    return moved;
  }

  Moved flush() {
    std::size_t sent = 0;
    Moved moved;
    while (sent < out_.size()) {
      const auto done = ::send(fd(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) {
        moved.error = errno;
        break;
      }
      sent += static_cast<std::size_t>(done);
    }
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(sent));
    return moved;
  }

  // Why a call of OpenSSL's did not do what it should.
  Moved problem_of(int done) {
    switch (SSL_get_error(end_, done)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        ERR_clear_error();
        return {0, EAGAIN, ""};
      case SSL_ERROR_ZERO_RETURN:
        ERR_clear_error();
        if (socket_error_ != 0) return {0, socket_error_, ""};
        if (!established_) return {0, ECONNRESET, ""};
        return {};
      default:
        if (socket_error_ != 0 || (ended_ && !established_)) {
          ERR_clear_error();
          return {0, socket_error_ != 0 ? socket_error_ : ECONNRESET, ""};
        }
        return {0, EPROTO, security::tls_problem(end_)};
    }
  }

  // --- between OpenSSL and the socket ---

  int take(char* to, int size) {
    if (taken_ == in_size_) {
      taken_ = in_size_ = 0;
      in_.resize(established_ ? kInBuffer : kFirstBuffer);
      ssize_t got = 0;
      do {
        got = ::recv(fd(), in_.data(), in_.size(), MSG_DONTWAIT);
      } while (got < 0 && errno == EINTR);
      if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return -1;
      if (got < 0) socket_error_ = errno;
      if (got <= 0) {
        ended_ = true;
        return 0;
      }
      in_size_ = static_cast<std::size_t>(got);
      before_known_ += established_ ? 0 : in_size_;
      if (before_known_ > kMostBeforeKnown) {
        socket_error_ = EMSGSIZE;
        ended_ = true;
        return 0;
      }
    }
    const auto here = std::min(static_cast<std::size_t>(size), in_size_ - taken_);
    std::memcpy(to, in_.data() + taken_, here);
    taken_ += here;
    return static_cast<int>(here);
  }

  static TlsStream& of(BIO* bio) { return *static_cast<TlsStream*>(BIO_get_data(bio)); }

  static int bio_read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    const int got = of(bio).take(to, size);
    if (got < 0) BIO_set_retry_read(bio);
    return got;
  }
  static int bio_write(BIO* bio, const char* from, int size) {
    BIO_clear_retry_flags(bio);
    auto& out = of(bio).out_;
    const auto* at = reinterpret_cast<const std::byte*>(from);
    out.insert(out.end(), at, at + size);
    return size;
  }
  static long bio_control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return of(bio).ended_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }
  static const BIO_METHOD* method() {
    static BIO_METHOD* const made = [] {
      auto* one = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "yoke stream");
      BIO_meth_set_read(one, bio_read);
      BIO_meth_set_write(one, bio_write);
      BIO_meth_set_ctrl(one, bio_control);
      return one;
    }();
    return made;
  }

  SSL* const end_;
  bool established_ = false, ended_ = false;
  int socket_error_ = 0;
  std::size_t before_known_ = 0;
  std::uint64_t records_ = 0;  // since the last change of the key
  std::vector<std::byte> in_;  // records as they came
  std::size_t in_size_ = 0, taken_ = 0;
  std::vector<std::byte> out_;    // records that the socket has not taken yet
  std::vector<std::byte> stage_;  // small pieces that go into one record
};

}  // namespace

std::unique_ptr<Stream> dial_tls(int fd, const security::Tls& tls, const std::string& name) {
  return std::make_unique<TlsStream>(fd, tls.dial(name));
}

std::unique_ptr<Stream> answer_tls(int fd, const security::Tls& tls) {
  return std::make_unique<TlsStream>(fd, tls.answer());
}

}  // namespace yoke::transport
