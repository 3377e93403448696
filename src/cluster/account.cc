#include "cluster/account.h"

namespace yoke::cluster {

wire::Account account_of(const wire::JobTerms& terms, const core::Sequencer& sequencer, const Tally& tally) {
  wire::Account account;
  account.strategy = terms.strategy;
  account.step = sequencer.committed();
  account.steps = terms.steps;
  account.epochs = sequencer.epochs_counted();
  account.epochs_asked = terms.epochs;
  account.samples = tally.samples();
  account.assigned = tally.assigned();
  account.least_counted = tally.least_counted();
  account.most_counted = tally.most_counted();
  account.staleness = tally.staleness();
  account.stopped = sequencer.stopped();
  account.degraded = tally.degraded();
  account.done = sequencer.done();
  if (!account.done) account.waiting_for = sequencer.waiting_for();
  for (wire::ReplicaId id = 0; id < terms.replicas; ++id) {
    const auto& counts = tally.by_replica()[id];
    wire::ReplicaAccount replica;
    replica.id = id;
    replica.present = sequencer.alive(id);
    replica.applied = counts.applied;
    replica.dropped = counts.dropped;
    replica.refused = counts.refused;
    replica.staleness = counts.staleness;
    replica.gone = sequencer.why_gone(id);
    account.replicas.push_back(std::move(replica));
  }
  return account;
}

}  // namespace yoke::cluster
