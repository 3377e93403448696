#include "torch_adapter/binding.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/hash.h"
#include "torch_adapter/threads.h"

namespace yoke::torch_adapter {
namespace {

[[noreturn]] void refuse(std::string message) { throw Exception({Code::invalid_argument, std::move(message)}); }

std::vector<std::int64_t> shape_of(const torch::Tensor& tensor) { return tensor.sizes().vec(); }

std::span<float> span_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// A row that no gradient touched stays as it is: then a sparse gradient and the same one made dense do the same.
bool leaves_zeros_alone(const Optimizer& optimizer) {
  if (const auto* sgd = std::get_if<SGD>(&optimizer)) return sgd->momentum == 0 && sgd->weight_decay == 0;
  if (const auto* adagrad = std::get_if<Adagrad>(&optimizer)) return adagrad->weight_decay == 0;
  return false;
}

}  // namespace

// Called by autograd when a parameter's gradient is complete. Outlives the binding if the parameter does.
class Binding::Hook : public torch::autograd::FunctionPostHook {
 public:
  Hook(std::weak_ptr<Binding> binding, SlotId slot) : binding_(std::move(binding)), slot_(slot) {}

  torch::autograd::variable_list operator()(const torch::autograd::variable_list& outputs,
                                            const torch::autograd::variable_list&) override {
    if (const auto binding = binding_.lock()) binding->on_gradient(slot_);
    return outputs;
  }

