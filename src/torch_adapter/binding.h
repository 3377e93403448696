// Ties the parameters of a LibTorch module to a session: which tensors are slots, hooks that see each gradient the
// moment autograd has it, and the checks that nobody moved a parameter behind our back.
//
// A gradient is taken out of `.grad` in the hook, so autograd hands over its own tensor each time instead of adding
// into one (adding would cost a pass over memory, and would write into bytes that another thread may be reading).
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "torch_adapter/gradient_memory.h"
#include "torch_adapter/late_values.h"
#include "train/session.h"
#include "yoke/run.h"
#include "yoke/torch.h"

namespace yoke::torch_adapter {

// A tensor with the name it has in its module.
struct Named {
  std::string name;
  torch::Tensor tensor;
};

// What is to be attached, whatever kind of module it came from.
struct Parts {
  std::vector<Named> parameters;
  std::vector<Named> buffers;
  std::vector<Group> groups;                         // empty `parameters` in the only group: all of them
  torch::optim::Optimizer* own_optimizer = nullptr;  // not null: only gradients are exchanged
};

// The parameters and buffers of a module, in its order.
Parts parts_of(torch::nn::Module& network);
Parts parts_of(torch::jit::Module& network);

// Thrown through autograd by a hook, when the step is lost and Training::backward may stop.
struct GivenUp : std::exception {};  // autograd puts its own affairs in order only for those

class Binding : public std::enable_shared_from_this<Binding> {
 public:
  // Opens the session; throws yoke::Exception that names the parameter when something cannot be attached.
  static std::shared_ptr<Binding> make(Replica& replica, Parts parts, AttachOptions options);

  void backward(const torch::Tensor& loss);
  Outcome step();
  bool lost() const { return exchange_->abandoned(); }
  bool done() const { return session_->assignment().done; }

  // What a Trainable needs to run the session itself: layout and places before, these during. Where the exchange is
  // known when new values are installed, gradients are born in its memory from then until `flush`; else in `backward`.
  Binding(Parts parts, AttachOptions options, const Options& job, std::uint32_t replica);
  const Layout& layout() const { return layout_; }
  std::span<float> place(SlotId slot);
  void use(Exchange* exchange);  // null: it is no longer there
  // Late values can be awaited by the operations that take them: they are where the operations read them.
  bool can_await() const;
  void listen();                         // hooks on; the binding is owned by a shared_ptr
  void install(const Assignment& next);  // new values are in their places
  void flush();                          // hands in what no hook did

 private:
  struct Slotted {
    std::string name;
    torch::Tensor tensor;
    torch::Tensor place;  // host memory: the tensor's own, or a stage for a tensor on a device
    torch::Tensor mean;   // own optimizer: where the mean gradient arrives
    std::shared_ptr<torch::autograd::Node> accumulator;
    const void* data = nullptr;  // where the tensor's values were when it was attached
    bool buffer = false;
    bool frozen = false;
    bool wants_gradient = true;  // when it was attached
    std::uint32_t fired = 0;     // backward passes of this step that reached it
    bool handed_in = false;
  };
  class Hook;

  void add_parameters(const Parts& parts);
  void add_buffers(const Parts& parts, Buffers policy);
  void note_gradient_sizes();
  void on_gradient(SlotId slot);
  void hand_in(SlotId slot);
  torch::Tensor host_gradient(const Slotted& slot, const torch::Tensor& gradient) const;
  void check_unmoved() const;
  void start_anew();
  void step_own_optimizer();
  void forget_means();
  std::unique_ptr<GradientMemory> gradient_memory();

  const AttachOptions options_;
  const std::uint64_t seed_;
  const bool deterministic_;
  const bool sends_buffers_;
  torch::optim::Optimizer* own_optimizer_;
  const std::uint32_t replica_;
  Layout layout_;
  std::vector<Slotted> slots_;
  std::vector<std::size_t> gradient_sizes_;  // in bytes, ascending: those worth placing
  void await_late();

  train::Session* session_ = nullptr;
  Exchange* exchange_ = nullptr;
  std::unique_ptr<GradientMemory> gradient_memory_;  // on from the beginning of a step until the gradient is handed in
  std::vector<SlotId> late_;                         // of the present assignment's values
  std::unique_ptr<LateValues> awaiting_;             // until the gradient is handed in
  std::mutex mutex_;                                 // hooks may fire on a device's thread
  std::string problem_;                              // found in a hook, thrown from step
  std::atomic<bool> may_give_up_{false};
  std::atomic<bool> armed_{false};
};

}  // namespace yoke::torch_adapter
