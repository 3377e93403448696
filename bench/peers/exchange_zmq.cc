// Push, update and pull as ps-lite does it over ZeroMQ: one server process with a ROUTER, two worker processes with a
// DEALER each, messages of a head and a data part that is sent from where it lies. The server keeps the first worker's
// block as it came until the second's is there, makes the mean and the SGD step with momentum in one pass, and
// acknowledges; a worker asks for a block as soon as its push is acknowledged, so pushes and pulls of different blocks
// overlap. Prints the time of a step as worker 0 sees it. Fails when a value is wrong at the end.
// usage: exchange_zmq --transport ipc|tcp --steps S [--warm-ups W] [--io-threads 1] [--bytes 67108864]
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <array>
#include <cmath>
#include <csignal>
#include <cstdint>

#include "figures.h"

namespace {

constexpr int kWorkers = 2;
constexpr std::size_t kBlock = (1 << 20) / sizeof(float);
constexpr float kMomentum = 0.9F, kRate = 0.01F, kStart = 0.5F;

enum class Kind : std::uint32_t { push, acknowledge, pull, values, bye };

struct Head {
  Kind kind;
  std::uint32_t block;
};

void check(bool good, const char* what) {
  if (!good) peers::give_up(std::string("ZeroMQ: ") + what + ": " + zmq_strerror(zmq_errno()));
}

class Message {
 public:
  Message() { zmq_msg_init(&raw_); }
  ~Message() { zmq_msg_close(&raw_); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void receive(void* socket) { check(zmq_msg_recv(&raw_, socket, 0) >= 0, "receive"); }
  void take(Message& other) { check(zmq_msg_move(&raw_, &other.raw_) == 0, "move"); }
  std::size_t size() { return zmq_msg_size(&raw_); }
  const float* floats() { return static_cast<const float*>(zmq_msg_data(&raw_)); }
  const char* bytes() { return static_cast<const char*>(zmq_msg_data(&raw_)); }

 private:
  zmq_msg_t raw_;
};

struct Socket {
  Socket(int type, int io_threads) : context(zmq_ctx_new()) {
    zmq_ctx_set(context, ZMQ_IO_THREADS, io_threads);
    raw = zmq_socket(context, type);
    check(raw != nullptr, "socket");
    const int no_limit = 0;
    zmq_setsockopt(raw, ZMQ_SNDHWM, &no_limit, sizeof no_limit);
    zmq_setsockopt(raw, ZMQ_RCVHWM, &no_limit, sizeof no_limit);
    const int patience_ms = 30'000;  // longer only when another process is gone
    zmq_setsockopt(raw, ZMQ_RCVTIMEO, &patience_ms, sizeof patience_ms);
  }
  ~Socket() {  // waits until all is sent
    zmq_close(raw);
    zmq_ctx_term(context);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send_head(Head head, bool more) {
    check(zmq_send(raw, &head, sizeof head, more ? ZMQ_SNDMORE : 0) >= 0, "send");
  }

  void send_floats(float* values, std::size_t count) {
    zmq_msg_t message;
    const auto keep = [](void*, void*) {};
    check(zmq_msg_init_data(&message, values, count * sizeof(float), keep, nullptr) == 0, "message");
    check(zmq_msg_send(&message, raw, 0) >= 0, "send");
  }

  Head receive_head() {
    Head head;
    check(zmq_recv(raw, &head, sizeof head, 0) == sizeof head, "receive");
    return head;
  }

  void* context;
  void* raw;
};

// A worker's gradient, the same at every step, as making it is not what is measured.
constexpr std::size_t kPattern = 13;
float gradient(int worker, std::size_t at) {
  return static_cast<float>(static_cast<int>((at * 7 + static_cast<std::size_t>(worker) * 3) % kPattern) - 6) * 0.01F;
}

void update(float* __restrict values, float* __restrict momentum, const float* __restrict one,
            const float* __restrict other, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float speed = kMomentum * momentum[i] + 0.5F * (one[i] + other[i]);
    momentum[i] = speed;
    values[i] -= kRate * speed;
  }
}

struct Job {
  std::size_t floats;
  long steps, warm_ups;
  int io_threads;
  std::string address;

