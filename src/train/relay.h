// For tests: passes bytes on between two ends of Unix sockets, and can cut what goes through it.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace yoke::train {

class Relay {
 public:
  // Listens at `here` and passes everything on to `there`.
  Relay(const std::string& here, std::string there) : there_(std::move(there)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto at = address(here);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(listener_, 16) != 0)
      std::abort();
    if (::pipe(wake_.data()) != 0) std::abort();
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  ~Relay() {
    thread_.request_stop();
    static_cast<void>(!::write(wake_[1], "x", 1));
    thread_.join();
    cut();
    for (const int fd : {listener_, wake_[0], wake_[1]}) ::close(fd);
  }

  // Every connection that goes through it now ends, for both sides; later ones pass.
  void cut() {
    const std::lock_guard lock(mutex_);
    for (const auto& pair : pairs_)
      for (const int fd : pair) ::close(fd);
    pairs_.clear();
  }

 private:
  static sockaddr_un address(const std::string& path) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    return at;
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> all{{listener_, POLLIN, 0}, {wake_[0], POLLIN, 0}};
      {
        const std::lock_guard lock(mutex_);
        for (const auto& pair : pairs_)
          for (const int fd : pair) all.push_back({fd, POLLIN, 0});
      }
      ::poll(all.data(), all.size(), 10);  // what `cut` has closed is looked at no longer than that
      const std::lock_guard lock(mutex_);
      if (all[0].revents) take_in();
      for (std::size_t i = pairs_.size(); i-- > 0;)
        if (!pass_on(pairs_[i])) close_pair(i);
    }
  }

  void take_in() {
    const int near = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (near < 0) return;
    const int far = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto at = address(there_);
    if (::connect(far, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      ::close(near);
      ::close(far);
      return;
    }
    pairs_.push_back({near, far});
  }

  // Both ways, what is there now. False: one side has ended.
  static bool pass_on(const std::array<int, 2>& pair) {
    for (const int side : {0, 1}) {
      char bytes[65536];
      for (;;) {
        const auto got = ::recv(pair[side], bytes, sizeof bytes, MSG_DONTWAIT);
        if (got == 0) return false;
        if (got < 0) {
          if (errno == EAGAIN) break;
          return false;
        }
        for (ssize_t sent = 0; sent < got;) {
          pollfd room{pair[1 - side], POLLOUT, 0};
          ::poll(&room, 1, -1);
          const auto more = ::send(pair[1 - side], bytes + sent, static_cast<std::size_t>(got - sent), MSG_NOSIGNAL);
          if (more < 0 && errno != EAGAIN) return false;
          sent += more > 0 ? more : 0;
        }
      }
    }
    return true;
  }

  void close_pair(std::size_t i) {
    for (const int fd : pairs_[i]) ::close(fd);
    pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const std::string there_;
  int listener_ = -1;
  std::array<int, 2> wake_{};
  std::mutex mutex_;
  std::vector<std::array<int, 2>> pairs_;
  std::jthread thread_;
};

}  // namespace yoke::train
