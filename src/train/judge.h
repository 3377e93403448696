// Judges a training by what it does on held-out data: which version is the best, and when it is time to stop. Decides
// in plain values; who evaluates, and when, is fit's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "yoke/fit.h"

namespace yoke::train {

class Judge {
 public:
  // `epoch_samples` 0: the data has no size, and only validate_every says when.
  Judge(const FitOptions& options, std::uint64_t epoch_samples);

  // True once for every stretch of samples after which an evaluation is due; it is then up to the caller.
  bool due(std::uint64_t samples);

  struct Verdict {
    bool best = false;          // better than all before: keep this version
    std::optional<Ended> stop;  // the training should end
    std::string why;            // then in words
  };
  // Evaluations in the order of their versions; one that comes late (of an older version) only joins the curve.
  Verdict judge(const Evaluation& evaluation, std::uint64_t version);
  // The best version is not to be had any more.
  void forget_best() { best_.reset(); }

 private:
  std::optional<double> target_;
  std::uint32_t patience_;
  std::uint64_t every_;
  std::uint64_t next_;
  std::optional<double> best_;
  std::uint64_t newest_ = 0;
  std::uint32_t without_better_ = 0;
};

}  // namespace yoke::train
