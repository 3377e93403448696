// A server at work, without the network: replicas in its loop's thread hand in gradients the moment they are assigned
// a step, and the workers run the passes over them. Prints a line of JSON: how fast the passes go through memory,
// beside memcpy by as many threads in the same run; and how often, in a step of the steady state, memory was allocated
// and somebody found a lock taken, by the workers and by the loop's thread.
//
//   server_pass_bench [--floats 16777216] [--replicas 2] [--workers 2] [--steps 40]
#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <new>
#include <thread>
#include <vector>

#include "cluster/silent_outlet.h"
#include "transport/loop.h"

namespace {

enum Whose { of_driver, of_loop, of_workers };

struct Counts {
  std::atomic<std::uint64_t> allocations{0}, locks{0}, taken{0};
};
Counts counts[3];
thread_local Whose whose = of_workers;

void* counted(void* at) {
  counts[whose].allocations.fetch_add(1, std::memory_order_relaxed);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

void* aligned(std::size_t size, std::align_val_t to) {
  const auto line = static_cast<std::size_t>(to);
  return counted(std::aligned_alloc(line, (size + line - 1) / line * line));
}

// Out of the compiler's sight, which would say that what is freed was not made by malloc.
[[gnu::noinline]] void give_back(void* at) noexcept { std::free(at); }

}  // namespace

// In place of the library's own, for everything in this process.
void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new[](std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t to) { return aligned(size, to); }
void* operator new[](std::size_t size, std::align_val_t to) { return aligned(size, to); }
void operator delete(void* at) noexcept { give_back(at); }
void operator delete[](void* at) noexcept { give_back(at); }
void operator delete(void* at, std::size_t) noexcept { give_back(at); }
void operator delete[](void* at, std::size_t) noexcept { give_back(at); }
void operator delete(void* at, std::align_val_t) noexcept { give_back(at); }
void operator delete[](void* at, std::align_val_t) noexcept { give_back(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { give_back(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { give_back(at); }

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  static const auto lock = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  counts[whose].locks.fetch_add(1, std::memory_order_relaxed);
  if (pthread_mutex_trylock(mutex) == 0) return 0;
  counts[whose].taken.fetch_add(1, std::memory_order_relaxed);
  return lock(mutex);
}

namespace yoke::cluster {
namespace {

using Clock = std::chrono::steady_clock;

struct Work {
  std::size_t floats = 16u << 20, replicas = 2, workers = 2, steps = 40;
};

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

struct alignas(64) Line {
  float values[16] = {};
};

// The replicas, and the way to them.
class Replicas : public SilentOutlet {
 public:
  Replicas(const Work& work, transport::Loop& loop, Workers& workers) : work_(work), loop_(loop) {
    wire::JobTerms terms;
    terms.replicas = static_cast<std::uint32_t>(work.replicas);
    terms.steps = work.steps + kWarmUp;
    const Layout layout{{{"weight", {static_cast<std::int64_t>(work.floats)}, 0}}, {SGD{.momentum = 0.9}}};
    network_ = std::make_shared<HostedNetwork>(0, 0, terms, layout, wire::About{}, *this, workers,
                                               transport::Arena::make(), nullptr);
    gradients_.resize(work.replicas, std::vector<Line>(work.floats / 16 + 1));
    for (auto& gradient : gradients_)
      for (auto& line : gradient) std::ranges::fill(line.values, 1e-3F);
  }

  std::future<double> begin() {
    loop_.post([this] {
      whose = of_loop;
      const std::vector<float> zeros(std::size_t{1} << 20);
      for (const auto& block : network_->plan().blocks)
        network_->bring({0, block.id, false, 0}, std::span(zeros).first(block.size)).or_throw();
      network_->brought();
      for (std::size_t i = 0; i < work_.replicas; ++i)
        network_->receive(wire::replica_at(static_cast<wire::ReplicaId>(i)),
                          wire::Hello{{static_cast<wire::ReplicaId>(i), 1}, 0, 32}, {});
    });
    return took_.get_future();
  }

  Post poster() const override { return loop_.poster(); }
  Time now() const override { return transport::Loop::now(); }

  void send(std::uint32_t, const wire::Address&, const wire::Address&, const wire::Message& message) override {
    if (const auto* assign = std::get_if<wire::Assign>(&message)) {
      if (assign->step == kWarmUp && assign->gradient.life.replica == 0) begin_counting();
      loop_.later([this, work = *assign] { hand_in(work); });
    }
    if (std::holds_alternative<wire::Done>(message) && !std::exchange(done_, true))
      took_.set_value(seconds_since(began_));
  }

 private:
  static constexpr std::size_t kWarmUp = 10;

  void begin_counting() {
    for (auto& count : counts) count.allocations = count.locks = count.taken = 0;
    began_ = Clock::now();
  }

  void hand_in(const wire::Assign& work) {
    const auto replica = work.gradient.life.replica;
    const auto* values = gradients_[replica].front().values;
    const auto& blocks = network_->plan().blocks;
    for (auto block = blocks.rbegin(); block != blocks.rend(); ++block)  // the last layer's come first
      network_->receive(wire::replica_at(replica), wire::Push{work.gradient, work.step, block->id, 0, 32},
                        {std::as_bytes(std::span(values + block->offset, block->size)), nullptr});
  }

  const Work work_;
  transport::Loop& loop_;
  std::shared_ptr<HostedNetwork> network_;
  std::vector<std::vector<Line>> gradients_;
  std::promise<double> took_;
  Clock::time_point began_;
  bool done_ = false;
};

// Bytes a second, read and written, by so many threads that copy large arrays.
double memcpy_rate(std::size_t threads, std::size_t floats) {
  std::vector<std::jthread> copying;
  std::atomic<double> sum{0};
  for (std::size_t i = 0; i < threads; ++i)
    copying.emplace_back([&] {
      constexpr int kTimes = 12;
      std::vector<Line> from(floats / 16 / threads), to(floats / 16 / threads);
      std::vector<double> rates;
      for (int time = 0; time < kTimes; ++time) {
        const auto begin = Clock::now();
        std::memcpy(to.data(), from.data(), from.size() * sizeof(Line));
        rates.push_back(2.0 * static_cast<double>(from.size() * sizeof(Line)) / seconds_since(begin));
      }
      std::ranges::sort(rates);
      sum.fetch_add(rates[kTimes / 2]);
    });
  copying.clear();
  return sum;
}

int bench(const Work& work) {
  const double copied = memcpy_rate(std::max<std::size_t>(1, work.workers), work.floats);
  transport::LoopThread loop("server");
  Workers workers(static_cast<unsigned>(work.workers));
  Replicas replicas(work, loop.loop(), workers);
  const double took = replicas.begin().get();
  const auto steps = static_cast<double>(work.steps);
  const auto a_step = [&](const std::atomic<std::uint64_t>& count) { return static_cast<double>(count) / steps; };
  // Every gradient, the parameters and the momentum are read; the last two are written.
  const double bytes = steps * static_cast<double>((work.replicas + 4) * work.floats * sizeof(float));
  fmt::print(
      "{{\"ms_a_step\":{:.2f},\"gb_a_second\":{:.2f},\"of_memcpy\":{:.2f},"
      "\"workers\":{{\"allocations_a_step\":{:.2f},\"locks_a_step\":{:.2f},\"found_taken_a_step\":{:.3f}}},"
      "\"loop\":{{\"allocations_a_step\":{:.2f},\"locks_a_step\":{:.2f},\"found_taken_a_step\":{:.3f}}}}}\n",
      1e3 * took / steps, 1e-9 * bytes / took, bytes / took / copied, a_step(counts[of_workers].allocations),
      a_step(counts[of_workers].locks), a_step(counts[of_workers].taken), a_step(counts[of_loop].allocations),
      a_step(counts[of_loop].locks), a_step(counts[of_loop].taken));
  loop.stop();
  return 0;
}

}  // namespace
}  // namespace yoke::cluster

int main(int argc, char** argv) {
  whose = of_driver;
  yoke::cluster::Work work;
  const std::pair<const char*, std::size_t*> flags[] = {{"--floats", &work.floats},
                                                        {"--replicas", &work.replicas},
                                                        {"--workers", &work.workers},
                                                        {"--steps", &work.steps}};
  for (int i = 1; i + 1 < argc; i += 2)
    for (const auto& [name, value] : flags)
      if (std::strcmp(argv[i], name) == 0) std::from_chars(argv[i + 1], argv[i + 1] + std::strlen(argv[i + 1]), *value);
  return yoke::cluster::bench(work);
}
