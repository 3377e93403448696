#include <numeric>

#include "data/open.h"
#include "data/split.h"
#include "torch_adapter/tensors.h"
#include "yoke/torch.h"

namespace yoke {
namespace {

Examples to_tensors(const data::Part& part) {
  std::vector<std::uint64_t> all(part.size());
  std::iota(all.begin(), all.end(), 0);
  auto tensors = torch_adapter::tensors_of(part.batch(all).or_throw(), part.schema());
  return {std::move(tensors.inputs), std::move(tensors.targets)};
}

}  // namespace

std::pair<torch::Tensor, torch::Tensor> Examples::get(const Batch& samples) const {
  const torch::NoGradGuard no_grad;
  const std::vector<std::int64_t> numbers(samples.begin(), samples.end());
  const auto index = torch::tensor(numbers, torch::kLong);
  return {inputs.index_select(0, index), labels.index_select(0, index)};
}

Data load_data(const std::string& name) {
  data::OpenOptions options;
  options.name = name;
  const auto opened = data::open(options).or_throw();
  const auto split = data::split(opened, {}, 0, 0).or_throw();
  return {to_tensors(split.train), to_tensors(split.test)};
}

}  // namespace yoke
