// Throughput of the ways between processes of one host, beside ZeroMQ's and gRPC's where the build found them. Rounds
// are interleaved, so that a noisy moment of the machine meets all of them; the median of each is shown.
//
// Twice: the server looks at a few words of each push, which is what carrying it costs; and it reads all of it, which
// is the least that anybody does with a gradient. (Over shared memory the first moves no byte of a push at all.)
//
//   transport_bench [ROUNDS] [NAME...]
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "security/certificates.h"
#include "transport/bench_work.h"
#include "transport/endpoint.h"
#ifdef YOKE_GRPC
#include "transport/grpc_peer.h"
#endif
#ifdef YOKE_ZMQ
#include "transport/zmq_peer.h"
#endif

namespace yoke::transport::bench {
namespace {

using std::chrono::seconds;

// One authority and one certificate for whoever uses TLS here: both sides show it, and whoever dials looks for the
// address in it.
struct Certificates {
  std::string authority;
  security::Certificate own;
};
const Certificates& certificates() {
  static const auto made = [] {
    const auto authority = security::new_authority("transport_bench", 1).or_throw();
    return Certificates{authority.certificate,
                        security::issue(authority, {.names = {"127.0.0.1"}, .days = 1}).or_throw()};
  }();
  return made;
}

security::Credentials with_tls() {
  security::Credentials credentials;
  credentials.tls =
      security::Tls::from_pem(certificates().authority, certificates().own.certificate, certificates().own.key, "here")
          .or_throw();
  return credentials;
}

Settings named(const char* name, const security::Credentials& credentials = {}) {
  Settings settings;
  settings.credentials = credentials;
  settings.introduction = name;
  settings.arena = Arena::make();
  return settings;
}

Address read_address(const std::string& text) {
  auto address = parse_address(text);
  if (!address) give_up(address.error().message);
  return *address;
}

class BenchServer : public Handler {
 public:
  explicit BenchServer(Arena& arena) : parameters_(arena.allocate(kFrames * kFrame)) {
    std::memset(parameters_.get(), 1, kFrames * kFrame);
    for (std::uint32_t i = 0; i < kFrames; ++i) mark(parameters_.get() + i * kFrame, word_of(Side::parameter, i, 0));
  }
  void on_up(Connection&, const std::string&) override {}
  Result<Sink> on_announced(Connection&, const Incoming&) override { return Sink{}; }
  void on_message(Connection& connection, Incoming message, Bytes payload) override {
    const auto label = to_label(message.control.data(), message.control.size());
    take_push(payload.bytes, word_of(Side::gradient, label.frame, label.iteration));
    connection.send(std::move(message.control), {{parameters_.get() + label.frame * kFrame, kFrame}, parameters_});
  }
  void on_down(Connection&, const Failure&) override {}

 private:
  std::shared_ptr<std::byte> parameters_;
};

class BenchClient : public Handler {
 public:
  BenchClient(Loop& loop, Arena& arena, const Gate& gate)
      : loop_(loop), gate_(gate), gradients_(arena.allocate(kFrames * kFrame)), parameters_(kFrames * kFrame) {
    std::memset(gradients_.get(), 1, kFrames * kFrame);
  }
  void on_up(Connection& connection, const std::string&) override { push_all(connection); }
  Result<Sink> on_announced(Connection&, const Incoming& message) override {
    return Sink{{parameters_.data() + label_of(message).frame * kFrame, kFrame}};
  }
  void on_message(Connection& connection, Incoming message, Bytes payload) override {
    const auto label = label_of(message);
    if (label.iteration != iteration_) give_up("a frame of another iteration");
    check(payload.bytes, word_of(Side::parameter, label.frame, 0));
    if (++received_ < kFrames) return;
    received_ = 0;
    if (++iteration_ == kWarmUps) gate_.pass();
    if (iteration_ < kWarmUps + kIterations) return push_all(connection);
    gate_.done();
  }
  void on_down(Connection&, const Failure& failure) override { give_up(failure.text); }

 private:
  static Label label_of(const Incoming& message) { return to_label(message.control.data(), message.control.size()); }
  void push_all(Connection& connection) {
    for (std::uint32_t i = 0; i < kFrames; ++i) {
      auto* frame = gradients_.get() + i * kFrame;
      mark(frame, word_of(Side::gradient, i, iteration_));
      connection.send(to_text({i, iteration_}), {{frame, kFrame}, gradients_});
    }
  }

