#include <torch/script.h>

#include "torch_adapter/binding.h"
#include "yoke/torch.h"

namespace yoke {
namespace {

using torch_adapter::Binding;
using torch_adapter::Parts;
using torch_adapter::parts_of;

Training attach(Replica& replica, Parts parts, std::vector<Group> groups, AttachOptions options) {
  parts.groups = std::move(groups);
  return Training(Binding::make(replica, std::move(parts), options));
}

}  // namespace

Training::Training(std::shared_ptr<torch_adapter::Binding> binding) : binding_(std::move(binding)) {}
void Training::backward(const torch::Tensor& loss) { binding_->backward(loss); }
Outcome Training::step() { return binding_->step(); }
bool Training::lost() const { return binding_->lost(); }
bool Training::done() const { return binding_->done(); }

Training attach_to(Replica& replica, torch::nn::Module& network, Optimizer optimizer, AttachOptions options) {
  return attach(replica, parts_of(network), {{{}, optimizer}}, options);
}

Training attach_to(Replica& replica, torch::nn::Module& network, std::vector<Group> groups, AttachOptions options) {
  if (groups.empty()) throw Exception({Code::invalid_argument, "attach: give at least one group of parameters"});
  for (const auto& group : groups)
    if (group.parameters.empty()) throw Exception({Code::invalid_argument, "attach: a group has no parameters"});
  return attach(replica, parts_of(network), std::move(groups), options);
}

Training attach_to(Replica& replica, torch::nn::Module& network, torch::optim::Optimizer& optimizer,
                   AttachOptions options) {
  auto parts = parts_of(network);
  parts.own_optimizer = &optimizer;
  return attach(replica, std::move(parts), {{{}, Average{}}}, options);
}

Training attach_to(Replica& replica, torch::jit::Module& network, Optimizer optimizer, AttachOptions options) {
  options.late_values = false;  // a script may be run in other ways than one operation after the other
  return attach(replica, parts_of(network), {{{}, optimizer}}, options);
}

}  // namespace yoke
