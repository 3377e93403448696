// For tests: both ends of a connection over any of the ways, each with a loop in a thread of its own, and everything
// that they hear written down. Waits have a deadline and no test sleeps.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/scratch_folder.h"
#include "security/certificates.h"
#include "transport/endpoint.h"
#include "transport/inproc.h"

namespace yoke::transport {

inline constexpr auto kPatience = std::chrono::seconds(30);

enum class Way { inproc, shm, unix_socket, tcp, tls };

inline std::string name_of(Way way) {
  static const char* const names[] = {"inproc", "shm", "unix", "tcp", "tls"};
  return names[static_cast<int>(way)];
}

inline std::string case_name(const ::testing::TestParamInfo<Way>& one) { return name_of(one.param); }

// The two certificates of a test: both of one authority, for the loopback.
inline security::Tls::Ptr test_tls() {
  static const auto made = [] {
    const auto ca = security::new_authority("test", 1).or_throw();
    const auto own = security::issue(ca, {{"127.0.0.1", "localhost"}, true, 1}).or_throw();
    return security::Tls::from_pem(ca.certificate, own.certificate, own.key, "test").or_throw();
  }();
  return made;
}

// What both ends need for this way.
inline Settings settings_for(Way way, Settings settings = {}) {
  if (way == Way::tls) {
    static const auto secret = security::Secret::make().or_throw();
    settings.credentials.tls = test_tls();
    settings.credentials.secret = secret;
  }
  return settings;
}

// Bytes that a seed gives; both ends of a test know them.
inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes((size + 7) / 8 * 8);
  for (std::size_t i = 0; i < bytes.size() / 8; ++i) {
    const auto word = mix(seed, i);
    std::memcpy(bytes.data() + 8 * i, &word, 8);
  }
  bytes.resize(size);
  return bytes;
}

// The same bytes as a payload: in the arena (where there is one), or anywhere.
inline Bytes payload_of(const std::vector<std::byte>& bytes, Arena* arena) {
  if (arena) {
    auto memory = arena->allocate(bytes.size());
    std::memcpy(memory.get(), bytes.data(), bytes.size());
    return {{memory.get(), bytes.size()}, memory};
  }
  auto memory = std::make_shared<std::vector<std::byte>>(bytes);
  return {*memory, memory};
}

struct Received {
  std::string control;
  std::vector<std::byte> payload;
  std::uint64_t incarnation = 0;
};

struct Ended {
  const Connection* connection = nullptr;
  Failure failure;
};

struct Heard {
  std::vector<std::pair<const Connection*, std::string>> introductions;
  std::vector<Received> messages;
  std::vector<Incoming> lost;
  std::vector<Ended> downs;
  std::vector<std::vector<bool>> sends;  // each one's completions, and what they said
  std::size_t completed = 0;
  std::vector<Bytes> held;
  std::size_t held_bytes = 0, most_held = 0;
  std::set<const void*> places;   // where payloads lay
  std::vector<std::string> said;  // who was refused before he was known
  std::size_t after_the_end = 0;  // things heard of a connection that was down
};

class End : public Handler {
 public:
  enum class Take { borrow, into, hold, refuse, wrong_size };

  explicit End(const std::string& name, Settings with = {}) : settings(std::move(with)), thread_("end") {
    settings.introduction = name;
    settings.arena = Arena::make();
    settings.say = [this](const std::string& text) {
      write_down(nullptr, [&](Heard& heard) { heard.said.push_back(text); });
    };
  }
  ~End() override {
    run([&] { listener_.reset(); });
    let_go();
  }

  Settings settings;
  std::atomic<Take> take = Take::borrow;
  std::function<void(Connection&)> during_up, during_announcement, during_message;  // set before anything is connected

  Loop& loop() { return thread_.loop(); }

  // In the loop's thread; returns when it is done.
  template <class Call>
  void run(Call call) {
    std::promise<void> done;
    loop().post([&] {
      call();
      done.set_value();
    });
    done.get_future().wait();
  }