  Loop& loop_;
  const Gate& gate_;
  std::shared_ptr<std::byte> gradients_;
  std::vector<std::byte> parameters_;
  std::uint32_t iteration_ = 0, received_ = 0;
};

void yoke_server(const std::string& text, const security::Credentials& credentials) {
  Loop loop;
  const auto settings = named("server", credentials);
  BenchServer handler(*settings.arena);
  const auto listener = Listener::open(loop, read_address(text), settings, handler);
  if (!listener) give_up(listener.error().message);
  loop.run();
}

void yoke_client(const std::string& text, const security::Credentials& credentials, const Gate& gate) {
  Loop loop;
  const auto address = read_address(text);
  const auto settings = named("client", credentials);
  BenchClient handler(loop, *settings.arena, gate);
  const auto fd = dial(address, settings.credentials, seconds(10));
  if (!fd) give_up(fd.error().message);
  adopt(loop, *fd, address, settings, handler);
  loop.run();
}

Engine yoke_engine(const char* name, const std::string& address, const security::Credentials& credentials = {}) {
  return {name, [=](const std::string& text) { yoke_server(text, credentials); },
          [=](const std::string& text, const Gate& gate) { yoke_client(text, credentials, gate); }, address};
}

// A port that is free now.
std::string free_port() {
  Loop loop;
  const auto settings = named("");
  BenchServer nobody(*settings.arena);
  const auto listener = Listener::open(loop, read_address("127.0.0.1:0"), settings, nobody);
  if (!listener) give_up(listener.error().message);
  return (*listener)->address().port;
}

#ifdef YOKE_GRPC
// gRPC leaves the cipher to OpenSSL, whose first choice is AES-256; Yoke's is AES-128, and so it is here, for both.
// Before anything else is asked of OpenSSL.
void choose_cipher(const std::string& folder) {
  const auto path = folder + "/openssl.cnf";
  std::ofstream(path) << "openssl_conf = all\n[all]\nssl_conf = tls\n[tls]\nsystem_default = every\n"
                         "[every]\nCiphersuites = TLS_AES_128_GCM_SHA256\n";
  setenv("OPENSSL_CONF", path.c_str(), 1);
}

Engine grpc_engine(const char* name, const GrpcCertificates& certificates) {
  return {name, [=](const std::string& address) { grpc_server(address, certificates); },
          [=](const std::string& address, const Gate& gate) { grpc_client(address, certificates, gate); }, ""};
}
#endif

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Row {
  std::vector<double> speed, cpu;
};

void print(const std::vector<Engine>& engines, std::map<std::string, Row>& rows) {
  fmt::print("{:<10} {:>8} {:>16} {:>12}\n", "", "GB/s", "[min..max]", "CPU s/GB");
  for (const auto& engine : engines) {
    const auto& row = rows[engine.name];
    const auto [least, most] = std::minmax_element(row.speed.begin(), row.speed.end());
    fmt::print("{:<10} {:>8.2f} {:>16} {:>12.3f}\n", engine.name, median(row.speed),
               fmt::format("[{:.2f}..{:.2f}]", *least, *most), median(row.cpu));
  }
  // By CPU time as well: where others compute too, whoever has more threads gets more of the cores.
  const auto ratio = [&](const char* ours, const char* theirs) {
    if (rows.count(ours) && rows.count(theirs))
      fmt::print("{} / {}: {:.2f}, a GB for a CPU second: {:.2f}\n", ours, theirs,
                 median(rows[ours].speed) / median(rows[theirs].speed),
                 median(rows[theirs].cpu) / median(rows[ours].cpu));
  };
  ratio("shm", "zmq-ipc");
  ratio("unix", "zmq-ipc");
  ratio("tcp", "zmq-tcp");
  ratio("tcp", "grpc");
  ratio("tls", "grpc-tls");
}

int run(int rounds, const std::vector<std::string>& only) {
  std::string folder = (std::filesystem::temp_directory_path() / "yoke-bench-XXXXXX").string();
  if (!mkdtemp(folder.data())) give_up("no folder for the sockets");
  std::vector<Engine> engines{yoke_engine("shm", "shm:" + folder + "/shm")};
#ifdef YOKE_ZMQ
  engines.push_back({"zmq-ipc", zmq_server, zmq_client, "ipc://" + folder + "/zmq"});
#endif
  engines.push_back(yoke_engine("unix", "unix:" + folder + "/unix"));
  engines.push_back(yoke_engine("tcp", ""));
#ifdef YOKE_ZMQ
  engines.push_back({"zmq-tcp", zmq_server, zmq_client, ""});
#else
  fmt::print("(built without ZeroMQ)\n");
#endif
#ifdef YOKE_GRPC
  choose_cipher(folder);
#endif
  engines.push_back(yoke_engine("tls", "", with_tls()));
#ifdef YOKE_GRPC
  engines.push_back(grpc_engine("grpc", {}));
  engines.push_back(
      grpc_engine("grpc-tls", {certificates().authority, certificates().own.certificate, certificates().own.key}));
#else
  fmt::print("(built without gRPC)\n");
#endif
  std::erase_if(engines, [&](const Engine& engine) {
    return !only.empty() && std::find(only.begin(), only.end(), engine.name) == only.end();
  });
  fmt::print("1 server, {} clients, {} MiB each way a client in frames of 1 MiB, {} times; {} rounds, medians\n",
             kClients, kFrames * kFrame >> 20, kIterations, rounds);
  for (const bool all : {false, true}) {
    server_reads_all = all;
    std::map<std::string, Row> rows;
    for (int round = 0; round < rounds; ++round)
      for (auto& engine : engines) {
        if (engine.name == "tcp" || engine.name == "tls") engine.address = "tcp:127.0.0.1:" + free_port();
        if (engine.name == "zmq-tcp") engine.address = "tcp://127.0.0.1:" + free_port();
        if (engine.name.starts_with("grpc")) engine.address = "127.0.0.1:" + free_port();
        const auto measured = measure(engine);
        rows[engine.name].speed.push_back(measured.gigabytes_a_second);
        rows[engine.name].cpu.push_back(measured.cpu_seconds_a_gigabyte);
      }
    fmt::print("\nthe server {} each push\n", all ? "reads all of" : "looks at");
    print(engines, rows);
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace yoke::transport::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  return yoke::transport::bench::run(rounds, {argv + std::min(argc, 2), argv + argc});
}
