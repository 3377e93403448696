#include "torch_adapter/tensors.h"

#include <memory>
#include <utility>

namespace yoke::torch_adapter {
namespace {

template <class Number>
torch::Tensor tensor_of(std::vector<Number> numbers, const std::vector<std::int64_t>& shape, torch::ScalarType type) {
  auto kept = std::make_shared<std::vector<Number>>(std::move(numbers));
  return torch::from_blob(
      kept->data(), shape, [kept](void*) {}, torch::TensorOptions(type));
}

}  // namespace

Tensors tensors_of(data::Batch batch, const data::Schema& schema, const torch::Device& device) {
  const auto size = static_cast<std::int64_t>(batch.size);
  std::vector<std::int64_t> shape{size};
  shape.insert(shape.end(), schema.shape.begin(), schema.shape.end());
  Tensors tensors;
  tensors.inputs = schema.tokens ? tensor_of(std::move(batch.tokens), shape, torch::kLong)
                                 : tensor_of(std::move(batch.features), shape, torch::kFloat);
  if (schema.task != data::Task::classes)
    tensors.targets = tensor_of(std::move(batch.values), {size, schema.outputs}, torch::kFloat);
  else if (schema.positions > 1)
    tensors.targets = tensor_of(std::move(batch.classes), {size, schema.positions}, torch::kLong);
  else
    tensors.targets = tensor_of(std::move(batch.classes), {size}, torch::kLong);
  if (!device.is_cpu()) tensors = {tensors.inputs.to(device), tensors.targets.to(device)};
  return tensors;
}

}  // namespace yoke::torch_adapter
