#include "transport/endpoint.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "transport/socket_connection.h"
#include "transport/tls_stream.h"

namespace yoke::transport {
namespace {

constexpr int kBacklog = 1024;
constexpr int kAccepted = 64;  // in one turn
constexpr auto kTryAgain = std::chrono::milliseconds(20);
constexpr auto kPause = std::chrono::milliseconds(100);

// One way to reach an address.
struct Target {
  int family = AF_UNIX;
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* at() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<std::vector<Target>> resolve(const Address& address, bool to_listen) {
  std::vector<Target> targets;
  if (address.kind != Address::Kind::tcp) {
    Target target;
    auto& to = reinterpret_cast<sockaddr_un&>(target.storage);
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address.path.c_str(), address.path.size() + 1);
    target.size = sizeof(sockaddr_un);
    return std::vector{target};
  }
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  if (const int why = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found); why != 0)
    return Error{Code::missing, fmt::format("{}: the host is not known: {}", to_string(address), gai_strerror(why))};
  for (const auto* one = found; one; one = one->ai_next) {
    Target target;
    target.family = one->ai_family;
    std::memcpy(&target.storage, one->ai_addr, one->ai_addrlen);
    target.size = one->ai_addrlen;
    targets.push_back(target);
  }
  freeaddrinfo(found);
  return targets;
}

void set(int fd, int level, int option, int value) { setsockopt(fd, level, option, &value, sizeof value); }

bool is_loopback(const Target& target) {
  if (target.family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(target.storage).sin_addr.s_addr) >> 24 == 127;
  if (target.family != AF_INET6) return true;
  const auto& place = reinterpret_cast<const sockaddr_in6&>(target.storage).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&place) || (IN6_IS_ADDR_V4MAPPED(&place) && place.s6_addr[12] == 127);
}

// The address alone, without its port.
std::string_view host_of(const Target& target) {
  const bool four = target.family == AF_INET;
  const void* at = four ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in&>(target.storage).sin_addr)
                        : &reinterpret_cast<const sockaddr_in6&>(target.storage).sin6_addr;
  return {static_cast<const char*>(at), four ? sizeof(in_addr) : sizeof(in6_addr)};
}

// Do both ends lie on this host?
bool stays_here(int fd) {
  Target here, there;
  here.size = there.size = sizeof(sockaddr_storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&here.storage), &here.size) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&there.storage), &there.size) != 0)
    return false;
  here.family = here.storage.ss_family;
  there.family = there.storage.ss_family;
  return is_loopback(there) || (here.family == there.family && host_of(here) == host_of(there));
}

// The kernel gives up on a peer that takes nothing for so long, whether the path is cut or it just does not read, and
// so not before we do. (Cut paths are noticed sooner: SocketConnection::path_is_cut.)
void tune(int fd, const Address& address, const Settings& settings) {
  if (address.kind != Address::Kind::tcp) return;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(settings.silence).count();
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  // What the administrator has chosen is meant for a network. Some of it (BBR) sends at a measured pace, by timers: in
  // one host's memory that costs a third of the rate.
  constexpr std::string_view kWithoutPace = "reno";  // every process may choose it
  if (stays_here(fd)) setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kWithoutPace.data(), kWithoutPace.size());
  set(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::clamp<std::int64_t>(ms, 1, 1 << 30)));
}

// Where nobody listens on a port of this host, the kernel may choose that very port for our end, and connect it to
// itself.
bool is_itself(int fd) {
  sockaddr_storage here{}, there{};
  socklen_t here_size = sizeof here, there_size = sizeof there;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) == 0 && here_size == there_size &&
         std::memcmp(&here, &there, here_size) == 0;
}

