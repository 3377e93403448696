// A TCP proxy that does to connections what networks do: holds bytes back, loses a direction, resets, flips bits. One
// process for many routes; a route is a port of its own on 127.0.0.1 and the place that its connections go on to.
//
//   fault_proxy [--seed N]        commands on standard input, a line each; one line of answer to each
//
//   route NAME HOST:PORT          NAME 127.0.0.1:PORT, where it listens from now on
//   target NAME HOST:PORT         where connections go that come from now on
//   delay NAME MILLISECONDS       what comes from now on is held back for so long; 0 ends it. The order is kept
//   reset NAME                    all connections that there are end with a RST, on both sides
//   flip NAME COUNT               the next COUNT times that bytes pass, a random bit of them is flipped
//   cut NAME up|down|both         nothing passes to the target, from it, or either way: no bytes, no ends of
//   connections,
//                                 no new connections; what comes to the proxy is accepted, and waits. The last cut
//                                 counts
//   heal NAME                     no cut any more; what has waited passes
//   close NAME                    reset, and who comes is refused, as where no process listens
//   open NAME                     it listens again, at the same port
//   count NAME                    NAME UP DOWN: bytes that have passed so far
//   quit                          so does the end of the input
//
// Answers are "ok" where nothing else is said above, or "error: ..." and nothing was done.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