 private:
  std::weak_ptr<Binding> binding_;
  SlotId slot_;
};

Binding::Binding(Parts parts, AttachOptions options, const Options& job, std::uint32_t replica)
    : options_(options),
      seed_(job.seed),
      deterministic_(job.deterministic),
      sends_buffers_(job.buffers == Buffers::mean || (job.buffers == Buffers::chief && replica == 0)),
      own_optimizer_(parts.own_optimizer),
      replica_(replica) {
  if (options_.backwards_per_step == 0) refuse("backwards_per_step must be at least 1");
  if (own_optimizer_ && job.strategy != Strategy::mirrored)
    refuse(
        "an optimizer of your own works under --strategy mirrored; under sync and async the servers update: pass "
        "yoke::SGD, Adagrad, RMSProp, Adam or AdamW");
  add_parameters(parts);
  add_buffers(parts, job.buffers);
  note_gradient_sizes();
}

// None with a parameter on a device: its gradients are copied to host memory anyway, and by another thread.
void Binding::note_gradient_sizes() {
  const auto on_host = [](const auto& slot) { return slot.tensor.is_cpu(); };
  if (!std::all_of(slots_.begin(), slots_.end(), on_host)) return;
  for (const auto& slot : slots_)
    if (!slot.buffer && !slot.frozen && slot.tensor.nbytes() >= kSmallestShared)
      gradient_sizes_.push_back(slot.tensor.nbytes());
  std::sort(gradient_sizes_.begin(), gradient_sizes_.end());
}

void Binding::add_parameters(const Parts& parts) {
  for (const auto& group : parts.groups) layout_.groups.push_back(group.optimizer);
  const bool all = parts.groups.size() == 1 && parts.groups.front().parameters.empty();
  for (const auto& [name, tensor] : parts.parameters) {
    // A tied parameter has two names and one gradient.
    const auto same = [&t = tensor](const auto& other) { return other.tensor.is_same(t); };
    if (std::any_of(slots_.begin(), slots_.end(), same)) continue;
    std::uint32_t group = 0;
    bool grouped = all;
    for (std::uint32_t g = 0; g < parts.groups.size() && !grouped; ++g)
      for (const auto& member : parts.groups[g].parameters)
        if (member.is_same(tensor)) {
          grouped = true;
          group = g;
        }
    if (tensor.scalar_type() != torch::kFloat)
      refuse(fmt::format("parameter {} is {}, not float32; call .to(torch::kFloat) before attach()", name,
                         c10::toString(tensor.scalar_type())));
    if (!tensor.is_contiguous()) refuse(fmt::format("parameter {} is not contiguous in memory", name));
    Slotted slot{.name = name,
                 .tensor = tensor,
                 .frozen = !tensor.requires_grad() || !grouped,
                 .wants_gradient = tensor.requires_grad()};
    slot.data = tensor.data_ptr();
    slot.place = tensor.is_cpu() ? tensor.detach() : tensor.detach().cpu();
    if (own_optimizer_) slot.mean = torch::zeros_like(slot.place);
    layout_.slots.push_back({name, shape_of(tensor), group, slot.frozen});
    slots_.push_back(std::move(slot));
  }
}

// Batch-norm's running statistics: slots whose mean becomes everybody's value. Integers (how many batches were seen)
// stay each replica's own.
void Binding::add_buffers(const Parts& parts, Buffers policy) {
  const auto group = static_cast<std::uint32_t>(layout_.groups.size());
  bool any = false;
  for (const auto& [name, tensor] : parts.buffers) {
    if (!tensor.defined() || tensor.scalar_type() != torch::kFloat || !tensor.is_contiguous()) continue;
    Slotted slot{.name = name, .tensor = tensor, .buffer = true, .frozen = policy == Buffers::local};
    slot.data = tensor.data_ptr();
    slot.place = tensor.is_cpu() ? tensor.detach() : tensor.detach().cpu();
    if (own_optimizer_) slot.mean = slot.place;
    layout_.slots.push_back({name, shape_of(tensor), group, slot.frozen, true});
    slots_.push_back(std::move(slot));
    any = true;
  }
  if (any) layout_.groups.push_back(Average{});
}

std::span<float> Binding::place(SlotId slot) { return span_of(slots_[slot].place); }

std::shared_ptr<Binding> Binding::make(Replica& replica, Parts parts, AttachOptions options) {
  use_threads(replica.options().threads_per_replica);
  auto binding = std::make_shared<Binding>(std::move(parts), options, replica.options(), replica.id());
  std::vector<std::span<float>> places;
  for (SlotId slot = 0; slot < binding->slots_.size(); ++slot) places.push_back(binding->place(slot));
  // Whoever else still has the binding when the replica is gone: in this thread nothing comes from its memory any more.
  std::shared_ptr<void> keep(nullptr, [binding](void*) {
    binding->gradient_memory_.reset();
    binding->awaiting_.reset();
  });
  auto& session = replica.open(binding->layout_, std::move(places), std::move(keep), true);
  binding->session_ = &session;
  if (binding->own_optimizer_) {  // the parameters are the chief's by now; from here on means arrive, not parameters
    std::vector<std::span<float>> means;
    for (const auto& slot : binding->slots_) means.push_back(span_of(slot.mean));
    binding->forget_means();
    session.redirect(std::move(means));
  }
  binding->install({});
  binding->use(&session.exchange());
  if (options.late_values && binding->can_await()) session.leave_late();
  binding->listen();
  auto* raw = binding.get();  // the replica keeps the binding for as long as the session
  if (binding->own_optimizer_) session.on_applied([raw] { raw->step_own_optimizer(); });
  session.on_begin([raw](const Assignment& next) { raw->install(next); });
  return binding;
}

void Binding::listen() {
  for (SlotId id = 0; id < slots_.size(); ++id) {
    auto& slot = slots_[id];
    if (slot.buffer || slot.frozen) continue;
    slot.accumulator = torch::autograd::impl::grad_accumulator(slot.tensor);
    slot.accumulator->add_post_hook(std::make_unique<Hook>(weak_from_this(), id));
  }
}

bool Binding::can_await() const {
  return !own_optimizer_ && std::ranges::all_of(slots_, [](const Slotted& slot) { return slot.tensor.is_cpu(); });
}

void Binding::use(Exchange* exchange) {
  exchange_ = exchange;
  await_late();
}

void Binding::await_late() {
  awaiting_.reset();
  if (!exchange_ || late_.empty()) return;
  std::vector<LateValues::Late> late;
  for (const auto slot : late_) late.push_back({slot, LateValues::storage_of(slots_[slot].tensor)});
  awaiting_ = std::make_unique<LateValues>(*exchange_, std::move(late));
}

void Binding::install(const Assignment& next) {
  const torch::NoGradGuard no_grad;
  start_anew();
  for (auto& slot : slots_)
    if (!slot.tensor.is_cpu() && (!own_optimizer_ || slot.buffer)) slot.tensor.copy_(slot.place);
  // The generator is one for the whole process; under `deterministic` replicas compute one at a time, each from a seed
  // of its own, and so draw the same numbers in every run, also in one that goes on from a checkpoint.
  if (deterministic_) torch::manual_seed(mix(mix(seed_, replica_), next.step));
  late_ = next.late;
  await_late();
  armed_ = !next.done;
  gradient_memory_ = exchange_ && armed_ ? gradient_memory() : nullptr;
}

// --- the backward pass ---

std::unique_ptr<GradientMemory> Binding::gradient_memory() {
  return std::make_unique<GradientMemory>(*exchange_, gradient_sizes_);
}

void Binding::backward(const torch::Tensor& loss) {
  struct Permission {
    explicit Permission(std::atomic<bool>& which) : flag(which) { flag = true; }
    ~Permission() { flag = false; }
    std::atomic<bool>& flag;
  } permission(may_give_up_);
  const auto memory = gradient_memory_ ? nullptr : gradient_memory();
  try {
    loss.backward();
  } catch (const GivenUp&) {
  }
}

void Binding::on_gradient(SlotId id) {
  if (!armed_) return;
  auto& slot = slots_[id];
  if (session_ && !session_->started()) {  // a loop without samples(): data without a size
    const auto gradient = slot.tensor.grad();
    session_->start(0, 1).or_throw();
    if (const auto here = session_->await_values(); !here && here.error().code != Code::cancelled) here.or_throw();
    slot.tensor.mutable_grad() = gradient;
  }
  {
    const std::lock_guard lock(mutex_);
    if (++slot.fired > options_.backwards_per_step && problem_.empty())
      problem_ = fmt::format(
          "the gradient of {} came in {} backward passes before step(), but backwards_per_step is {}: for gradient "
          "accumulation say attach(net, optimizer, {{.backwards_per_step = {}}}); when another network's loss "
          "goes back through this one, set requires_grad to false meanwhile",
          slot.name, slot.fired, options_.backwards_per_step, slot.fired);
    if (slot.fired < options_.backwards_per_step || slot.handed_in) return;
  }
  hand_in(id);
  if (may_give_up_ && exchange_->abandoned()) throw GivenUp{};
}

torch::Tensor Binding::host_gradient(const Slotted& slot, const torch::Tensor& gradient) const {
  torch::Tensor dense = gradient;
  if (gradient.is_sparse()) {
    const auto& optimizer = layout_.groups[layout_.slots[&slot - slots_.data()].group];
    if (!own_optimizer_ && !leaves_zeros_alone(optimizer))
      refuse(fmt::format(
          "parameter {} has a sparse gradient, and its optimizer would also move the rows that were not touched; build "
          "the embedding with sparse(false), or use SGD without momentum and weight decay, or Adagrad without decay",
          slot.name));
    dense = gradient.to_dense();
  }
  return dense.cpu().contiguous();
}

void Binding::hand_in(SlotId id) {
  auto& slot = slots_[id];
  const torch::NoGradGuard no_grad;
  auto gradient = std::make_shared<torch::Tensor>();
  try {
    *gradient = host_gradient(slot, slot.tensor.grad());
  } catch (const Exception& problem) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = problem.what();
    return;
  }
  slot.tensor.mutable_grad().reset();
  {
    const std::lock_guard lock(mutex_);
    slot.handed_in = true;
  }
  const auto status = exchange_->ready(id, {span_of(*gradient), gradient});
  if (!status) {
    const std::lock_guard lock(mutex_);
    if (problem_.empty()) problem_ = status.error().message;
  }
}

