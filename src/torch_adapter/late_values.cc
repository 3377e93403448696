#include "torch_adapter/late_values.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <utility>

namespace yoke::torch_adapter {
namespace {

thread_local std::vector<LateValues*> present;  // of several networks

}  // namespace

LateValues::LateValues(Exchange& exchange, std::vector<Late> late)
    : exchange_(exchange),
      late_(std::move(late)),
      handle_(at::addThreadLocalCallback(
          at::RecordFunctionCallback(&LateValues::before).needsInputs(true).scopes({at::RecordScope::FUNCTION}))) {
  present.push_back(this);
}

LateValues::~LateValues() {
  at::removeCallback(handle_);
  std::erase(present, this);
}

const void* LateValues::storage_of(const torch::Tensor& tensor) {
  return tensor.defined() && tensor.has_storage() ? tensor.storage().data() : nullptr;
}

// LibTorch swallows what is thrown here.
std::unique_ptr<at::ObserverContext> LateValues::before(const at::RecordFunction& operation) {
  for (auto* one : present)
    if (!one->late_.empty())
      for (const auto& input : operation.inputs()) one->await(input);
  return nullptr;
}

void LateValues::await(const c10::IValue& input) {
  if (input.isTensor()) return await(input.toTensor());
  if (!input.isTensorList()) return;
  for (const torch::Tensor& tensor : input.toTensorVector()) await(tensor);
}

void LateValues::await(const torch::Tensor& tensor) {
  const auto* storage = storage_of(tensor);
  if (!storage) return;
  const auto there =
      std::stable_partition(late_.begin(), late_.end(), [&](const Late& late) { return late.storage != storage; });
  const std::vector<Late> taken(there, late_.end());
  late_.erase(there, late_.end());
  for (const auto& late : taken)
    if (const auto here = exchange_.await(late.slot); !here && here.error().code != Code::cancelled && problem_.empty())
      problem_ = here.error().message;
}

}  // namespace yoke::torch_adapter
