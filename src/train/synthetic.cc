#include "train/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <thread>

namespace yoke::train {
namespace {

constexpr std::size_t kSlots = 8;
constexpr float kGradient = 1e-3f;

// A number with a unit behind it, in the unit's terms; negative: it is none.
double number_with(const std::string& text, const std::map<std::string, double>& units) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const auto unit = units.find(end);
  return end == text.c_str() || unit == units.end() || !std::isfinite(number) ? -1 : number * unit->second;
}

class Synthetic : public Trainable {
 public:
  explicit Synthetic(const SyntheticOptions& options) : options_(options) {
    layout_.groups = {options.optimizer};
    gradients_.resize(std::min(kSlots, options.parameters));
    const auto slots = std::min(kSlots, options.parameters);
    for (std::size_t i = 0; i < slots; ++i) {
      const auto size = options.parameters * (i + 1) / slots - options.parameters * i / slots;
      layout_.slots.push_back({fmt::format("layer{}", i), {static_cast<std::int64_t>(size)}, 0});
      values_.emplace_back(size, 0.5f);
    }
  }

  const Layout& layout() const override { return layout_; }
  std::span<float> values(SlotId slot) override { return values_[slot]; }
  std::uint64_t samples() const override { return options_.samples; }
  bool takes_a_core() const override { return false; }

  // The gradients come one by one over the second half of the step, the last layer first, as in a backward pass.
  Result<StepResult> compute(std::span<const std::uint64_t>, Exchange& exchange) override {
    const auto start = std::chrono::steady_clock::now();
    const auto slots = static_cast<std::int64_t>(values_.size());
    for (std::int64_t i = 0; i < slots; ++i) {
      std::this_thread::sleep_until(start + options_.step * (slots + i + 1) / (2 * slots));
      if (exchange.abandoned()) break;
      const auto slot = static_cast<SlotId>(slots - 1 - i);
      if (auto status = exchange.ready(slot, gradient_of(slot, exchange)); !status) return status.error();
    }
    return StepResult{};
  }

  // Always the same, so it is made once: where it can be handed over without being copied, if there is such memory.
  const Payload& gradient_of(SlotId slot, Exchange& exchange) {
    auto& gradient = gradients_[slot];
    if (gradient.values.empty()) {
      const auto size = values_[slot].size();
      if (const auto memory = exchange.memory(size * sizeof(float))) {
        auto* values = reinterpret_cast<float*>(memory.get());
        std::fill_n(values, size, kGradient);
        gradient = {{values, size}, memory};
      } else {
        const auto own = std::make_shared<std::vector<float>>(size, kGradient);
        gradient = {*own, own};
      }
    }
    return gradient;
  }

  Result<Evaluation> evaluate(HeldOut, const std::function<bool()>&) override { return Evaluation{}; }

 private:
  const SyntheticOptions options_;
  Layout layout_;
  std::vector<std::vector<float>> values_;
  std::vector<Payload> gradients_;  // by slot, once they were wanted
};

}  // namespace

Result<SyntheticOptions> parse_synthetic(const std::string& text) {
  const auto first = text.find(':'), second = text.find(':', first + 1);
  const Error wrong{Code::invalid_argument,
                    fmt::format("'{}': a synthetic model is synthetic:PARAMETERS:STEP, as in synthetic:1M:20ms", text)};
  if (text.substr(0, first) != "synthetic" || first == std::string::npos || second == std::string::npos) return wrong;
  const double parameters =
      number_with(text.substr(first + 1, second - first - 1), {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}});
  const double seconds = number_with(text.substr(second + 1), {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}});
  if (parameters < 1 || parameters > 1e11 || seconds < 0 || seconds > 3600) return wrong;
  SyntheticOptions options;
  options.parameters = static_cast<std::size_t>(parameters);
  options.step = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
  return options;
}

std::unique_ptr<Trainable> make_synthetic(const SyntheticOptions& options) {
  return std::make_unique<Synthetic>(options);
}

}  // namespace yoke::train