constexpr std::size_t kMostHeld = 1u << 20;  // bytes of a direction that are read and not written
constexpr std::size_t kChunk = 64u << 10;
constexpr int kTurn = 32;  // chunks that a connection moves before others have their turn

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "fault_proxy: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void close_with_reset() {
    const linger hard{1, 0};
    if (fd_ >= 0) setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    close();
  }

 private:
  int fd_ = -1;
};

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::optional<Address> address_of(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == text.npos) return {};
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  if (getaddrinfo(text.substr(0, colon).c_str(), text.substr(colon + 1).c_str(), &hints, &found) != 0) return {};
  Address address;
  address.size = found->ai_addrlen;
  std::memcpy(&address.bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

enum Way { up, down };  // to the target, and from it

// Where events of a descriptor go.
struct Watched {
  virtual ~Watched() = default;
  virtual void on(std::uint32_t events) = 0;
};

struct Route {
  std::string name;
  Address target;
  int port = 0;
  Fd place;  // bound to the port, never listening: so nobody else gets it while the route is closed
  Fd listener;
  std::unique_ptr<Watched> accepting;
  std::chrono::milliseconds delay{0};
  std::uint64_t flips = 0;
  bool cut[2] = {false, false};
  std::uint64_t passed[2] = {0, 0};
};

class Connection;

// What connections share. Descriptors are watched by edges: an end that may not be passed on yet makes no noise.
class Loop {
 public:
  explicit Loop(std::uint64_t seed) : random(seed) {
    if (!epoll_) die("epoll_create1");
  }

  void watch(int fd, std::uint32_t events, Watched& who) {
    epoll_event event{};
    event.events = events;
    event.data.ptr = &who;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) die("epoll_ctl");
  }
  void wake_at(Time when, Connection& who) { alarms_.insert({when, &who}); }
  void go_on_soon(Connection& who) { soon_.insert(&who); }
  void add(std::unique_ptr<Connection> connection);
  // Deleted after this turn: events of it may still be in hand.
  void over(Connection& who) { over_.insert(&who); }
  void turn();

  template <class Act>
  void each_of(const Route& route, Act act);

  std::mt19937_64 random;

 private:
  int timeout() const {
    if (!soon_.empty()) return 0;
    if (alarms_.empty()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(alarms_.begin()->first - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
  }

  Fd epoll_{epoll_create1(EPOLL_CLOEXEC)};
  std::map<Connection*, std::unique_ptr<Connection>> connections_;
  std::set<std::pair<Time, Connection*>> alarms_;
  std::set<Connection*> soon_, over_;
};

// A connection to a route, and the one to the target that belongs to it.
class Connection {
 public:
  Connection(Loop& loop, Route& route, Fd client) : loop_(loop), route_(route) {
    attach(up, std::move(client));
    sides_[up].writable = true;
  }

  const Route& route() const { return route_; }

  // Moves what can be moved.
  void pump() {
    if (over_) return;
    if (!sides_[down].fd && !dialled_ && !route_.cut[up]) dial();
    bool more = false;
    for (const auto way : {up, down}) more = pump(way) || more;
    if (over_) return;
    const auto done = [](const Pipe& pipe) { return pipe.end != Pipe::End::none && pipe.passed_on; };
    if (done(pipes_[up]) && done(pipes_[down])) return finish(false);
    if (more) loop_.go_on_soon(*this);
  }

  void reset() { finish(true); }

 private:
  // What comes from the client is read at sides_[up], and so on.
  struct Side : Watched {
    void on(std::uint32_t events) override {
      readable = readable || (events & (EPOLLIN | EPOLLHUP | EPOLLERR));
      writable = writable || (events & (EPOLLOUT | EPOLLHUP | EPOLLERR));
      broken = broken || (events & EPOLLERR);
      owner->pump();
    }
    Connection* owner = nullptr;
    Fd fd;
    bool readable = false, writable = false, broken = false;
  };
  struct Chunk {
    std::vector<char> bytes;
    Time due;
    std::size_t written = 0;
    bool begun = false;
  };
  struct Pipe {
    std::deque<Chunk> chunks;
    std::size_t held = 0;
    enum class End { none, orderly, reset } end = End::none;
    Time end_due{};
    bool passed_on = false;  // the end was
    Time last_due{};
  };

  void attach(Way way, Fd fd) {
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto& side = sides_[way];
    side.owner = this;
    side.fd = std::move(fd);
    loop_.watch(side.fd.get(), EPOLLIN | EPOLLOUT | EPOLLET, side);
  }

  void dial() {
    dialled_ = true;
    Fd fd(socket(route_.target.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) die("socket");
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&route_.target.bytes), route_.target.size) != 0 &&
        errno != EINPROGRESS)
      return ends(down, Pipe::End::reset);
    attach(down, std::move(fd));
  }

  // Whether there is more to do at once.
  bool pump(Way way) {
    for (int turn = 0; turn < kTurn; ++turn) {
      const bool took = take(way), gave = give(way);
      if (over_ || (!took && !gave)) return false;
    }
    return true;
  }

  bool take(Way way) {
    auto& side = sides_[way];
    auto& pipe = pipes_[way];
    if (!side.fd || pipe.end != Pipe::End::none) return false;
    if (pipe.held >= kMostHeld && side.broken) {  // what is left of it is lost, as it is with a RST
      ends(way, Pipe::End::reset);
      return true;
    }
    if (!side.readable || pipe.held >= kMostHeld) return false;
    char bytes[kChunk];
    const auto got = recv(side.fd.get(), bytes, sizeof bytes, 0);
    if (got > 0) {
      hold(pipe, bytes, static_cast<std::size_t>(got));
    } else if (got == 0) {
      ends(way, Pipe::End::orderly);
    } else if (errno == EAGAIN || errno == ENOTCONN) {
      side.readable = false;
      return false;
    } else if (errno != EINTR) {
      ends(way, Pipe::End::reset);
    }
    return true;
  }

  // Never before what came earlier.
  Time due(Pipe& pipe) const {
    using std::chrono::milliseconds;
    if (route_.delay.count() > 0)
      pipe.last_due = std::max<Time>(pipe.last_due, std::chrono::ceil<milliseconds>(Clock::now()) + route_.delay);
    return pipe.last_due;
  }

  void hold(Pipe& pipe, const char* bytes, std::size_t count) {
    const auto when = due(pipe);
    // Single bytes are not to become chunks of their own.
    if (pipe.chunks.empty() || pipe.chunks.back().begun || pipe.chunks.back().due != when ||
        pipe.chunks.back().bytes.size() + count > kChunk)
      pipe.chunks.push_back({{}, when});
    auto& chunk = pipe.chunks.back().bytes;
    chunk.insert(chunk.end(), bytes, bytes + count);
    pipe.held += count;
  }

  void ends(Way way, Pipe::End how) {
    auto& pipe = pipes_[way];
    if (pipe.end != Pipe::End::none) return;
    pipe.end = how;
    pipe.end_due = due(pipe);
  }

  bool give(Way way) {
    auto& pipe = pipes_[way];
    auto& to = sides_[way == up ? down : up];
    if (route_.cut[way] || pipe.passed_on) return false;
    if (pipe.chunks.empty() && pipe.end == Pipe::End::none) return false;
    const auto when = pipe.chunks.empty() ? pipe.end_due : pipe.chunks.front().due;
    if (when > Clock::now()) {
      loop_.wake_at(when, *this);
      return false;
    }
    if (pipe.chunks.empty()) {
      if (pipe.end == Pipe::End::reset) {
        finish(true);
        return true;
      }
      if (!to.fd || !to.writable) return false;  // not connected yet
      shutdown(to.fd.get(), SHUT_WR);
      pipe.passed_on = true;
      return true;
    }
    return to.fd && to.writable && write(way, pipe, to);
  }

  bool write(Way way, Pipe& pipe, Side& to) {
    auto& chunk = pipe.chunks.front();
    if (!std::exchange(chunk.begun, true) && route_.flips > 0) {
      --route_.flips;
      const auto bit = std::uniform_int_distribution<std::size_t>(0, 8 * chunk.bytes.size() - 1)(loop_.random);
      chunk.bytes[bit / 8] = static_cast<char>(chunk.bytes[bit / 8] ^ (1 << bit % 8));
    }
    const auto put =
        send(to.fd.get(), chunk.bytes.data() + chunk.written, chunk.bytes.size() - chunk.written, MSG_NOSIGNAL);
    if (put < 0) {
      if (errno == EINTR) return true;
      to.writable = false;
      if (errno == EAGAIN || errno == ENOTCONN) return false;
      // That side is gone. The other hears of it as of anything that comes from there, unless it is cut off.
      pipe.chunks.clear();
      pipe.held = 0;
      ends(way == up ? down : up, Pipe::End::reset);
      return false;
    }
    chunk.written += static_cast<std::size_t>(put);
    pipe.held -= static_cast<std::size_t>(put);
    route_.passed[way] += static_cast<std::uint64_t>(put);
    if (chunk.written == chunk.bytes.size()) pipe.chunks.pop_front();
    return true;
  }

  void finish(bool hard) {
    if (std::exchange(over_, true)) return;
    for (auto& side : sides_) {
      if (hard) side.fd.close_with_reset();
      side.fd.close();
    }
    loop_.over(*this);
  }

  Loop& loop_;
  Route& route_;
  Side sides_[2];  // up: the client's, down: the target's
  Pipe pipes_[2];
  bool dialled_ = false, over_ = false;
};