  // Sends, and gives the number of the send in `Heard::sends`.
  std::size_t send(const ConnectionPtr& connection, std::string control, Bytes payload = {}) {
    std::size_t number = 0;
    run([&] { number = send_here(*connection, std::move(control), std::move(payload)); });
    return number;
  }
  std::size_t send_here(Connection& connection, std::string control, Bytes payload = {}) {
    std::size_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      number = heard_.sends.size();
      heard_.sends.emplace_back();
    }
    connection.send(std::move(control), std::move(payload), [this, number](bool ok) {
      write_down(nullptr, [&](Heard& heard) {
        heard.sends[number].push_back(ok);
        ++heard.completed;
      });
    });
    return number;
  }

  // True when what is asked for has been heard; false after a long time.
  template <class Condition>
  bool wait(Condition condition) {
    std::unique_lock lock(mutex_);
    const bool met = changed_.wait_for(lock, kPatience, [&] { return condition(std::as_const(heard_)); });
    if (!met)
      for (const auto& ended : heard_.downs) ADD_FAILURE() << "it is down: " << ended.failure.text;
    return met;
  }
  Heard heard() {
    const std::lock_guard lock(mutex_);
    auto copy = heard_;
    copy.held.clear();
    return copy;
  }

  // Lets go of payloads that are held, from this thread.
  void let_go(std::size_t count = ~std::size_t{0}) {
    std::vector<Bytes> gone;
    const std::lock_guard lock(mutex_);
    for (; count > 0 && !heard_.held.empty(); --count) {
      heard_.held_bytes -= heard_.held.front().bytes.size();
      gone.push_back(std::move(heard_.held.front()));
      heard_.held.erase(heard_.held.begin());
    }
  }
  std::vector<Bytes> take_held() {
    const std::lock_guard lock(mutex_);
    return std::exchange(heard_.held, {});
  }

  Address listen(const Address& address) {
    run([&] {
      auto opened = Listener::open(loop(), address, settings, *this);
      ASSERT_TRUE(opened) << opened.error().message;
      listener_ = std::move(*opened);
    });
    return listener_ ? listener_->address() : Address{};
  }
  ConnectionPtr connect(const Address& address) {
    const auto fd = dial(address, settings.credentials, kPatience);
    EXPECT_TRUE(fd) << (fd ? "" : fd.error().message);
    ConnectionPtr made;
    if (fd) run([&] { made = adopt(loop(), *fd, address, settings, *this); });
    return made;
  }
  // The connection whose other side introduced itself so; waits for it.
  ConnectionPtr connection_to(const std::string& introduction) {
    ConnectionPtr found;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] {
      for (const auto& connection : connections_)
        if (connection->peer() == introduction) found = connection;
      return found != nullptr;
    });
    EXPECT_TRUE(found) << "nobody called " << introduction;
    return found;
  }

  void on_up(Connection& connection, const std::string& introduction) override {
    connection.call_peer(introduction);
    write_down(&connection, [&](Heard& heard) {
      heard.introductions.emplace_back(&connection, introduction);
      connections_.push_back(connection.shared_from_this());
    });
    if (during_up) during_up(connection);
  }
  Result<Sink> on_announced(Connection& connection, const Incoming& message) override {
    write_down(&connection, [](Heard&) {});
    if (during_announcement) during_announcement(connection);
    if (take == Take::refuse) return Error{Code::refused, "not this one"};
    if (take == Take::borrow || take == Take::hold) return Sink{};
    memory_.resize(message.payload + (take == Take::wrong_size ? 1 : 0));
    return Sink{memory_};
  }
  void on_message(Connection& connection, Incoming message, Bytes payload) override {
    EXPECT_EQ(message.payload, payload.bytes.size());
    if (take == Take::into && message.payload > 0) {
      EXPECT_EQ(static_cast<const void*>(payload.bytes.data()), memory_.data());
    }
    write_down(&connection, [&](Heard& heard) {
      heard.messages.push_back(
          {std::move(message.control), {payload.bytes.begin(), payload.bytes.end()}, message.incarnation});
      heard.places.insert(payload.bytes.data());
      if (take == Take::hold && payload.keep) {
        heard.held_bytes += payload.bytes.size();
        heard.most_held = std::max(heard.most_held, heard.held_bytes);
        heard.held.push_back(std::move(payload));
      }
    });
    if (during_message) during_message(connection);
  }
  void on_lost(Connection& connection, const Incoming& message) override {
    write_down(&connection, [&](Heard& heard) { heard.lost.push_back(message); });
  }
  void on_down(Connection& connection, const Failure& failure) override {
    write_down(&connection, [&](Heard& heard) {
      heard.downs.push_back({&connection, failure});
      // Held until the test ends, so that no other connection gets its address.
      connections_.push_back(connection.shared_from_this());
    });
  }

 private:
  template <class Write>
  void write_down(const Connection* connection, Write write) {
    const std::lock_guard lock(mutex_);
    for (const auto& ended : heard_.downs)
      if (connection && ended.connection == connection) ++heard_.after_the_end;
    write(heard_);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  Heard heard_;
  std::vector<std::byte> memory_;
  std::vector<ConnectionPtr> connections_;
  std::unique_ptr<Listener> listener_;
  LoopThread thread_;  // ends first
};

// A folder for socket files, which goes with the test.
class Folder : public ScratchFolder {
 public:
  Address address(Way way, const std::string& name = "s") const {
    if (way == Way::tcp || way == Way::tls) return {Address::Kind::tcp, "127.0.0.1", "0", ""};
    return {way == Way::shm ? Address::Kind::shm : Address::Kind::unix_socket, "", "", file(name)};
  }
};

// Two ends and their connection.
class Pair {
 public:
  explicit Pair(Way way, Settings settings = {}) : Pair(way, settings, settings) {}
  Pair(Way way, Settings first_settings, Settings second_settings)
      : way_(way),
        first("first", settings_for(way, std::move(first_settings))),
        second("second", settings_for(way, std::move(second_settings))) {}

  void connect() {
    if (way_ == Way::inproc) {
      connect_inproc(first.loop(), first.settings, first, second.loop(), second.settings, second);
    } else {
      first.connect(second.listen(folder_.address(way_)));
    }
    to_second = first.connection_to("second");
    to_first = second.connection_to("first");
  }
  // Where payloads of the first end lie when they are to travel as cheaply as they can.
  Arena* arena() { return first.settings.arena.get(); }

 private:
  Way way_;
  Folder folder_;

 public:
  End first, second;
  ConnectionPtr to_second, to_first;
};

}  // namespace yoke::transport