// Connects within the time left. The descriptor, or -1 and errno.
int try_once(const Target& target, Duration left, int& why) {
  const int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  why = errno;
  if (fd < 0) return -1;
  why = 0;
  if (connect(fd, target.at(), target.size) != 0) why = errno;
  if (why == EINPROGRESS) {
    pollfd waiting{fd, POLLOUT, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int ready = poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(ms, 0, 60'000)));
    socklen_t size = sizeof why;
    if (ready > 0)
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &size);
    else
      why = ETIMEDOUT;
  }
  if (why == 0 && target.family != AF_UNIX && is_itself(fd)) why = ECONNREFUSED;
  if (why == 0) return fd;
  close(fd);
  return -1;
}

// Somebody who may come a little later.
bool worth_trying_again(int why) {
  return why == ECONNREFUSED || why == ENOENT || why == ETIMEDOUT || why == EAGAIN || why == EHOSTUNREACH ||
         why == ENETUNREACH || why == EINTR;
}

// A socket file that was left behind; never somebody's other file.
bool nobody_listens(const Target& target, const std::string& path) {
  struct stat about {};
  if (lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
  int why = 0;
  const int fd = try_once(target, std::chrono::seconds(1), why);
  if (fd >= 0) close(fd);
  return why == ECONNREFUSED;
}

std::string port_of(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const auto port = bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                                : reinterpret_cast<sockaddr_in&>(bound).sin_port;
  return std::to_string(ntohs(port));
}

// Where somebody comes from, without the port.
std::string source_of(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof text);
  else if (from.ss_family == AF_INET6) {
    // One host has as many addresses as it likes of the 64 bits behind.
    auto network = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    if (!IN6_IS_ADDR_V4MAPPED(&network)) std::memset(network.s6_addr + 8, 0, 8);
    inet_ntop(AF_INET6, &network, text, sizeof text);
  } else {
    return "this host";
  }
  return text;
}

// Other hosts reach what is not the loopback, and so does whoever sits between them and this one.
Status check_routable(const Address& address, const std::vector<Target>& targets,
                      const security::Credentials& credentials) {
  if (credentials.enough() || std::all_of(targets.begin(), targets.end(), is_loopback)) return {};
  return Error{
      Code::refused,
      fmt::format("{} is reached by other hosts, and {}: give both --certs DIR (`yoke cert new` makes one) and "
                  "--secret-file FILE (`yoke secret new`), or spell out --insecure where nobody else is on "
                  "the network",
                  to_string(address),
                  credentials.tls      ? "there is no secret"
                  : credentials.secret ? "there are no certificates"
                                       : "there are neither certificates nor a secret")};
}

// The other end of a Unix socket is another user's.
bool is_stranger(int fd) {
  ucred other{};
  socklen_t size = sizeof other;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &other, &size) != 0) return true;
  return other.uid != geteuid() && other.uid != 0;
}

}  // namespace