void Loop::add(std::unique_ptr<Connection> connection) {
  auto* added = connection.get();
  connections_.emplace(added, std::move(connection));
  added->pump();
}

template <class Act>
void Loop::each_of(const Route& route, Act act) {
  for (const auto& [connection, owner] : connections_)
    if (&connection->route() == &route) act(*connection);
}

void Loop::turn() {
  epoll_event events[128];
  const int count = epoll_wait(epoll_.get(), events, std::size(events), timeout());
  if (count < 0 && errno != EINTR) die("epoll_wait");
  const auto waiting = std::exchange(soon_, {});
  for (int i = 0; i < count; ++i) static_cast<Watched*>(events[i].data.ptr)->on(events[i].events);
  for (auto* connection : waiting) connection->pump();
  while (!alarms_.empty() && alarms_.begin()->first <= Clock::now()) {
    auto* connection = alarms_.begin()->second;
    alarms_.erase(alarms_.begin());
    connection->pump();
  }
  for (auto* connection : std::exchange(over_, {})) {
    soon_.erase(connection);
    std::erase_if(alarms_, [&](const auto& alarm) { return alarm.second == connection; });
    connections_.erase(connection);
  }
}

struct Accepting : Watched {
  Accepting(Loop& with, Route& of) : loop(with), route(of) {}
  void on(std::uint32_t) override {
    while (route.listener) {
      Fd client(accept4(route.listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (client) {
        loop.add(std::make_unique<Connection>(loop, route, std::move(client)));
      } else if (errno == EAGAIN) {
        return;
      } else if (errno != EINTR && errno != ECONNABORTED) {
        die("accept4");
      }
    }
  }
  Loop& loop;
  Route& route;
};

class Proxy : Watched {
 public:
  explicit Proxy(std::uint64_t seed) : loop_(seed) { loop_.watch(STDIN_FILENO, EPOLLIN, *this); }

  void run() {
    while (!quit_) loop_.turn();
  }

 private:
  void on(std::uint32_t) override {
    char bytes[4096];
    const auto got = read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
      quit_ = true;
      return;
    }
    input_.append(bytes, static_cast<std::size_t>(got));
    for (std::size_t end; !quit_ && (end = input_.find('\n')) != input_.npos; input_.erase(0, end + 1)) {
      const auto answer = obey(input_.substr(0, end));
      std::printf("%s\n", answer.c_str());
      std::fflush(stdout);
    }
  }

  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string command, name, what, more;
    words >> command >> name >> what >> more;
    if (!more.empty()) return "error: too many words: " + line;
    if (command == "quit") {
      quit_ = true;
      return "ok";
    }
    if (name.empty()) return "error: unknown, or without a name: " + line;
    if (command == "route") return add(name, what);
    const auto found = routes_.find(name);
    if (found == routes_.end()) return "error: there is no route " + name;
    auto& route = *found->second;
    if (command == "count" && what.empty())
      return name + " " + std::to_string(route.passed[up]) + " " + std::to_string(route.passed[down]);
    if (!change(route, command, what)) return "error: unknown, or wrongly put: " + line;
    return "ok";
  }

