#include "cluster/etcd_store.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "cluster/storing.h"
#include "transport/endpoint.h"

namespace yoke::cluster::storing {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A port of the loopback that somebody listens on, or that was free a moment ago.
class Port {
 public:
  Port() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at_;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at_), size), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&at_), &size), 0);
  }
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  int fd() const { return fd_; }
  std::string number() const { return std::to_string(ntohs(at_.sin_port)); }
  std::string address() const { return "127.0.0.1:" + number(); }
  void listen() { EXPECT_EQ(::listen(fd_, 16), 0); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
  sockaddr_in at_{};
};

transport::Address address_of(const std::string& text) { return transport::parse_address(text).or_throw(); }

StorePtr open_store(const std::vector<std::string>& endpoints, EtcdPatience patience = {}) {
  std::vector<transport::Address> addresses;
  for (const auto& endpoint : endpoints) addresses.push_back(address_of(endpoint));
  return open_etcd_store(addresses, "job", patience).or_throw();
}

// Answers whoever comes, as `answer` makes of the question; "" closes without a word.
class FakeMember {
 public:
  using Reply = std::function<std::string(const std::string& question)>;
  explicit FakeMember(Reply answer) : answer_(std::move(answer)) {
    port_.listen();
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  ~FakeMember() { thread_.request_stop(); }
  std::string address() const { return port_.address(); }

 private:
  void serve(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      pollfd waiting{port_.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 20) <= 0) continue;
      const int fd = ::accept4(port_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      const auto reply = answer_(question(fd));
      ::send(fd, reply.data(), reply.size(), MSG_NOSIGNAL);
      ::close(fd);
    }
  }
  static std::string question(int fd) {
    std::string text;
    char piece[4096];
    for (std::size_t whole = 0; whole == 0 || text.size() < whole;) {
      const auto got = ::recv(fd, piece, sizeof piece, 0);
      if (got <= 0) return text;
      text.append(piece, static_cast<std::size_t>(got));
      const auto end = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
      if (end != text.npos && length != text.npos) whole = end + 4 + std::stoul(text.substr(length + 16));
    }
    return text;
  }

  Port port_;
  const Reply answer_;
  std::jthread thread_;
};

// What a member answers to a question, word for word.
std::string ask_member(const std::string& address, const std::string& question) {
  const auto to = address_of(address);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(to.port)));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0 &&
      ::send(fd, question.data(), question.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(question.size())) {
    char piece[4096];
    for (ssize_t got = 0; (got = ::recv(fd, piece, sizeof piece, 0)) > 0;)
      answer.append(piece, static_cast<std::size_t>(got));
  }
  ::close(fd);
  return answer;
}

