// Sequences of frames against a live server, several connections at once: right and wrong, in order and out of it,
// whole and cut, with the secret and without. After each sequence a good client asks how it goes, and must be answered.
//
//   sequence_fuzz [--seconds N] [--seed N] [--sequence I]
//
// Each sequence has a server of its own, and what is done in it depends on nothing but the seed, its number and what
// the server answers: what went wrong is run again, alone, with --sequence. Best built with sanitizers.
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "cluster/house.h"
#include "cluster/identity.h"
#include "cluster/watch.h"
#include "fuzz_peer.h"
#include "security/certificates.h"

namespace yoke::hostile {
namespace {

using std::chrono::seconds;
using transport::Loop;

constexpr auto kPatience = seconds(30);

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "sequence_fuzz: {}\n", why);
  std::fflush(stderr);
  _exit(1);
}

template <class Value>
Value need(Result<Value> result) {
  if (!result) give_up(result.error().message);
  return std::move(*result);
}

// A server in a thread of its own.
class LiveServer {
 public:
  LiveServer(const std::string& address, const security::Credentials& credentials, unsigned workers) {
    cluster::HouseOptions options;
    options.listen = address;
    options.workers = workers;
    options.credentials = credentials;
    options.ended = [this](const Status&) {
      ended_ = true;
      loop_->stop();
    };
    server_ = need(cluster::House::open(*loop_, std::move(options)));
    address_ = server_->address();
    thread_ = std::thread([this] {
      loop_->run();
      // All of it goes, and its connections too, so that nobody waits for a server that has ended.
      const std::lock_guard lock(mutex_);
      server_.reset();
      loop_.reset();
    });
  }
  ~LiveServer() {
    {
      const std::lock_guard lock(mutex_);
      if (loop_) loop_->post([loop = loop_.get()] { loop->stop(); });
    }
    thread_.join();
  }
  const std::string& address() const { return address_; }
  bool ended() const { return ended_; }  // its job did, in whatever way

 private:
  std::mutex mutex_;  // of the loop's end
  std::unique_ptr<Loop> loop_ = std::make_unique<Loop>();
  std::unique_ptr<cluster::House> server_;
  std::string address_;
  std::atomic<bool> ended_{false};
  std::thread thread_;
};

// What all sequences share.
struct Surroundings {
  std::string folder;
  security::Secret::Ptr secret = need(security::Secret::make()), wrong = need(security::Secret::make());
  security::Tls::Ptr tls, of_another;

  Surroundings() {
    folder = (std::filesystem::temp_directory_path() / "yoke-fuzz-XXXXXX").string();
    if (!mkdtemp(folder.data())) give_up("no folder for the sockets");
    tls = new_tls();
    of_another = new_tls();
  }
  ~Surroundings() { std::filesystem::remove_all(folder); }
  static security::Tls::Ptr new_tls() {
    const auto authority = need(security::new_authority("fuzz", 1));
    const auto own = need(security::issue(authority, {.names = {"127.0.0.1"}, .days = 1}));
    return need(security::Tls::from_pem(authority.certificate, own.certificate, own.key, "the fuzzer"));
  }
};

struct Tally {
  std::uint64_t sequences = 0, connections = 0, frames = 0, applied = 0, ended = 0;
};

// A good client is answered, or the job has come to its end as a peer with the secret may bring it about.
void check_alive(const LiveServer& server, const security::Credentials& credentials) {
  if (server.ended()) return;
  const auto told = cluster::ask_account(server.address(), "", credentials, kPatience);
  if (told) return;
  const auto give_up_at = Loop::now() + kPatience;
  while (!server.ended()) {  // the farewell of a job takes a moment
    if (Loop::now() > give_up_at) give_up("the server does not answer a good client: " + told.error().message);
    std::this_thread::yield();
  }
}