  std::string add(const std::string& name, const std::string& where) {
    if (routes_.contains(name)) return "error: there is a route " + name + " already";
    const auto target = address_of(where);
    if (!target) return "error: not an address: " + where;
    auto route = std::make_unique<Route>();
    route->name = name;
    route->target = *target;
    route->place = bound(0);
    sockaddr_in own{};
    socklen_t size = sizeof own;
    getsockname(route->place.get(), reinterpret_cast<sockaddr*>(&own), &size);
    route->port = ntohs(own.sin_port);
    route->accepting = std::make_unique<Accepting>(loop_, *route);
    listen_at(*route);
    const auto port = route->port;
    routes_.emplace(name, std::move(route));
    return name + " 127.0.0.1:" + std::to_string(port);
  }

  bool change(Route& route, const std::string& command, const std::string& what) {
    if (command == "target") {
      const auto target = address_of(what);
      if (target) route.target = *target;
      return target.has_value();
    }
    if (command == "delay" || command == "flip") {
      const auto number = number_in(what);
      if (!number) return false;
      if (command == "delay") route.delay = std::chrono::milliseconds(*number);
      if (command == "flip") route.flips = *number;
      return true;
    }
    if (command == "cut" ? what != "up" && what != "down" && what != "both" : !what.empty()) return false;
    if (command == "cut" || command == "heal") {
      route.cut[up] = what == "up" || what == "both";
      route.cut[down] = what == "down" || what == "both";
      loop_.each_of(route, [&](Connection& connection) { loop_.go_on_soon(connection); });
      return true;
    }
    if (command == "open") {
      if (!route.listener) listen_at(route);
      return true;
    }
    if (command != "reset" && command != "close") return false;
    if (command == "close") route.listener.close();
    loop_.each_of(route, [](Connection& connection) { connection.reset(); });
    return true;
  }

  static std::optional<std::uint32_t> number_in(const std::string& text) {
    if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos) return {};
    return static_cast<std::uint32_t>(std::stoul(text));
  }

  static Fd bound(int port) {
    Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) die("socket");
    const int on = 1;
    setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) die("bind");
    return fd;
  }

  void listen_at(Route& route) {
    route.listener = bound(route.port);
    if (listen(route.listener.get(), SOMAXCONN) != 0) die("listen");
    loop_.watch(route.listener.get(), EPOLLIN, *route.accepting);
  }

  std::map<std::string, std::unique_ptr<Route>> routes_;  // outlives the connections of the loop
  Loop loop_;
  std::string input_;
  bool quit_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seed = 1;
  if (argc == 3 && std::string(argv[1]) == "--seed") {
    seed = std::strtoull(argv[2], nullptr, 10);
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: fault_proxy [--seed N]\n");
    return 2;
  }
  Proxy(seed).run();
  return 0;
}
