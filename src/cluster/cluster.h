// One network's cluster as its replicas see it: servers (or each other's memory) that take gradients and give
// parameters. In this process (LocalCluster) or in others (RemoteCluster); the strategy and the trainer do not know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cluster/block_store.h"
#include "cluster/tally.h"
#include "core/block_plan.h"
#include "wire/job.h"
#include "wire/messages.h"
#include "yoke/error.h"
#include "yoke/trainable.h"

namespace yoke::cluster {

// What a replica is to do next, or that there is nothing more.
struct Work {
  wire::Assign assign;
  bool done = false;
  std::vector<SlotId> late;  // parameters that have not come yet
  Time pulling{};            // when the wait was over and the parameters began to come in; on the clock of `now`
};

class Cluster {
 public:
  virtual ~Cluster() = default;

  virtual const core::BlockPlan& plan() const = 0;
  virtual const Layout& layout() const = 0;

  // A replica takes its seat; `places` are its values, which become the chief's (replica 0's). Waits for the chief.
  virtual Status attach(wire::ReplicaId replica, Places places) = 0;
  // Says hello; at most once a replica. `samples` 0: the data has no size.
  virtual void join(wire::ReplicaId replica, std::uint64_t samples, std::uint32_t batch) = 0;
  // Waits for the next work and brings the parameters for it into the replica's places, but for those that are late.
  virtual Result<Work> next(wire::ReplicaId replica) = 0;
  // Waits for a slot's, in the replica's own thread. Code::cancelled: they do not come any more, the step is lost.
  virtual Status await(wire::ReplicaId replica, SlotId slot) = 0;
  // One slot of the gradient; an absent one has no values. From any thread, each slot once.
  virtual void push(wire::ReplicaId replica, SlotId slot, Payload gradient) = 0;
  // Memory from which a gradient is pushed without being copied, where there is a difference; null: there is none.
  virtual std::shared_ptr<std::byte> memory(std::size_t bytes) = 0;
  // The gradient of the present work can no longer count. From any thread.
  virtual bool abandoned(wire::ReplicaId replica) const = 0;
  // Waits for the verdict on the present work.
  virtual Result<wire::Verdict> settle(wire::ReplicaId replica) = 0;
  // The replica takes part no more. Its memory is not touched after this returns. Harmless when it has left already.
  virtual void leave(wire::ReplicaId replica, const std::string& reason) = 0;
  // Ends training: what is decided is committed, then every replica is done.
  virtual void stop(const std::string& reason) = 0;
  // A replica that does something else for a while (evaluates) is there all the same: nobody's deadline runs out.
  virtual void stir() = 0;
  // From now on the mean of these slots' payloads is written here instead (mirrored; an optimizer of the user's own).
  virtual void redirect(wire::ReplicaId replica, Places places) = 0;

  // Tells the chief what a replica of this process did in a step; in one process the chief knows already.
  virtual void tell(const wire::StepNews& news) = 0;
  // Called with what replicas of other processes did, while this process has the chief: from `tell`, `stir` and
  // `await_conclusion`. Set before `join`.
  virtual void on_news(std::function<void(const wire::StepNews&)> call) = 0;
  // Does this replica evaluate and report? In one process any does that finds it due.
  virtual bool chief(wire::ReplicaId replica) const = 0;
  // It was asked to go, and has nothing more to do: others go on.
  virtual bool drained(wire::ReplicaId) const { return false; }
  // Training is over: waits until this replica is the one to draw the conclusion (true), or another has done so.
  virtual Result<bool> await_conclusion(wire::ReplicaId replica) = 0;
  // This replica has drawn it. False: it was taken for lost meanwhile, and another draws it.
  virtual bool conclude(wire::ReplicaId replica) = 0;

  // Every replica of this process has left: what is still to be done about checkpoints is begun, and then waited for.
  virtual void wind_up() {}
  virtual void await_disk() {}

  virtual Time now() const = 0;
  virtual bool done() const = 0;
  virtual wire::Version committed() const = 0;  // as far as this process knows
  // What it all amounted to so far; asked of the first server where that is another process. Without servers and
  // places.
  virtual Result<wire::Account> account() = 0;
};

}  // namespace yoke::cluster
