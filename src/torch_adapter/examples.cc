#include <numeric>

#include "data/open.h"
#include "yoke/torch.h"

namespace yoke {
namespace {

Examples to_tensors(const data::Dataset& data) {
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(data.size())};
  shape.insert(shape.end(), data.shape.begin(), data.shape.end());
  Examples examples{torch::empty(shape), torch::empty({shape[0]}, torch::kLong)};
  std::vector<std::uint64_t> all(data.size());
  std::iota(all.begin(), all.end(), 0);
  data.copy(all, examples.inputs.data_ptr<float>(), examples.labels.data_ptr<std::int64_t>()).or_throw();
  return examples;
}

}  // namespace

std::pair<torch::Tensor, torch::Tensor> Examples::get(const Batch& samples) const {
  const torch::NoGradGuard no_grad;
  const std::vector<std::int64_t> numbers(samples.begin(), samples.end());
  const auto index = torch::tensor(numbers, torch::kLong);
  return {inputs.index_select(0, index), labels.index_select(0, index)};
}

Data load_data(const std::string& name) {
  const auto split = data::open(name).or_throw();
  return {to_tensors(split.train), to_tensors(split.test)};
}

}  // namespace yoke