std::string http(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

constexpr auto kGood = R"({"header":{"revision":"7"},"kvs":[{"mod_revision":"5","value":"eW9rZS12aWV3IDEgYSAwCmhp"}]})";

TEST(EtcdAnswers, come_in_any_form_of_http) {
  const std::string good = kGood;
  std::ostringstream pieces;
  pieces << std::hex << 10 << "\r\n"
         << good.substr(0, 10) << "\r\n"
         << good.size() - 10 << ";x=y\r\n"
         << good.substr(10);
  for (const auto& answer : {
           http("200 OK", good),
           "HTTP/1.0 200 OK\r\n\r\n" + good,
           "HTTP/1.1 200\r\ncontent-length:" + std::to_string(good.size()) + "  \r\n\r\n" + good,
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces.str() + "\r\n0\r\n\r\n",
       }) {
    const FakeMember member([&](const std::string&) { return answer; });
    expect_stored(*open_store({member.address()}), "hi", 5);
  }
}

TEST(EtcdAnswers, are_not_believed) {
  const auto of_kv = [](const std::string& kv) {
    return http("200 OK", R"({"header":{"revision":"7"},"kvs":)" + kv + "}");
  };
  const std::string good = kGood;
  for (const auto& answer :
       std::vector<std::string>{"hello",
                                "HTTP/1.1",
                                "HTTP/1.1 200 OK\r\n",
                                "HTTP/1.1 2x0 OK\r\n\r\n",
                                "HTTP/1.1 \r\n\r\n\r\n",
                                "HTTP/1.1 200 " + std::string(1'000'000, 'a') + "\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nA: " + std::string(1'000'000, 'a') + "\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + good,
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n" + good,
                                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}",
                                http("200 OK", ""),
                                http("200 OK", "{}"),
                                http("200 OK", "[]"),
                                http("200 OK", "7"),
                                http("200 OK", good.substr(0, good.size() - 1)),
                                http("200 OK", good + "x"),
                                http("200 OK", std::string(1'000'000, '[')),
                                http("200 OK", std::string(1'000'000, '[') + std::string(1'000'000, ']')),
                                http("200 OK", R"({"header":{"revision":7.5}})"),
                                http("200 OK", R"({"header":{"revision":"-7"}})"),
                                http("200 OK", R"({"header":{"revision":"99999999999999999999"}})"),
                                http("200 OK", "\xff\xfe"),
                                http("200 OK", std::string(17u << 20, ' ')),
                                of_kv("{}"),
                                of_kv("7"),
                                of_kv("[7]"),
                                of_kv("[{},{}]"),
                                of_kv("[{}]"),
                                of_kv(R"([{"mod_revision":"0","value":"eA=="}])"),
                                of_kv(R"([{"mod_revision":"5"}])"),
                                of_kv(R"([{"mod_revision":"5","value":7}])"),
                                of_kv(R"([{"mod_revision":"5","value":"eA="}])"),
                                of_kv(R"([{"mod_revision":"5","value":" eA=="}])"),
                                of_kv(R"([{"mod_revision":"5","value":"=="}])"),
                                of_kv(R"([{"mod_revision":"5","value":"eA==eA=="}])"),
                                of_kv(R"([{"mod_revision":"5","value":"eA=="}])")}) {
    const FakeMember member([&](const std::string&) { return answer; });
    const auto store = open_store({member.address()}, {seconds(5), seconds(5)});
    const auto loaded = store->load();
    ASSERT_FALSE(loaded) << answer.substr(0, 200);
    EXPECT_EQ(loaded.error().code, Code::corrupt) << answer.substr(0, 200) << ": " << loaded.error().message;
    EXPECT_FALSE(store->save("view", 0)) << answer.substr(0, 200);
  }
}

TEST(EtcdAnswers, that_are_refusals_are_told_in_its_words) {
  const FakeMember large([](const std::string&) {
    return http("400 Bad Request", R"({"error":"etcdserver: request is too large","code":3})");
  });
  expect_error(open_store({large.address()})->save("view", 0), Code::unsupported,
               {large.address(), "request is too large"});
  std::atomic<int> asked = 0;
  const FakeMember electing([&](const std::string&) {
    ++asked;
    return http("503 Service Unavailable", R"({"error":"etcdserver: no leader","code":14})");
  });
  expect_error(open_store({electing.address()}, {seconds(1), milliseconds(300)})->load(), Code::timed_out,
               {electing.address(), "no leader"});
  EXPECT_GT(asked, 1) << "there may be one in a moment";
}

TEST(EtcdAnswers, are_not_waited_for_for_ever) {
  Port nobody, silent;
  silent.listen();
  const auto before = Clock::now();
  expect_error(open_store({nobody.address(), silent.address()}, {milliseconds(200), milliseconds(500)})->save("", 0),
               Code::peer_down, {nobody.address(), "refused", silent.address(), "does not answer", "members"});
  EXPECT_LT(Clock::now() - before, seconds(5));
  expect_error(open_store({nobody.address()})->load(), Code::peer_down, {nobody.address()});
  expect_error(open_store({silent.address()}, {milliseconds(50), milliseconds(0)})->load(), Code::timed_out,
               {silent.address()});
}

std::string find_etcd() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const auto program = folder + "/etcd"; ::access(program.c_str(), X_OK) == 0) return program;
  return "";
}

// Three members on the loopback, whose data outlive them.
class Etcd : public testing::Test {
 protected:
  static constexpr std::size_t kMembers = 3;
  struct Member {
    Port clients, peers;
    pid_t pid = -1;
  };

