// What a network is trained for: the loss, and the figures a person wants to see.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>

#include "data/schema.h"
#include "torch_adapter/factory.h"
#include "yoke/error.h"
#include "yoke/trainable.h"

namespace yoke::torch_adapter {

class Objective {
 public:
  // Errors: a loss that does not go with the task.
  static Result<Objective> make(const data::Schema& schema, const data::Normalisation& normalisation, Loss loss,
                                std::uint32_t top);

  // Scores that have another shape than the schema wants are an error in words; else nothing.
  std::string mismatch(const torch::Tensor& scores, std::int64_t samples) const;
  // Mean over the samples. `targets` are class numbers or values, as the data gives them.
  torch::Tensor loss(const torch::Tensor& scores, const torch::Tensor& targets) const;
  // How many samples were right, parts of a sample counting as parts; 0 where nothing is right or wrong.
  double right(const torch::Tensor& scores, const torch::Tensor& targets) const;

  // Sums over an evaluation, batch by batch.
  struct Sums {
    double samples = 0, loss = 0, right = 0, top = 0, exact = 0;
    double squared = 0, absolute = 0, target = 0, target_squared = 0, values = 0;  // in the target's own units
  };
  void add(const torch::Tensor& scores, const torch::Tensor& targets, Sums& sums) const;
  Evaluation result(const Sums& sums) const;

 private:
  Objective(const data::Schema& schema, const data::Normalisation& normalisation, Loss loss, std::uint32_t top);

  data::Schema schema_;
  bool absolute_;
  std::uint32_t top_;
  torch::Tensor mean_, deviation_;  // of the targets; undefined: they are as they are
};

}  // namespace yoke::torch_adapter
