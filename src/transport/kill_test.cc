// Real processes that are killed in the middle of pushing or being pushed to. Whoever remains hears of it at once, gets
// every pending send back, keeps no descriptor and no mapping, and serves the next.
//
// The test itself has no threads: its loop runs in main, and children are forked between two runs.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>

#include "transport/conformance.h"

namespace yoke::transport {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::size_t kLargest = 256u << 10;
constexpr auto kBound = std::chrono::seconds(2);  // generous: what is measured is printed
constexpr int kKillsAWay = 34;                    // of clients, and as many of servers: 204 in all

// Over shared memory what a dead server may have been reading is held for a while: so little that it fits into what the
// arena has.
std::size_t payload_size(Way way) { return way == Way::shm ? kLargest / 4 : kLargest; }

// Takes payloads in, as a server does, and counts.
class Taker : public Handler {
 public:
  std::size_t messages = 0, downs = 0;
  std::map<const Connection*, ConnectionPtr> up;
  std::function<void()> changed = [] {};
  std::vector<std::string> wrong;

  void on_up(Connection& connection, const std::string& introduction) override {
    connection.call_peer(introduction);
    up[&connection] = connection.shared_from_this();
    changed();
  }
  Result<Sink> on_announced(Connection&, const Incoming&) override { return Sink{}; }
  void on_message(Connection& connection, Incoming message, Bytes payload) override {
    ++messages;
    const auto expected = static_cast<std::byte>(message.control.at(0));
    for (std::size_t i = 0; i < payload.bytes.size(); i += 1024)
      if (payload.bytes[i] != expected) wrong.push_back("a byte of " + connection.peer());
    if (payload.bytes.size() != kLargest && payload.bytes.size() != kLargest / 4)
      wrong.push_back("the size of a payload of " + connection.peer());
    changed();
  }
  void on_down(Connection& connection, const Failure& failure) override {
    ++downs;
    up.erase(&connection);
    if (failure.kind != Down::closed) wrong.push_back(failure.text);
    if (failure.text.find(connection.peer()) == std::string::npos) wrong.push_back("no name in: " + failure.text);
    changed();
  }
};

// Keeps eight payloads under way, for ever.
class Pusher : public Taker {
 public:
  Pusher(std::shared_ptr<Arena> arena, std::size_t size) : arena_(std::move(arena)), size_(size) {}
  std::size_t sent = 0, good = 0, bad = 0;

  void on_up(Connection& connection, const std::string& introduction) override {
    Taker::on_up(connection, introduction);
    for (int i = 0; i < 8; ++i) push(connection);
  }

 private:
  void push(Connection& connection) {
    const auto letter = static_cast<char>('a' + sent++ % 26);
    auto memory = arena_->allocate(size_);
    std::memset(memory.get(), letter, size_);
    connection.send(std::string(1, letter), {{memory.get(), size_}, memory},
                    [this, self = connection.weak_from_this()](bool ok) {
                      ++(ok ? good : bad);
                      if (const auto alive = self.lock(); ok && alive) push(*alive);
                    });
  }
  std::shared_ptr<Arena> arena_;
  std::size_t size_;
};

Settings named(const std::string& name, std::uint64_t incarnation) {
  Settings settings;
  settings.introduction = name;
  settings.incarnation = incarnation;
  settings.arena = Arena::make();
  return settings;
}

// A child that does `work` until it is killed.
pid_t fork_child(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child != 0) return child;
  for (int fd = 3; fd < 256; ++fd) close(fd);  // the parent's
  work();
  _exit(0);
}

void run_client(const Address& address, std::uint64_t incarnation, std::size_t size) {
  Loop loop;
  const auto settings = named("client", incarnation);
  Pusher pusher(settings.arena, size);
  const auto fd = dial(address, {}, kPatience);
  if (!fd) _exit(1);
  adopt(loop, *fd, address, settings, pusher);
  loop.run();
}

void run_server(const Address& address) {
  Loop loop;
  Taker taker;
  const auto listener = Listener::open(loop, address, named("server", 1), taker);
  if (!listener) _exit(1);
  loop.run();
}

void kill_and_reap(pid_t child) {
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Runs the loop until the condition holds, which is looked at whenever the handler hears something.
template <class Condition>
bool run_until(Loop& loop, Taker& taker, Condition condition) {
  if (condition()) return true;
  bool met = false;
  taker.changed = [&] {
    if (!met && condition()) {
      met = true;
      loop.stop();
    }
  };
  const auto timer = loop.after(kPatience, [&] { loop.stop(); });
  loop.run();
  loop.cancel(timer);
  taker.changed = [] {};
  return met;
}

struct Footprint {
  std::ptrdiff_t descriptors = 0, shared = 0, mappings = 0;
};

Footprint footprint() {
  Footprint now;
  std::filesystem::directory_iterator all("/proc/self/fd");
  now.descriptors = std::distance(begin(all), end(all));
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line); ++now.mappings)
    if (line.find("memfd:yoke") != std::string::npos) ++now.shared;
  return now;
}

void expect_same(const Footprint& before, const Footprint& after) {
  EXPECT_EQ(after.descriptors, before.descriptors);
  EXPECT_EQ(after.shared, before.shared);
#ifndef __SANITIZE_ADDRESS__  // its allocator gives nothing back
  EXPECT_LE(after.mappings, before.mappings + 4) << "the allocator may have taken a few of its own";
#endif
}

