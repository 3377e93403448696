#include "torch_adapter/objective.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace yoke::torch_adapter {
namespace {

namespace F = torch::nn::functional;
using data::Task;

double total(const torch::Tensor& tensor) { return tensor.sum().item<double>(); }

}  // namespace

Objective::Objective(const data::Schema& schema, const data::Normalisation& normalisation, Loss loss, std::uint32_t top)
    : schema_(schema), absolute_(loss == Loss::absolute), top_(top) {
  if (schema.task != Task::values || normalisation.target_mean.empty()) return;
  mean_ = torch::tensor(normalisation.target_mean);
  deviation_ = torch::tensor(normalisation.target_deviation);
}

Result<Objective> Objective::make(const data::Schema& schema, const data::Normalisation& normalisation, Loss loss,
                                  std::uint32_t top) {
  const bool for_values = loss == Loss::squared || loss == Loss::absolute;
  if (for_values && schema.task != Task::values)
    return Error{Code::invalid_argument,
                 "--loss mse and mae are for numbers, and this data has classes: leave out "
                 "--loss, or say --task values"};
  if (loss == Loss::cross_entropy && schema.task == Task::values)
    return Error{Code::invalid_argument,
                 "--loss cross-entropy is for classes, and this data has numbers to predict: "
                 "leave out --loss, or say --task classes"};
  return Objective(schema, normalisation, loss, top);
}

std::string Objective::mismatch(const torch::Tensor& scores, std::int64_t samples) const {
  std::vector<std::int64_t> wanted{samples};
  if (schema_.positions > 1) wanted.push_back(schema_.positions);
  wanted.push_back(schema_.outputs);
  if (scores.sizes().vec() == wanted) return "";
  return fmt::format("the model gives [{}] for {} samples, and this data needs [{}] ({} {})",
                     fmt::join(scores.sizes().vec(), ", "), samples, fmt::join(wanted, ", "), schema_.outputs,
                     schema_.task == Task::classes  ? "classes"
                     : schema_.task == Task::values ? "values to predict"
                     : schema_.task == Task::flags  ? "flags"
                                                    : "answer, yes above 0");
}

torch::Tensor Objective::loss(const torch::Tensor& scores, const torch::Tensor& targets) const {
  switch (schema_.task) {
    case Task::classes:
      return F::cross_entropy(scores.reshape({-1, schema_.outputs}), targets.reshape({-1}));
    case Task::values:
      return absolute_ ? F::l1_loss(scores, targets) : F::mse_loss(scores, targets);
    case Task::binary:
    case Task::flags:
      break;
  }
  return F::binary_cross_entropy_with_logits(scores, targets);
}

double Objective::right(const torch::Tensor& scores, const torch::Tensor& targets) const {
  const torch::NoGradGuard no_grad;
  switch (schema_.task) {
    case Task::classes: {
      const auto same = scores.reshape({-1, schema_.outputs}).argmax(1).eq(targets.reshape({-1}));
      return total(same) / static_cast<double>(schema_.positions);
    }
    case Task::values:
      return 0;
    case Task::binary:
    case Task::flags:
      break;
  }
  return total(scores.gt(0).eq(targets.gt(0.5))) / static_cast<double>(schema_.outputs);
}

void Objective::add(const torch::Tensor& scores, const torch::Tensor& targets, Sums& sums) const {
  const torch::NoGradGuard no_grad;
  const auto samples = static_cast<double>(targets.size(0));
  sums.samples += samples;
  sums.loss += loss(scores, targets).item<double>() * samples;
  sums.right += right(scores, targets);
  if (schema_.task == Task::classes && top_ > 1 && top_ < schema_.outputs) {
    const auto best = std::get<1>(scores.reshape({-1, schema_.outputs}).topk(top_, 1));
    sums.top += total(best.eq(targets.reshape({-1, 1}))) / static_cast<double>(schema_.positions);
  }
  if (schema_.task == Task::flags) sums.exact += total(scores.gt(0).eq(targets.gt(0.5)).all(1));
  if (schema_.task == Task::values) {
    auto predicted = scores.cpu().to(torch::kDouble), wanted = targets.cpu().to(torch::kDouble);
    if (mean_.defined()) {
      predicted = predicted * deviation_ + mean_;
      wanted = wanted * deviation_ + mean_;
    }
    const auto difference = predicted - wanted;
    sums.squared += total(difference * difference);
    sums.absolute += total(difference.abs());
    sums.target += total(wanted);
    sums.target_squared += total(wanted * wanted);
    sums.values += static_cast<double>(wanted.numel());
  }
}

Evaluation Objective::result(const Sums& sums) const {
  Evaluation evaluation;
  evaluation.samples = static_cast<std::uint64_t>(sums.samples);
  if (evaluation.samples == 0) return evaluation;
  evaluation.loss = sums.loss / sums.samples;
  if (schema_.task != Task::values) evaluation.accuracy = sums.right / sums.samples;
  if (schema_.tokens) evaluation.metrics.push_back({"perplexity", std::exp(evaluation.loss)});
  if (schema_.task == Task::classes && top_ > 1 && top_ < schema_.outputs)
    evaluation.metrics.push_back({fmt::format("top{}", top_), sums.top / sums.samples});
  if (schema_.task == Task::flags) evaluation.metrics.push_back({"exact", sums.exact / sums.samples});
  if (schema_.task == Task::values) {
    evaluation.metrics.push_back({"mse", sums.squared / sums.values});
    evaluation.metrics.push_back({"mae", sums.absolute / sums.values});
    const double spread = sums.target_squared - sums.target * sums.target / sums.values;
    if (schema_.outputs == 1 && spread > 0) evaluation.metrics.push_back({"r2", 1 - sums.squared / spread});
  }
  return evaluation;
}

}  // namespace yoke::torch_adapter
