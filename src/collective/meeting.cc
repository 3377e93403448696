#include "collective/meeting.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace yoke::collective {
namespace {

using Deadline = std::chrono::steady_clock::time_point;

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~Descriptor() { reset(-1); }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  void reset(int fd) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }
  int fd_;
};

// What goes with each descriptor.
struct Card {
  int rank = 0;
  int size = 0;
  pid_t process = 0;
};

Error failed(const std::string& what) { return {Code::peer_down, fmt::format("{}: {}", what, std::strerror(errno))}; }

int left(Deadline deadline) {
  const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::max<decltype(rest)>(0, rest));
}

bool readable(int fd, Deadline deadline) {
  pollfd waits{fd, POLLIN, 0};
  int found;
  do {
    found = poll(&waits, 1, left(deadline));
  } while (found < 0 && errno == EINTR);
  return found > 0;
}

Status give(int socket, const Card& card, int descriptor) {
  Card copy = card;
  iovec bytes{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  auto* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != sizeof copy) return failed("a process of the group is gone");
  return {};
}

struct Taken {
  Card card;
  Descriptor descriptor;
};

Result<Taken> take(int socket, Deadline deadline) {
  if (!readable(socket, deadline)) return Error{Code::timed_out, "nothing came"};
  Card card;
  iovec bytes{&card, sizeof card};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof card) return Error{Code::peer_down, "a process of the group is gone"};
  const auto* header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
    return Error{Code::corrupt, "no descriptor came"};
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return Taken{card, Descriptor(fd)};
}

// Who is at the other end, if it is a process of this user.
std::optional<pid_t> peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != geteuid()) return std::nullopt;
  return who.pid;
}

Result<std::vector<Present>> handed_over(std::vector<std::optional<Taken>> all) {
  std::vector<Present> present;
  for (auto& taken : all) present.push_back({taken->descriptor.release(), taken->card.process});
  return present;
}

Result<std::vector<Present>> host(const sockaddr_un& address, int size, int own, Deadline deadline) {
  Descriptor listening(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (listening.get() < 0) return failed("no socket");
  const std::string path = address.sun_path;
  if (bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return Error{Code::invalid_argument,
                 fmt::format("{}: {}. Say a path in a folder that can be written to, where nothing is yet.", path,
                             std::strerror(errno))};
  struct Unlink {
    const std::string& path;
    ~Unlink() { unlink(path.c_str()); }
  } unlink_it{path};
  if (listen(listening.get(), size) != 0) return failed(path);

  std::vector<std::optional<Taken>> all(static_cast<std::size_t>(size));
  all[0] = Taken{{0, size, getpid()}, Descriptor(fcntl(own, F_DUPFD_CLOEXEC, 0))};
  std::vector<Descriptor> sockets;
  for (int here = 1; here < size;) {
    if (!readable(listening.get(), deadline)) {
      std::string missing;
      for (int rank = 1; rank < size; ++rank)
        if (!all[static_cast<std::size_t>(rank)]) missing += fmt::format(" {}", rank);
      return Error{Code::timed_out, fmt::format("{}: these ranks did not come:{}", path, missing)};
    }
    Descriptor socket(accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const auto who = socket.get() < 0 ? std::nullopt : peer_of(socket.get());
    if (!who) continue;
    auto taken = take(socket.get(), deadline);
    if (!taken) continue;  // it came and went
    const auto rank = taken->card.rank;
    if (rank <= 0 || rank >= size || taken->card.size != size || all[static_cast<std::size_t>(rank)])
      return Error{Code::invalid_argument,
                   fmt::format("{}: rank {} of {} came to a group of {}{}", path, rank, taken->card.size, size,
                               taken->card.size == size ? ", a second time" : "")};
    taken->card.process = *who;
    all[static_cast<std::size_t>(rank)] = std::move(*taken);
    sockets.push_back(std::move(socket));
    ++here;
  }
  for (const auto& socket : sockets)
    for (const auto& one : all)
      if (auto given = give(socket.get(), one->card, one->descriptor.get()); !given.ok()) return given.error();
  return handed_over(std::move(all));
}

Result<std::vector<Present>> visit(const sockaddr_un& address, int rank, int size, int own, Deadline deadline) {
  Descriptor socket;
  for (;;) {
    socket = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (socket.get() < 0) return failed("no socket");
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) break;
    if (errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) return failed(address.sun_path);
    if (left(deadline) == 0) return Error{Code::timed_out, fmt::format("{}: rank 0 did not come", address.sun_path)};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // rank 0 has not come yet
  }
  if (!peer_of(socket.get())) return Error{Code::refused, fmt::format("{}: this is another user's", address.sun_path)};
  if (auto given = give(socket.get(), {rank, size, getpid()}, own); !given.ok()) return given.error();
  std::vector<std::optional<Taken>> all;
  while (all.size() < static_cast<std::size_t>(size)) {
    auto taken = take(socket.get(), deadline);
    if (!taken) return Error{taken.error().code, fmt::format("{}: the group did not come together", address.sun_path)};
    all.emplace_back(std::move(*taken));
  }
  return handed_over(std::move(all));
}

}  // namespace

Result<std::vector<Present>> meet(const std::string& path, int rank, int size, int descriptor, Deadline deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return Error{Code::invalid_argument,
                 fmt::format("the path of a group has 1 to {} characters: '{}'", sizeof address.sun_path - 1, path)};
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return rank == 0 ? host(address, size, descriptor, deadline) : visit(address, rank, size, descriptor, deadline);
}

}  // namespace yoke::collective
