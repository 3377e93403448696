// Whether a replica that was lost is started again, and after how long. Pure: time goes in, a decision comes out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace yoke::launch {

struct RestartRule {
  std::uint32_t times = 0;                    // each replica, over the whole job
  std::chrono::milliseconds pause{500};       // before the first; every further one is twice as long ...
  std::chrono::milliseconds longest{30'000};  // ... and no longer than this
  std::chrono::milliseconds steady{10'000};   // one that has run for so long begins with the first pause again
};

// Of one replica.
class Restarts {
 public:
  struct Again {
    std::uint32_t number = 1;  // which restart, from 1
    std::chrono::milliseconds pause{};
  };

  explicit Restarts(const RestartRule& rule) : rule_(rule) {}

  // It was lost after it had run for so long: when it is started again. None: it has been started again as often as it
  // may.
  std::optional<Again> lost(std::chrono::milliseconds ran);

  std::uint32_t used() const { return used_; }

 private:
  RestartRule rule_;
  std::uint32_t used_ = 0;
  std::chrono::milliseconds next_{};  // 0: the first
};

// "restart 1 of 3 in 0.5 s".
std::string in_words(const Restarts::Again& again, const RestartRule& rule);

}  // namespace yoke::launch
