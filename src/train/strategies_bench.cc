// One slow replica in eight, under each strategy: the model only passes time, so the figures are those of the exchange.
// Ratios, both sides in one run, interleaved.
#include <fmt/format.h>

#include <cstdlib>

#include "strategy/strategy.h"
#include "train/synthetic.h"
#include "yoke/fit.h"

namespace {

using namespace yoke;

Summary run(Options options, const train::SyntheticOptions& model) {
  return fit(options, {},
             [&](std::uint32_t) -> Result<std::unique_ptr<Trainable>> { return train::make_synthetic(model); })
      .or_throw()
      .summary;
}

Options eight(Strategy strategy, std::uint64_t steps) {
  Options options;
  options.strategy = strategy;
  options.replicas = 8;
  options.steps = steps;
  return options;
}

double pace(const Summary& summary) { return static_cast<double>(summary.steps) / summary.seconds; }

void spares(std::uint64_t steps) {
  const train::SyntheticOptions model{1'000'000, std::chrono::milliseconds(20)};
  for (std::uint32_t spare : {1u, 0u}) {
    auto options = eight(Strategy::sync, steps);
    options.spares = spare;
    const auto before = run(options, model);
    auto slow = options;
    slow.slow[0] = 10;
    slow.steps = spare ? steps : steps / 5;
    const auto with_slow = run(slow, model);
    const auto after = run(options, model);
    const double even = (pace(before) + pace(after)) / 2;
    fmt::print(
        "sync, 8 replicas, {} spare: {:.1f} steps/s; replica 0 ten times slower: {:.1f} steps/s = {:.2f} of it, "
        "replica 0 dropped {} of {}\n",
        spare, even, pace(with_slow), pace(with_slow) / even, with_slow.replicas[0].dropped, slow.steps);
  }
}

void staleness(std::uint64_t steps) {
  const train::SyntheticOptions model{100'000, std::chrono::milliseconds(20)};
  const auto mean = [](const Summary& summary, std::size_t from, std::size_t to) {
    double sum = 0, count = 0;
    for (auto i = from; i < to; ++i) {
      sum += summary.replicas[i].mean_staleness * static_cast<double>(summary.replicas[i].applied);
      count += static_cast<double>(summary.replicas[i].applied);
    }
    return sum / count;
  };
  const auto equal = run(eight(Strategy::async, steps), model);
  fmt::print("async, 8 equal replicas: mean staleness {:.2f} (arithmetic: 7)\n", mean(equal, 0, 8));
  auto options = eight(Strategy::async, steps);
  options.slow[0] = 4;
  const auto slow = run(options, model);
  fmt::print(
      "async, replica 0 four times slower: its mean staleness {:.2f} (arithmetic: 28), the others' {:.2f} (6.25)\n",
      mean(slow, 0, 1), mean(slow, 1, 8));
  options.stale.max_staleness = 4;
  const auto bounded = run(options, model);
  fmt::print("async, --max-staleness 4: applied at most {} stale; {} asked = {} applied + {} dropped + {} refused\n",
             bounded.staleness.size() - 1, bounded.assigned, bounded.applied, bounded.dropped, bounded.refused);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t steps = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 150;
  spares(steps);
  staleness(steps * 10);
  return 0;
}