Result<std::unique_ptr<Listener>> Listener::open(Loop& loop, const Address& address, const Settings& settings,
                                                 Handler& handler) {
  const auto targets = resolve(address, true);
  if (!targets) return targets.error();
  if (auto checked = check_routable(address, {targets->front()}, settings.credentials); !checked)
    return checked.error();
  const auto& target = targets->front();
  const auto cannot = [&](int fd, int why) {
    if (fd >= 0) close(fd);
    return Error{Code::missing, fmt::format("cannot listen at {}: {}{}", to_string(address), std::strerror(why),
                                            why == EADDRINUSE ? "; another server may be running there, or choose "
                                                                "another port (0: any that is free)"
                                                              : "")};
  };
  const int fd = socket(target.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return cannot(fd, errno);
  if (address.kind == Address::Kind::tcp)
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  else
    fchmod(fd, 0600);
  if (bind(fd, target.at(), target.size) != 0) {
    const int why = errno;
    if (address.kind == Address::Kind::tcp || why != EADDRINUSE || !nobody_listens(target, address.path))
      return cannot(fd, why);
    unlink(address.path.c_str());
    if (bind(fd, target.at(), target.size) != 0) return cannot(fd, errno);
  }
  if (listen(fd, kBacklog) != 0) return cannot(fd, errno);
  auto real = address;
  if (address.kind == Address::Kind::tcp) real.port = port_of(fd);
  return std::unique_ptr<Listener>(new Listener(loop, fd, real, settings, handler));
}

Listener::Listener(Loop& loop, int fd, Address address, Settings settings, Handler& handler)
    : loop_(loop),
      fd_(fd),
      address_(std::move(address)),
      settings_(std::move(settings)),
      gate_(loop_, address_, settings_, handler) {
  listen_on();
}

void Listener::listen_on() {
  loop_.watch(fd_, EPOLLIN, [this](std::uint32_t) { accept_some(); });
}

Listener::~Listener() {
  loop_.cancel(pause_);
  loop_.forget(fd_);
  // Before nobody listens on it: afterwards it could be our successor's.
  if (address_.kind != Address::Kind::tcp) unlink(address_.path.c_str());
  close(fd_);
}

// Not all at once: those that have been let to the gate have their turn before others push them out.
void Listener::accept_some() {
  for (int i = 0; i < kAccepted; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int fd = accept4(fd_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == ECONNABORTED || errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return;
      // No descriptor or memory is to be had: whoever waits, waits, and we do not turn round and round.
      loop_.forget(fd_);
      pause_ = loop_.after(kPause, [this] { listen_on(); });
      return;
    }
    if (address_.kind != Address::Kind::tcp && is_stranger(fd)) {
      close(fd);
      continue;
    }
    tune(fd, address_, settings_);
    gate_.arrive(fd, source_of(from));
  }
}

Result<int> dial(const Address& address, const security::Credentials& credentials, Duration deadline) {
  const auto give_up = Loop::now() + deadline;
  int why = 0;
  for (;;) {
    const auto targets = resolve(address, false);
    if (!targets) return targets.error();
    if (auto checked = check_routable(address, *targets, credentials); !checked) return checked.error();
    for (const auto& target : *targets)
      if (const int fd = try_once(target, give_up - Loop::now(), why); fd >= 0) {
        if (target.family != AF_UNIX || geteuid() == 0 || !is_stranger(fd)) return fd;
        close(fd);
        return Error{Code::refused,
                     fmt::format("{} is another user's: whoever listens there is not of this job", to_string(address))};
      }
    if (!worth_trying_again(why) || Loop::now() + kTryAgain >= give_up) break;
    std::this_thread::sleep_for(kTryAgain);
  }
  return Error{Code::peer_down,
               fmt::format("nobody answers at {} ({}), after {:.1f} s; is the server running there?",
                           to_string(address), std::strerror(why), std::chrono::duration<double>(deadline).count())};
}

Result<int> dial_once(const Address& address, const security::Credentials& credentials, Duration deadline) {
  const auto targets = resolve(address, false);
  if (!targets) return Error{Code::timed_out, targets.error().message};
  if (auto checked = check_routable(address, *targets, credentials); !checked) return checked.error();
  bool nobody = true;
  int why = 0;
  for (const auto& target : *targets) {
    if (const int fd = try_once(target, deadline, why); fd >= 0) {
      if (target.family != AF_UNIX || geteuid() == 0 || !is_stranger(fd)) return fd;
      close(fd);
      return Error{Code::refused, fmt::format("{} is another user's", to_string(address))};
    }
    nobody = nobody && (why == ECONNREFUSED || why == ENOENT);
  }
  return Error{nobody ? Code::missing : Code::timed_out,
               fmt::format("nobody answers at {} ({})", to_string(address), std::strerror(why))};
}

ConnectionPtr adopt(Loop& loop, int fd, const Address& address, const Settings& settings, Handler& handler) {
  tune(fd, address, settings);
  const auto& credentials = settings.credentials;
  const bool shared_memory = address.kind == Address::Kind::shm;
  auto stream =
      address.kind == Address::Kind::tcp && credentials.tls
          ? dial_tls(fd, *credentials.tls, credentials.peer_name.empty() ? address.host : credentials.peer_name)
          : Stream::plain(fd, shared_memory);
  return SocketConnection::dialled(loop, std::move(stream), shared_memory, to_string(address), settings, handler);
}

}  // namespace yoke::transport
