#include "train/stragglers.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::train {
namespace {

constexpr double kSlower = 2;         // from here on it is worth a word
constexpr double kMuchSlower = 1.5;   // than when it was last named
constexpr std::uint64_t kEnough = 2;  // whole pieces of work to judge by
constexpr double kLatestWeighs = 0.3;

}  // namespace

Stragglers::Stragglers(const Options& options)
    : strategy_(options.strategy),
      spares_(options.spares),
      bounded_(options.stale.max_staleness || options.stale.policy != Stale::apply),
      paces_(options.replicas) {}

void Stragglers::add(std::uint32_t replica, Duration time) {
  auto& pace = paces_[replica];
  const double seconds = std::chrono::duration<double>(time).count();
  pace.recent = pace.count == 0 ? seconds : pace.recent + kLatestWeighs * (seconds - pace.recent);
  pace.sum += seconds;
  ++pace.count;
}

Duration Stragglers::mean(std::uint32_t replica) const {
  const auto& pace = paces_[replica];
  if (pace.count == 0) return {};
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(pace.sum / static_cast<double>(pace.count)));
}

double Stragglers::median_of_others(std::size_t replica) const {
  std::vector<double> others;
  for (std::size_t i = 0; i < paces_.size(); ++i)
    if (i != replica && paces_[i].count >= kEnough) others.push_back(paces_[i].recent);
  if (others.empty()) return 0;
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return *middle;
}

std::string Stragglers::consequence(std::size_t stragglers) const {
  if (strategy_ == Strategy::async)
    return bounded_ ? "its gradients are treated by their age"
                    : "its gradients come late and are applied as they are: "
                      "--max-staleness or --stale scale would tame them";
  if (stragglers <= spares_)
    return fmt::format("with {} spare{} {} nobody up", spares_, spares_ == 1 ? "" : "s",
                       stragglers == 1 ? "it holds" : "they hold");
  return fmt::format("everybody waits for it: --strategy sync --spares {} would not", stragglers);
}

std::vector<std::string> Stragglers::news() {
  std::vector<std::pair<std::size_t, double>> slow;
  for (std::size_t i = 0; i < paces_.size(); ++i) {
    if (paces_[i].count < kEnough) continue;
    const double median = median_of_others(i);
    if (median > 0 && paces_[i].recent >= kSlower * median) slow.emplace_back(i, paces_[i].recent / median);
  }
  std::vector<std::string> lines;
  for (const auto& [replica, factor] : slow) {
    auto& named = paces_[replica].named_at;
    if (factor < named * kMuchSlower) continue;
    named = factor;
    lines.push_back(
        fmt::format("replica {} is {:.1f}x slower than the median; {}", replica, factor, consequence(slow.size())));
  }
  return lines;
}

}  // namespace yoke::train
