// The seam between a thing that can be trained and a strategy. It is per slot, not per step, so that a gradient can
// leave while the backward pass still runs and come back while the next forward pass already does.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "yoke/error.h"
#include "yoke/optimizer.h"
#include "yoke/state.h"

namespace yoke {

using SlotId = std::uint32_t;

// One parameter (or buffer) of the model: what is pushed, reduced and pulled, in blocks of about 1 MiB.
struct Slot {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint32_t group = 0;  // index into Layout::groups: which optimizer, which learning rate
  bool frozen = false;      // starts from the chief's values and stays there
  bool buffer = false;      // no parameter: the mean over the replicas that have it becomes the value, unclipped

  std::size_t size() const {
    std::size_t n = 1;
    for (auto d : shape) n *= static_cast<std::size_t>(d);
    return n;
  }
};

// Slots in the order of the forward pass, and the optimizer of each group. Every replica of a job has the same.
struct Layout {
  std::vector<Slot> slots;
  std::vector<Optimizer> groups;
};

// A gradient handed over, from the doorbell (`ready`) to the release. `keep` owns the memory: the receiver drops it
// when it has no more use for the bytes. Host memory; a device's tensor is staged by the adapter.
struct Payload {
  std::span<const float> values;
  std::shared_ptr<const void> keep;
};

// What a replica is to work on next.
struct Assignment {
  std::uint64_t sequence = 0;  // which of this replica's assignments
  std::uint64_t step = 0;      // the update it is meant for
  std::uint32_t epoch = 0;
  std::uint64_t counted = 0;           // samples that had counted when it was given out
  std::vector<std::uint64_t> samples;  // sample numbers; empty: the data has no size, and nothing is counted
  std::vector<std::uint64_t> ahead;    // what somebody will probably be asked for soon: to be prepared meanwhile
  std::vector<SlotId> late;            // whose values have not come yet: `await` each before it is used
  bool idle = false;                   // mirrored: take part in the step, there is nothing to compute
  bool done = false;                   // training is over
};

// What became of a gradient.
struct Outcome {
  enum class Fate { applied, dropped, refused };
  Fate fate = Fate::applied;
  std::uint64_t version = 0;    // the newest version when it was decided
  std::uint64_t staleness = 0;  // versions behind
  std::string why;              // in words
  bool dropped() const { return fate != Fate::applied; }
  const std::string& reason() const { return why; }
};

// One replica's side of one network's exchange of gradients for parameters. `ready` may be called from any thread,
// the rest from the replica's own. Every wait ends at the job's deadline with an error that names who was waited for.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // Waits for work. Parameters that are still to come then may be used when `await` has returned for them.
  virtual Result<Assignment> begin() = 0;
  // Code::cancelled: it is not all there, and what is computed on it will not count.
  virtual Status await(SlotId slot) = 0;
  // A slot's gradient is there. At most once a slot and step.
  virtual Status ready(SlotId slot, Payload gradient) = 0;
  // Memory at a cache line from which a gradient is handed over without being copied (shared with the servers of this
  // host); null: there is none, any memory will do. From any thread; it is used again when the last owner lets go.
  virtual std::shared_ptr<std::byte> memory(std::size_t) { return nullptr; }
  // True when this step's gradient can no longer count: give up.
  virtual bool abandoned() const = 0;
  // Slots that were not ready are absent. Waits until it is decided.
  virtual Result<Outcome> finish() = 0;
};

// What one step computed.
struct StepResult {
  double loss = 0;   // mean over the samples
  double right = 0;  // how many of them were right, where that means something
};

// Data that is not trained on.
enum class HeldOut { validation, test };

struct Metric {
  std::string name;  // "top5", "mae", "perplexity"
  double value = 0;
};

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy;  // of tasks that have right and wrong answers
  std::uint64_t samples = 0;       // 0: there was no such data
  std::vector<Metric> metrics;     // others, by task

  // Larger is better: the accuracy where there is one, else the loss turned round.
  double score() const { return accuracy ? *accuracy : -loss; }
};

// A model with its loss and data, as `fit` trains it. One instance a replica, used by that replica's thread alone.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual const Layout& layout() const = 0;
  // Where the slot's values live, in host memory. They are written only between `finish` and the return of `begin`;
  // those of a slot that is late then, until the return of `await`.
  virtual std::span<float> values(SlotId slot) = 0;
  // How many samples an epoch has; 0: the data has no size, and nothing is counted.
  virtual std::uint64_t samples() const = 0;
  // Does the work take a core (and so a turn), or does it only pass time?
  virtual bool takes_a_core() const { return true; }
  // Does `compute` await late values itself, each slot's before it uses them? If not, it begins when all are there.
  virtual bool awaits() const { return false; }
  // New values are in place for this assignment, but for those that are late: a model that lives on a device takes them
  // from there.
  virtual void install(const Assignment&) {}
  // Gradients of the mean loss over these samples, each slot handed to `exchange.ready`; may stop early, with whatever
  // result, when the exchange says that the step is abandoned.
  virtual Result<StepResult> compute(std::span<const std::uint64_t> samples, Exchange& exchange) = 0;
  // How good the present values are on data that is not trained on. Calls `breathe` now and then, and stops with
  // Code::cancelled when that says no.
  virtual Result<Evaluation> evaluate(HeldOut part, const std::function<bool()>& breathe) = 0;
  // The values of all slots, and what else belongs to the model's state; by default the slots alone.
  virtual State state();
  // Puts a state back; tensors it does not have stay as they are.
  virtual Status restore(const State& state);
};

// Makes one replica's; called in that replica's thread.
using MakeTrainable = std::function<Result<std::unique_ptr<Trainable>>(std::uint32_t replica)>;

}  // namespace yoke
