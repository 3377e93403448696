// One body, run by many replicas: as threads of one process, or each in a process of its own (Options::processes).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "yoke/error.h"
#include "yoke/options.h"
#include "yoke/trainable.h"

namespace yoke {

namespace train {
class Job;
class Session;
class Turn;
}  // namespace train

// The sample numbers of one step.
using Batch = std::vector<std::uint64_t>;

class Samples;

// One copy of the model and the thread that works on it. Handed to the body of `run`; valid while the body runs.
class Replica {
 public:
  Replica(train::Job& job, std::uint32_t id);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  std::uint32_t id() const { return id_; }
  // The chief initialises the parameters, evaluates and saves.
  bool chief() const { return id_ == 0; }
  const Options& options() const;

  // Ties a network to the job; all replicas attach the same networks in the same order, and start from the chief's
  // values. The network must outlive what is returned. (Defined for LibTorch modules by yoke/torch.h.)
  template <class Network, class... Arguments>
  auto attach(Network&& network, Arguments&&... arguments) {
    return attach_to(*this, std::forward<Network>(network), std::forward<Arguments>(arguments)...);
  }

  // Batches of sample numbers below `size` until the job's epochs are over: each sample counts once an epoch, whatever
  // is dropped. `batch` samples a replica and step, unless the options schedule it otherwise. Call after `attach`: the
  // steps of the first attached network pace it.
  Samples samples(std::uint64_t size, std::uint32_t batch);

  // For adapters: opens the session of the next attached network. `values` are the slots' places in host memory, `keep`
  // owns that memory: others may write there until this replica has left, even when the body's own variables are gone.
  train::Session& open(Layout layout, std::vector<std::span<float>> values, std::shared_ptr<void> keep,
                       bool takes_a_core);
  // Takes part no more; `run` calls it when the body has ended.
  void leave(const std::string& reason);

 private:
  train::Job& job_;
  std::uint32_t id_;
  std::unique_ptr<train::Turn> turn_;
  std::vector<std::shared_ptr<void>> kept_;
  std::vector<std::unique_ptr<train::Session>> sessions_;
};

// A range of batches for a plain `for`.
class Samples {
 public:
  class Iterator {
   public:
    explicit Iterator(train::Session* session);
    const Batch& operator*() const { return batch_; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return session_ != other.session_; }

   private:
    void take();
    train::Session* session_;     // null: the end
    std::uint64_t sequence_ = 0;  // the assignment it stands at
    Batch batch_;                 // its samples; the step in the loop's body already brings the next
  };
  explicit Samples(train::Session& session) : session_(&session) {}
  Iterator begin() { return Iterator(session_); }
  Iterator end() { return Iterator(nullptr); }

 private:
  train::Session* session_;
};

// What the job amounted to.
struct Summary {
  std::uint64_t steps = 0;  // updates committed
  std::uint64_t epochs = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  // Gradients asked of replicas, and what became of them: assigned = applied + dropped + refused once training is over.
  std::uint64_t assigned = 0, applied = 0, dropped = 0, refused = 0;
  std::vector<std::uint64_t> staleness;  // [s]: gradients applied at staleness s
  struct PerReplica {
    std::uint64_t applied = 0, dropped = 0, refused = 0;
    double mean_staleness = 0;
    double mean_step_seconds = 0;  // of its own work: from having the parameters to having the gradient
    std::string lost;              // why it left before the end; empty: it did not
    std::uint64_t lives = 1;       // how often it joined
  };
  std::vector<PerReplica> replicas;
  // How often a sample counted in an epoch, over all epochs that were finished: 1 and 1. Both 0: no epoch was.
  std::uint32_t least_counted = 0, most_counted = 0;
  std::string stopped;             // why it ended before its epochs or steps were over; empty: it did not
  std::uint64_t degraded = 0;      // updates made of fewer gradients than configured, because replicas were gone
  std::string checkpoint;          // the newest that is whole; empty: none was made
  std::string checkpoint_problem;  // why the last attempt failed; empty: it did not
};

// Runs `body` once a replica. Returns when all have returned. A replica whose body throws is lost: the job goes on
// without it where the strategy allows, and otherwise ends with an error that names it. Where this process is one
// replica of many (Options::processes), `body` runs once, in the calling thread; the summary is that of the whole job,
// and an error is what this process's replica failed with, whatever became of the others.
Result<Summary> run_job(const Options& options, const std::function<void(Replica&)>& body);

// The same for `main`: says what went wrong on standard error and returns the exit status.
int run(const Result<Options>& options, const std::function<void(Replica&)>& body);

// Options for `main`: on a mistake or `--help` the text is printed by `run`, which then starts nothing.
Result<Options> options_from(int argc, char** argv);

}  // namespace yoke