  void SetUp() override {
    program_ = find_etcd();
    ASSERT_FALSE(program_.empty()) << "there is no etcd on the PATH (packages.txt has etcd-server)";
    for (std::size_t i = 0; i < kMembers; ++i) {
      const auto& member = members_[i];
      cluster_ += (i == 0 ? "" : ",") + name(i) + "=http://" + member.peers.address();
    }
    for (auto& member : members_) {
      member.clients.close();
      member.peers.close();
    }
    for (std::size_t i = 0; i < kMembers; ++i) start(i);
    ASSERT_TRUE(comes_up()) << "etcd does not come up: " << words_of_members();
  }
  void TearDown() override {
    for (std::size_t i = 0; i < kMembers; ++i) kill(i);
  }

  void start(std::size_t i) {
    auto& member = members_[i];
    const auto clients = "http://" + member.clients.address(), peers = "http://" + member.peers.address();
    const std::vector<std::string> words{program_,
                                         "--name",
                                         name(i),
                                         "--data-dir",
                                         folder_.file(name(i)),
                                         "--listen-client-urls",
                                         clients,
                                         "--advertise-client-urls",
                                         clients,
                                         "--listen-peer-urls",
                                         peers,
                                         "--initial-advertise-peer-urls",
                                         peers,
                                         "--initial-cluster",
                                         cluster_,
                                         "--initial-cluster-token",
                                         folder_.path(),
                                         "--heartbeat-interval",
                                         "50",
                                         "--election-timeout",
                                         "500",
                                         "--logger",
                                         "zap",
                                         "--log-level",
                                         "error"};
    std::vector<char*> argv;
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const auto log = folder_.file(name(i) + ".log");
    const auto parent = ::getpid();
    member.pid = ::fork();
    ASSERT_GE(member.pid, 0);
    if (member.pid != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(out, 1);
    ::dup2(out, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  void kill(std::size_t i) {
    auto& member = members_[i];
    if (member.pid < 0) return;
    ::kill(member.pid, SIGKILL);
    ::waitpid(member.pid, nullptr, 0);
    member.pid = -1;
  }
  bool comes_up() {
    // Dialling waits until somebody listens, asking until there is a leader.
    for (std::size_t i = 0; i < kMembers; ++i) {
      const auto fd = transport::dial(address_of(endpoint(i)), {.insecure = true}, seconds(60));
      if (!fd) return false;
      ::close(*fd);
      if (!open_store({endpoint(i)}, {seconds(60), seconds(60)})->load()) return false;
    }
    return true;
  }

  static std::string name(std::size_t i) { return "m" + std::to_string(i); }
  std::string endpoint(std::size_t i) const { return members_[i].clients.address(); }
  std::string where() const { return "etcd://" + endpoint(0) + "," + endpoint(1) + "," + endpoint(2) + "/job"; }
  StorePtr open() { return open_view_store(where()).or_throw(); }
  std::string words_of_members() const {
    std::string words;
    for (std::size_t i = 0; i < kMembers; ++i) {
      std::ifstream in(folder_.file(name(i) + ".log"));
      words += name(i) + ": " + std::string(std::istreambuf_iterator<char>(in), {});
    }
    return words;
  }

  ScratchFolder folder_;
  std::string program_, cluster_;
  Member members_[kMembers];
};

TEST_F(Etcd, one_of_two_coordinators_rules) {
  const auto one = open(), other = open();
  expect_stored(*one, "", 0);
  const auto first = save(*one, std::string("a\0view", 6), 0);
  EXPECT_GT(first, 0u);
  expect_stored(*other, std::string("a\0view", 6), first);
  expect_error(other->save("other", 0), Code::refused, {"/yoke/job/view", "another coordinator"});
  // Not even where it would have stored the same.
  expect_error(other->save(std::string("a\0view", 6), 0), Code::refused, {"/yoke/job/view"});
  const auto second = save(*other, "", first);
  EXPECT_GT(second, first);
  expect_error(one->save("late", first), Code::refused, {"/yoke/job/view"});
  expect_stored(*one, "", second);
  expect_error(other->save("from before", first), Code::refused, {"/yoke/job/view"});
  expect_error(one->save(std::string(kMaxViewBytes + 1, 'x'), second), Code::invalid_argument, {});

  const auto elsewhere = open_view_store("etcd://" + endpoint(2) + "/another").or_throw();
  expect_stored(*elsewhere, "", 0);
  const std::string large(1'000'000, 'x');
  const auto third = save(*elsewhere, large, 0);
  expect_stored(*elsewhere, large, third);
  // More than etcd takes unless it is told to.
  expect_error(elsewhere->save(std::string(2'000'000, 'x'), third), Code::unsupported, {"too large"});
  expect_stored(*elsewhere, large, third);
}

TEST_F(Etcd, a_save_whose_answer_is_lost_is_known_again) {
  std::atomic<bool> mute = true;
  const FakeMember relay([&](const std::string& question) {
    const auto answer = ask_member(endpoint(0), question);
    return mute ? "" : answer;
  });
  // Done at the first member, which is not heard, and asked of the second once more.
  const auto store = open_store({relay.address(), endpoint(1)});
  const auto first = save(*store, "view", 0);
  expect_stored(*open(), "view", first);

  // Done, and the caller hears that nobody knows. It may ask, or just go on from where it was.
  const auto unlucky = open_store({relay.address()}, {seconds(1), milliseconds(1)}), other = open();
  expect_error(unlucky->save("unheard", first), Code::timed_out, {relay.address()});
  expect_error(unlucky->save("unheard too", first), Code::timed_out, {relay.address()});
  mute = false;
  EXPECT_EQ(unlucky->load()->bytes, "unheard");
  expect_error(other->save("other", first), Code::refused, {});
  const auto second = save(*unlucky, "heard", first);
  expect_stored(*other, "heard", second);
  expect_error(unlucky->save("twice", first), Code::refused, {});

  mute = true;
  expect_error(unlucky->save("unheard", second), Code::timed_out, {relay.address()});
  mute = false;
  const auto third = save(*other, "other", other->load()->revision);
  expect_error(unlucky->save("heard", second), Code::refused, {});
  expect_stored(*unlucky, "other", third);
}

TEST_F(Etcd, one_member_of_three_may_be_lost) {
  const auto store = open();
  auto revision = save(*store, "view", 0);
  for (std::size_t i = 0; i < kMembers; ++i) {  // and so the leader, once
    kill(i);
    expect_stored(*store, i == 0 ? "view" : "without " + name(i - 1), revision);
    revision = save(*store, "without " + name(i), revision);
    expect_stored(*open(), "without " + name(i), revision);
    start(i);
    ASSERT_TRUE(comes_up()) << words_of_members();
  }
  ::kill(members_[0].pid, SIGSTOP);  // one that hangs, too
  expect_stored(*open(), "without m2", revision);
}

TEST_F(Etcd, a_member_that_did_not_answer_is_asked_once) {
  std::atomic<int> asked = 0;
  const FakeMember lost([&](const std::string&) {
    ++asked;
    return "";
  });
  const auto store = open_store({lost.address(), endpoint(1)});
  expect_stored(*store, "", 0);
  expect_stored(*store, "", 0);
  const auto revision = save(*store, "view", 0);
  expect_stored(*store, "view", revision);
  EXPECT_EQ(asked, 1);
}

TEST_F(Etcd, outlives_all_members_and_needs_most_of_them) {
  const auto store = open();
  const auto revision = save(*store, "view", 0);
  kill(0);
  kill(1);
  const auto before = Clock::now();
  expect_error(store->save("next", revision), Code::peer_down, {endpoint(0), endpoint(1), endpoint(2), "members"});
  EXPECT_LT(Clock::now() - before, seconds(10));
  expect_error(open_store({endpoint(2)}, {seconds(1), seconds(1)})->load(), Code::timed_out, {endpoint(2)});
  kill(2);
  const auto nobody = Clock::now();
  expect_error(store->load(), Code::peer_down, {endpoint(0), endpoint(1), endpoint(2)});
  EXPECT_LT(Clock::now() - nobody, seconds(3));
  for (std::size_t i = 0; i < kMembers; ++i) start(i);
  ASSERT_TRUE(comes_up()) << words_of_members();
  // What it was asked last may have come through.
  const auto stored = store->load();
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_TRUE(stored->bytes == "view" || stored->bytes == "next");
  expect_stored(*open(), "last", save(*store, "last", revision));
}

}  // namespace
}  // namespace yoke::cluster::storing
