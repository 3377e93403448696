// Waits for values that have not come yet, at the first operation that takes them: LibTorch tells of every operation's
// inputs before it runs (at::RecordFunction). C++ modules have no hooks that would.
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "yoke/trainable.h"

namespace yoke::torch_adapter {

class LateValues {
 public:
  struct Late {
    SlotId slot = 0;
    const void* storage = nullptr;  // a view of the parameter has the same
  };
  // From now on, and for as long as it lives, operations of this thread wait; it ends there, too. What reads values
  // without an operation (data_ptr) has to wait by itself.
  LateValues(Exchange& exchange, std::vector<Late> late);
  ~LateValues();
  LateValues(const LateValues&) = delete;
  LateValues& operator=(const LateValues&) = delete;

  static const void* storage_of(const torch::Tensor& tensor);
  // Why it stopped waiting; empty: it did not, or only because the step is lost.
  const std::string& problem() const { return problem_; }

 private:
  static std::unique_ptr<at::ObserverContext> before(const at::RecordFunction& operation);
  void await(const c10::IValue& input);
  void await(const torch::Tensor& tensor);

  Exchange& exchange_;
  std::vector<Late> late_;
  std::string problem_;
  at::CallbackHandle handle_;
};

}  // namespace yoke::torch_adapter
