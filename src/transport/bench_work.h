// What the processes of transport_bench do, whatever carries it: each client pushes 64 MiB of gradients in frames of
// 1 MiB, the server looks at each frame and answers it with 1 MiB of its parameters, which the client copies into its
// own. A few words of every frame are checked on both sides.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace yoke::transport::bench {

inline constexpr std::size_t kFrame = 1u << 20;
inline constexpr std::uint32_t kFrames = 64;
inline constexpr std::size_t kClients = 2;
inline constexpr unsigned kWarmUps = 2, kIterations = 8;
inline constexpr unsigned kPatience = 60;  // seconds

enum class Side : std::uint64_t { gradient = 1, parameter = 2 };

[[noreturn]] inline void give_up(const std::string& why) {
  std::fprintf(stderr, "transport_bench: %s\n", why.c_str());
  std::fflush(stderr);
  _exit(1);
}

inline std::size_t place(std::size_t word) { return word * (kFrame / 4) + word * 8; }  // four of them, one a quarter

inline std::uint64_t word_of(Side side, std::uint32_t frame, std::uint64_t iteration) {
  return (static_cast<std::uint64_t>(side) << 60) | (iteration << 32) | frame;
}

inline void mark(std::byte* frame, std::uint64_t word) {
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(frame + place(i), &word, sizeof word);
}

inline void check(std::span<const std::byte> frame, std::uint64_t word) {
  if (frame.size() != kFrame) give_up("a frame of another size");
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t found = 0;
    std::memcpy(&found, frame.data() + place(i), sizeof found);
    if (found != word) give_up("a frame with other words in it");
  }
}

// The server reads every word of a push, as one does that reduces, and not only those that are checked.
inline bool server_reads_all = false;

inline void read_all(std::span<const std::byte> frame) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= frame.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, frame.data() + i, sizeof word);
    sum += word;
  }
  asm volatile("" : : "r"(sum));  // it is needed, as far as the compiler knows
}

inline void take_push(std::span<const std::byte> frame, std::uint64_t word) {
  check(frame, word);
  if (server_reads_all) read_all(frame);
}

// What names a frame on its way.
struct Label {
  std::uint32_t frame = 0, iteration = 0;
};
inline std::string to_text(Label label) { return {reinterpret_cast<const char*>(&label), sizeof label}; }
inline Label to_label(const void* at, std::size_t size) {
  Label label;
  if (size != sizeof label) give_up("a frame with another label");
  std::memcpy(&label, at, sizeof label);
  if (label.frame >= kFrames) give_up("a frame with another number");
  return label;
}

// A client's ends of the two pipes to the one that measures.
class Gate {
 public:
  explicit Gate(int fd) : fd_(fd) {}
  // The warm-up is over: waits until all others are as far.
  void pass() const {
    char byte = 'r';
    if (write(fd_, &byte, 1) != 1 || read(fd_, &byte, 1) != 1) _exit(1);
  }
  void done() const {
    const char byte = 'd';
    if (write(fd_, &byte, 1) != 1) _exit(1);
  }

 private:
  int fd_;
};

struct Engine {
  std::string name;
  std::function<void(const std::string& address)> server;  // until it is killed
  std::function<void(const std::string& address, const Gate&)> client;
  std::string address;
};

struct Measured {
  double gigabytes_a_second = 0;
  double cpu_seconds_a_gigabyte = 0;  // of all processes
};

namespace detail {

inline double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

inline double cpu_of(pid_t process) {
  clockid_t clock{};
  return clock_getcpuclockid(process, &clock) == 0 ? seconds(clock) : 0;
}

inline pid_t start(const std::function<void()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(kPatience);
  work();
  _exit(0);
}

inline void await(const std::vector<int>& gates, char expected) {
  for (const int gate : gates) {
    char byte = 0;
    if (read(gate, &byte, 1) != 1 || byte != expected) give_up("a process ended early");
  }
}

}  // namespace detail

// One server and its clients, from the end of the warm-up to the last frame.
inline Measured measure(const Engine& engine) {
  using namespace detail;
  std::vector<pid_t> processes{start([&] { engine.server(engine.address); })};
  std::vector<int> gates;
  for (std::size_t i = 0; i < kClients; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) give_up("no sockets");
    processes.push_back(start([&] {
      for (const int gate : gates) close(gate);
      close(pair[0]);
      engine.client(engine.address, Gate(pair[1]));
    }));
    close(pair[1]);
    gates.push_back(pair[0]);
  }
  await(gates, 'r');
  const auto cpu = [&] {
    double sum = 0;
    for (const pid_t process : processes) sum += cpu_of(process);
    return sum;
  };
  const double cpu_before = cpu(), before = seconds(CLOCK_MONOTONIC);
  for (const int gate : gates)
    if (write(gate, "g", 1) != 1) give_up("a process ended early");
  await(gates, 'd');
  const double took = seconds(CLOCK_MONOTONIC) - before, cpu_took = cpu() - cpu_before;
  for (const int gate : gates) close(gate);
  for (auto it = processes.rbegin(); it != processes.rend(); ++it) kill(*it, SIGKILL);  // the server last
  for (const pid_t process : processes) waitpid(process, nullptr, 0);
  const double gigabytes = 2e-9 * kClients * kFrames * kFrame * kIterations;  // pushed and pulled
  return {gigabytes / took, cpu_took / gigabytes};
}

}  // namespace yoke::transport::bench
