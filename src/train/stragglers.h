// Notices replicas that are much slower than the others, and says in words what that means under the strategy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "yoke/options.h"

namespace yoke::train {

class Stragglers {
 public:
  explicit Stragglers(const Options& options);

  // A replica did one whole piece of work in this time.
  void add(std::uint32_t replica, Duration time);
  // Mean over the whole pieces; zero when there was none.
  Duration mean(std::uint32_t replica) const;
  // News since the last call: "replica 3 is 4.1x slower than the median; with 1 spare it holds nobody up". Each replica
  // is named once, and again when it gets a good deal slower.
  std::vector<std::string> news();

 private:
  struct Pace {
    std::uint64_t count = 0;
    double sum = 0;       // seconds
    double recent = 0;    // seconds, the latest weigh most
    double named_at = 0;  // how many times slower it was when it was last named
  };
  double median_of_others(std::size_t replica) const;
  std::string consequence(std::size_t stragglers) const;

  const Strategy strategy_;
  const std::uint32_t spares_;
  const bool bounded_;
  std::vector<Pace> paces_;
};

}  // namespace yoke::train