  std::size_t blocks() const { return (floats + kBlock - 1) / kBlock; }
  std::size_t size_of(std::size_t block) const { return std::min(kBlock, floats - block * kBlock); }
};

void serve(const Job& job, int tell) {
  std::vector<float> values(job.floats, kStart), momentum(job.floats);
  std::vector<Message> waiting(job.blocks());  // the gradient of whoever came first
  std::vector<std::string> first(job.blocks());
  Socket socket(ZMQ_ROUTER, job.io_threads);
  check(zmq_bind(socket.raw, job.address.c_str()) == 0, "bind");
  std::array<char, 256> address{};
  std::size_t length = address.size();
  zmq_getsockopt(socket.raw, ZMQ_LAST_ENDPOINT, address.data(), &length);
  for (int i = 0; i < kWorkers; ++i)
    if (write(tell, address.data(), address.size()) < 0) peers::give_up("a worker is not there");

  const auto send_to = [&](const std::string& who) {
    check(zmq_send(socket.raw, who.data(), who.size(), ZMQ_SNDMORE) >= 0, "send");
  };
  for (int here = kWorkers; here > 0;) {
    Message who, gradient;
    who.receive(socket.raw);
    std::string name(who.bytes(), who.size());
    const Head head = socket.receive_head();
    if (head.kind != Kind::bye && head.block >= job.blocks()) peers::give_up("no such block");
    auto* const own = values.data() + head.block * kBlock;
    switch (head.kind) {
      case Kind::push:
        gradient.receive(socket.raw);
        if (gradient.size() != job.size_of(head.block) * sizeof(float)) peers::give_up("a block of a wrong size");
        if (first[head.block].empty()) {
          waiting[head.block].take(gradient);
          first[head.block] = std::move(name);
          break;
        }
        update(own, momentum.data() + head.block * kBlock, waiting[head.block].floats(), gradient.floats(),
               job.size_of(head.block));
        for (const auto& worker : {first[head.block], name}) {
          send_to(worker);
          socket.send_head({Kind::acknowledge, head.block}, false);
        }
        first[head.block].clear();
        break;
      case Kind::pull:  // nobody changes the block before both have it: their next pushes come after that
        send_to(name);
        socket.send_head({Kind::values, head.block}, true);
        socket.send_floats(own, job.size_of(head.block));
        break;
      default:
        --here;
    }
  }
}

void check_values(const Job& job, const std::vector<float>& values) {
  std::array<double, kPattern> right;
  for (std::size_t i = 0; i < kPattern; ++i) {
    const double mean = 0.5 * (gradient(0, i) + gradient(1, i));
    double speed = 0, value = kStart;
    for (long step = 0; step < job.warm_ups + job.steps; ++step) {
      speed = kMomentum * speed + mean;
      value -= kRate * speed;
    }
    right[i] = value;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i] - right[i % kPattern]) < 1e-4)) peers::give_up("wrong value at " + std::to_string(i));
}

peers::Figures work(const Job& job, int worker, int told) {
  std::array<char, 256> address{};
  if (read(told, address.data(), address.size()) != static_cast<ssize_t>(address.size()))
    peers::give_up("the server is not there");
  std::vector<float> gradients(job.floats), values(job.floats);
  for (std::size_t i = 0; i < job.floats; ++i) gradients[i] = gradient(worker, i);
  Socket socket(ZMQ_DEALER, job.io_threads);
  check(zmq_connect(socket.raw, address.data()) == 0, "connect");
  const auto step = [&] {
    for (std::uint32_t block = 0; block < job.blocks(); ++block) {
      socket.send_head({Kind::push, block}, true);
      socket.send_floats(gradients.data() + block * kBlock, job.size_of(block));
    }
    for (std::size_t missing = job.blocks(); missing > 0;) {
      const Head head = socket.receive_head();
      if (head.block >= job.blocks()) peers::give_up("no such block");
      if (head.kind == Kind::acknowledge) {
        socket.send_head({Kind::pull, head.block}, false);
        continue;
      }
      Message block;
      block.receive(socket.raw);
      if (block.size() != job.size_of(head.block) * sizeof(float)) peers::give_up("a block of a wrong size");
      std::memcpy(values.data() + head.block * kBlock, block.bytes(), block.size());
      --missing;
    }
  };
  const auto figures = peers::measure(job.warm_ups, job.steps, step);
  socket.send_head({Kind::bye, 0}, false);
  check_values(job, values);
  return figures;
}

// A child that ends with this process, and whose failure is this one's.
template <class Work>
pid_t start(Work work) {
  const pid_t child = fork();
  if (child < 0) peers::give_up("fork");
  if (child > 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  work();
  std::exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](const char* name, const char* otherwise = nullptr) {
    return peers::number(argc, argv, name, otherwise);
  };
  Job job{static_cast<std::size_t>(number("--bytes", "67108864")) / sizeof(float), number("--steps"),
          number("--warm-ups", "3"), static_cast<int>(number("--io-threads", "1")), "tcp://127.0.0.1:*"};
  const char* const temporary = std::getenv("TMPDIR");
  std::string folder = std::string(temporary ? temporary : "/tmp") + "/zmq-XXXXXX";
  const bool ipc = peers::argument(argc, argv, "--transport") == "ipc";
  if (ipc) {
    if (!mkdtemp(folder.data())) peers::give_up("no folder " + folder);
    job.address = "ipc://" + folder + "/server";
  }
  int pipes[2];
  if (pipe(pipes) != 0) peers::give_up("pipe");
  std::vector<pid_t> children{start([&] { serve(job, pipes[1]); })};
  close(pipes[1]);  // only the server keeps its end, so that a worker sees when there is none
  children.push_back(start([&] { work(job, 1, pipes[0]); }));
  const auto figures = work(job, 0, pipes[0]);
  bool good = true;
  for (const auto child : children) {
    int status = 0;
    good = waitpid(child, &status, 0) == child && status == 0 && good;
  }
  if (ipc) {
    unlink((folder + "/server").c_str());
    rmdir(folder.c_str());
  }
  if (!good) peers::give_up("the server or a worker failed");
  std::printf("{\"median_ms\":%.3f,\"min_ms\":%.3f,\"mean_ms\":%.3f,\"steps\":%ld,\"io_threads\":%d}\n",
              figures.median / 1000, figures.min / 1000, figures.mean / 1000, job.steps, job.io_threads);
}