// --- the step ---

// Catches what would go wrong silently: torch::load, .to() or set_data() after attach() give a parameter other memory,
// and autograd another accumulator, which our hook is not on.
void Binding::check_unmoved() const {
  for (const auto& slot : slots_) {
    if (slot.tensor.data_ptr() != slot.data || slot.tensor.scalar_type() != torch::kFloat)
      refuse(
          fmt::format("{} {} was moved after attach() (by torch::load, .to() or set_data()?); load weights and choose "
                      "the device before attach()",
                      slot.buffer ? "buffer" : "parameter", slot.name));
    if (slot.buffer) continue;
    const bool other_hook =
        !slot.frozen && torch::autograd::impl::try_get_grad_accumulator(slot.tensor) != slot.accumulator;
    if (other_hook || slot.tensor.requires_grad() != slot.wants_gradient)
      refuse(fmt::format("parameter {} was frozen or unfrozen after attach(); set requires_grad before attach()",
                         slot.name));
  }
}

// What the hooks did not hand in: gradients that fewer backward passes reached than make a step, and buffers.
void Binding::flush() {
  armed_ = false;
  const auto until_handed_in = std::move(gradient_memory_);
  const auto awaits_buffers = std::move(awaiting_);
  if (!problem_.empty()) refuse(std::exchange(problem_, {}));
  check_unmoved();
  if (exchange_->abandoned()) return;
  const torch::NoGradGuard no_grad;
  for (SlotId id = 0; id < slots_.size(); ++id) {
    auto& slot = slots_[id];
    if (slot.frozen || slot.handed_in) continue;
    if (slot.buffer && sends_buffers_) {
      auto copy = std::make_shared<torch::Tensor>(slot.tensor.detach().cpu().clone());
      exchange_->ready(id, {span_of(*copy), copy}).or_throw();
    } else if (slot.fired > 0 && slot.tensor.grad().defined()) {
      hand_in(id);
    }
  }
  if (awaits_buffers && problem_.empty()) problem_ = awaits_buffers->problem();
  if (!problem_.empty()) refuse(std::exchange(problem_, {}));
}

// Also lets go of what an abandoned backward pass left behind.
void Binding::start_anew() {
  for (auto& slot : slots_) {
    slot.fired = 0;
    slot.handed_in = false;
    if (!slot.buffer) slot.tensor.mutable_grad().reset();
  }
}

// A mean that did not arrive (no replica used the parameter) leaves `.grad` undefined, and the optimizer skips it.
// Means are finite, so NaN marks those that were taken.
void Binding::step_own_optimizer() {
  const torch::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    if (slot.buffer || slot.frozen || slot.mean.numel() == 0 || std::isnan(*slot.mean.data_ptr<float>())) continue;
    slot.tensor.mutable_grad() = slot.mean.to(slot.tensor.device());
  }
  own_optimizer_->step();
  start_anew();
  forget_means();
}

void Binding::forget_means() {
  for (auto& slot : slots_)
    if (!slot.buffer && slot.mean.numel() > 0) *slot.mean.data_ptr<float>() = std::numeric_limits<float>::quiet_NaN();
}

Outcome Binding::step() {
  if (!session_->started()) session_->start(0, 1).or_throw();
  flush();
  return session_->step().or_throw();
}

}  // namespace yoke::torch_adapter
