#include "train/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace yoke::train {

Judge::Judge(const FitOptions& options, std::uint64_t epoch_samples)
    : target_(options.target_accuracy),
      patience_(options.patience),
      every_(options.validate_every ? options.validate_every : epoch_samples),
      next_(every_) {}

bool Judge::due(std::uint64_t samples) {
  if (every_ == 0 || samples < next_) return false;
  next_ += (samples - next_) / every_ * every_ + every_;
  return true;
}

Judge::Verdict Judge::judge(const Evaluation& evaluation, std::uint64_t version) {
  Verdict verdict;
  if (version < newest_) return verdict;
  newest_ = version;
  const double score = evaluation.score();
  verdict.best = std::isfinite(score) && (!best_ || score > *best_);
  if (verdict.best) best_ = score;
  without_better_ = verdict.best ? 0 : without_better_ + 1;
  if (target_ && evaluation.accuracy && *evaluation.accuracy >= *target_) {
    verdict.stop = Ended::target_reached;
    verdict.why = fmt::format("validation accuracy {:.4f} reached the target of {}", *evaluation.accuracy, *target_);
  } else if (patience_ > 0 && without_better_ >= patience_) {
    verdict.stop = Ended::out_of_patience;
    verdict.why = fmt::format("{} evaluation{} on held-out data without a better one", without_better_,
                              without_better_ == 1 ? "" : "s");
  }
  return verdict;
}

}  // namespace yoke::train