// From the kill to the handler, one at a time.
class Latencies {
 public:
  explicit Latencies(std::string what) : what_(std::move(what)) {}
  ~Latencies() {
    if (all_.empty()) return;
    std::sort(all_.begin(), all_.end());
    const auto ms = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
    const auto late = std::count_if(all_.begin(), all_.end(), [](Duration time) { return time > milliseconds(10); });
    std::printf(
        "[ MEASURED ] %s: %zu kills, heard of after %.2f ms (median), %.2f ms (worst), %ld of them over 10 ms\n",
        what_.c_str(), all_.size(), ms(all_[all_.size() / 2]), ms(all_.back()), static_cast<long>(late));
  }
  void add(Duration time) {
    all_.push_back(time);
    EXPECT_LT(time, kBound);
  }

 private:
  std::string what_;
  std::vector<Duration> all_;
};

class Kill : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, Kill, ::testing::Values(Way::shm, Way::unix_socket, Way::tcp), case_name);

TEST_P(Kill, AClientThatPushes) {
  Folder folder;
  Loop loop;
  Taker taker;
  const auto opened = Listener::open(loop, folder.address(GetParam()), named("server", 1), taker);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto address = (*opened)->address();
  Latencies latencies("a client over " + name_of(GetParam()));
  Footprint before;
  for (int i = 0; i < kKillsAWay; ++i) {
    if (i == 2) before = footprint();  // the first ones bring what stays: the arena's region, the allocator's pages
    const auto messages = taker.messages, downs = taker.downs;
    const auto child =
        fork_child([&] { run_client(address, static_cast<std::uint64_t>(i) + 1, payload_size(GetParam())); });
    // It works; then a moment of the dice's.
    ASSERT_TRUE(run_until(loop, taker, [&] { return taker.messages >= messages + 3; })) << i;
    Time killed{};
    loop.after(microseconds(mix(0x6b696c6c, static_cast<std::uint64_t>(i)) % 12'000), [&] {
      killed = Loop::now();
      kill(child, SIGKILL);
    });
    ASSERT_TRUE(run_until(loop, taker, [&] { return taker.downs == downs + 1; })) << i;
    latencies.add(Loop::now() - killed);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(taker.up.empty());
    EXPECT_EQ(taker.wrong, std::vector<std::string>{});
  }
  expect_same(before, footprint());
}

TEST_P(Kill, AServerThatIsPushedTo) {
  Folder folder;
  Latencies latencies("a server over " + name_of(GetParam()));
  Loop loop;
  const auto settings = named("client", 7);
  Pusher pusher(settings.arena, payload_size(GetParam()));
  // The arena's region stays; it must be there also when the first servers are killed before anything was pushed.
  for (std::vector<std::shared_ptr<std::byte>> both(16); auto& memory : both)
    memory = settings.arena->allocate(payload_size(GetParam()));
  // Servers come back where they were; a port has to be known to all of them.
  auto address = folder.address(GetParam());
  if (GetParam() == Way::tcp) {
    Taker nobody;
    address = (*Listener::open(loop, address, {}, nobody))->address();
  }
  Footprint before;
  for (int i = 0; i < kKillsAWay; ++i) {
    if (i == 2) before = footprint();
    const auto child = fork_child([&] { run_server(address); });
    for (int c = 0; c < 2; ++c) {
      const auto fd = dial(address, {}, kPatience);
      ASSERT_TRUE(fd) << fd.error().message;
      adopt(loop, *fd, address, settings, pusher);
    }
    const auto good = pusher.good, downs = pusher.downs;
    Time killed{};
    loop.after(microseconds(mix(0x73657276, static_cast<std::uint64_t>(i)) % 12'000 + 500), [&] {
      killed = Loop::now();
      kill(child, SIGKILL);
    });
    ASSERT_TRUE(run_until(loop, pusher, [&] { return pusher.downs == downs + 2; })) << i;
    latencies.add(Loop::now() - killed);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(pusher.up.empty());
    EXPECT_EQ(pusher.sent, pusher.good + pusher.bad) << "every send came back once";
    EXPECT_GE(pusher.good, good);
    EXPECT_EQ(pusher.wrong, std::vector<std::string>{});
  }
  expect_same(before, footprint());
}

// The servers of a job outlive any of its clients, whatever the others do.
TEST_P(Kill, OneOfTwoClients) {
  Folder folder;
  Loop loop;
  Taker taker;
  const auto opened = Listener::open(loop, folder.address(GetParam()), named("server", 1), taker);
  ASSERT_TRUE(opened) << opened.error().message;
  const auto address = (*opened)->address();
  const auto stays = fork_child([&] { run_client(address, 1, payload_size(GetParam())); });
  ASSERT_TRUE(run_until(loop, taker, [&] { return taker.up.size() == 1; }));
  const auto* connection = taker.up.begin()->first;
  for (int i = 0; i < 5; ++i) {
    const auto goes =
        fork_child([&] { run_client(address, static_cast<std::uint64_t>(i) + 2, payload_size(GetParam())); });
    ASSERT_TRUE(run_until(loop, taker, [&] { return taker.up.size() == 2; }));
    loop.after(milliseconds(3), [&] { kill(goes, SIGKILL); });
    ASSERT_TRUE(run_until(loop, taker, [&] { return taker.up.size() == 1; }));
    waitpid(goes, nullptr, 0);
    EXPECT_EQ(taker.up.begin()->first, connection);
    const auto messages = taker.messages;
    ASSERT_TRUE(run_until(loop, taker, [&] { return taker.messages > messages + 10; }));
  }
  kill_and_reap(stays);
  ASSERT_TRUE(run_until(loop, taker, [&] { return taker.up.empty(); }));
  EXPECT_EQ(taker.wrong, std::vector<std::string>{});
}

}  // namespace
}  // namespace yoke::transport
