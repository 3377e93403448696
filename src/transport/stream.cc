#include "transport/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace yoke::transport {
namespace {

constexpr std::size_t kMostDescriptorsARead = 16;  // in one read

class PlainStream : public Stream {
 public:
  PlainStream(int fd, bool shared_memory) : Stream(fd), shared_memory_(shared_memory) {}

  Moved read(std::span<iovec> pieces, std::deque<int>& descriptors) override {
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = pieces.size();
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int) * kMostDescriptorsARead)];
    if (shared_memory_) {
      message.msg_control = space;
      message.msg_controllen = sizeof space;
    }
    ssize_t got = 0;
    do {
      got = recvmsg(fd(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return {0, errno, ""};
    for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const auto many = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < many; ++i) {
        int one = -1;
        std::memcpy(&one, CMSG_DATA(header) + i * sizeof one, sizeof one);
        descriptors.push_back(one);
      }
    }
    std::size_t asked = 0;
    for (const auto& piece : pieces) asked += piece.iov_len;
    return {static_cast<std::size_t>(got), 0, "", static_cast<std::size_t>(got) < asked};
  }

  Moved write(std::span<const iovec> pieces, int descriptor) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    if (descriptor >= 0) {
      message.msg_control = space;
      message.msg_controllen = sizeof space;
      auto* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
    }
    ssize_t done = 0;
    do {
      done = sendmsg(fd(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (done < 0 && errno == EINTR);
    if (done < 0) return {0, errno, ""};
    return {static_cast<std::size_t>(done), 0, ""};
  }

 private:
  const bool shared_memory_;
};

}  // namespace

bool Stream::Moved::not_now() const { return error == EAGAIN || error == EWOULDBLOCK; }

std::string Stream::Moved::why() const { return problem.empty() ? std::strerror(error) : problem; }

std::unique_ptr<Stream> Stream::plain(int fd, bool shared_memory) {
  return std::make_unique<PlainStream>(fd, shared_memory);
}

Stream::~Stream() { ::close(fd_); }

void Stream::say_no_more() { shutdown(fd_, SHUT_WR); }

}  // namespace yoke::transport