void run_sequence(const Surroundings& around, std::uint64_t seed, std::uint64_t number, Tally& tally) {
  Random random(seed * 0x9e3779b97f4a7c15u + number);
  const auto way = random.below(4);
  const std::string address = way < 2    ? "tcp:127.0.0.1:0"
                              : way == 2 ? "unix:" + around.folder + "/u"
                                         : "shm:" + around.folder + "/s";
  security::Credentials right;
  if (!random.one_in(4)) right.secret = around.secret;
  if (way < 2 && random.one_in(2)) right.tls = around.tls;
  const LiveServer server(address, right, static_cast<unsigned>(random.below(2)));
  const auto at = need(transport::parse_address(server.address()));

  const Job job{random.one_in(3) ? Strategy::async : Strategy::sync, static_cast<std::uint32_t>(1 + random.below(3)),
                random.one_in(2) ? 0 : 1 + random.below(1000)};
  std::vector<FuzzPeer> peers;
  for (auto count = random.below(kMostPeers) + 1; count > 0; --count) {
    auto credentials = right;
    const bool chief = peers.empty() && !random.one_in(6);
    if (!chief && random.one_in(6)) credentials.secret = around.wrong;
    if (!chief && random.one_in(10)) credentials.secret = nullptr;
    if (!chief && credentials.tls && random.one_in(8)) credentials.tls = around.of_another;
    const auto role = chief || !random.one_in(5) ? wire::Role::replica
                      : random.one_in(2)         ? wire::Role::watcher
                                                 : wire::Role::server;
    const auto id = !chief && random.one_in(10) ? random.any() : peers.size();
    auto identity = cluster::this_process(role, static_cast<std::uint32_t>(id));
    identity.numbered = chief || !random.one_in(4);
    identity.shards = random.one_in(3) ? 2 : 0;
    identity.incarnation = 1 + random.below(3);
    peers.emplace_back(random, at, std::move(credentials), std::move(identity), job);
  }
  const auto connections = [&] {
    std::uint64_t sum = 0;
    for (const auto& peer : peers) sum += peer.dialled();
    return sum;
  };
  // A source that fails too often is shut out, and the good client comes from the same: fewer than that. Those who have
  // got in do more than those who try to.
  for (auto acts = 10 + random.below(500); acts > 0 && !server.ended() && connections() < 100; --acts) {
    auto& peer = peers[random.below(peers.size())];
    if (peer.known() || random.one_in(8)) peer.act();
  }
  check_alive(server, right);
  ++tally.sequences;
  tally.connections += connections();
  tally.ended += server.ended();
  for (const auto& peer : peers) {
    tally.frames += peer.frames();
    tally.applied += peer.applied();
  }
}

std::size_t descriptors() {
  std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

struct Flags {
  std::uint64_t seconds = 10, seed = 1;
  std::optional<std::uint64_t> sequence;
};

int run(const Flags& flags, std::atomic<std::uint64_t>& current) {
  const Surroundings around;
  Tally tally;
  if (flags.sequence) {
    run_sequence(around, flags.seed, *flags.sequence, tally);
    return 0;
  }
  const auto end = Loop::now() + seconds(flags.seconds);
  std::size_t open = 0;
  for (std::uint64_t number = 0; number == 0 || Loop::now() < end; ++number) {
    current = number;
    run_sequence(around, flags.seed, number, tally);
    if (number == 20) open = descriptors();
    if (number > 20 && descriptors() > open)
      give_up(fmt::format("{} descriptors are open, {} were", descriptors(), open));
  }
  fmt::print(
      "seed {}: {} sequences, {} connections, {} frames, {} gradients applied; {} jobs came to an end, every other "
      "server answered\n",
      flags.seed, tally.sequences, tally.connections, tally.frames, tally.applied, tally.ended);
  return 0;
}

bool read_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// The fuzzer itself runs in a child, so that whatever ends it, somebody is left to say which sequence it was.
int watched(const Flags& flags) {
  auto* page =
      mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) give_up("no memory");
  auto& current = *new (page) std::atomic<std::uint64_t>(flags.sequence.value_or(0));
  const auto child = fork();
  if (child == 0) {
    const int status = run(flags, current);
    std::fflush(nullptr);
    exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
  fmt::print(stderr, "sequence_fuzz: {} {} in sequence {}; to see it again: sequence_fuzz --seed {} --sequence {}\n",
             WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
             current.load(), flags.seed, current.load());
  return 1;
}

}  // namespace
}  // namespace yoke::hostile

int main(int argc, char** argv) {
  yoke::hostile::Flags flags;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    std::uint64_t number = 0;
    const bool good = i + 1 < argc && yoke::hostile::read_number(argv[i + 1], number);
    if (good && name == "--seconds")
      flags.seconds = number;
    else if (good && name == "--seed")
      flags.seed = number;
    else if (good && name == "--sequence")
      flags.sequence = number;
    else
      return fmt::print(stderr, "usage: sequence_fuzz [--seconds N] [--seed N] [--sequence I]\n"), 2;
  }
  return yoke::hostile::watched(flags);
}
