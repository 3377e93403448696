#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "history/tally.h"
#include "sim/world.h"

namespace yoke::sim {

using std::chrono::microseconds;
using std::chrono::milliseconds;

void World::start(Process& process) {
  process.life.incarnation = born_[process.life.replica] += random_.between(1, 3);
  process.side = std::make_unique<core::ReplicaSide>(process.life, shape_.plan, shape_.samples, shape_.batch);
  process.in_hand.assign(shape_.plan.shards(), 0);
  process.computing.reset();
  trace([&] { return fmt::format("replica {} begins life {}", process.life.replica, process.life.incarnation); });
  core::Effects out;
  process.side->join(out);
  perform(wire::replica_at(process.life.replica), out);
}

void World::crash(Process& process, const std::string& why) {
  const auto life = process.life;
  if (shape_.twins && may_lose(life.replica)) throw ProcessLost{life.replica, why};
  const auto there = std::count_if(processes_.begin(), processes_.end(), [](const auto& p) { return !p.gone; });
  process.side.reset();
  process.still_until = {};
  process.held.clear();
  process.gone =
      !shape_.twins && there > shape_.options.min_replicas && !peace() && random_.chance(shape_.faults.stay_dead);
  links_.renew(wire::replica_at(life.replica), now_);
  ++outcome_.counts.crashes;
  trace([&] {
    return fmt::format("replica {} (life {}) {}{}", life.replica, life.incarnation, why,
                       process.gone ? " for good" : "");
  });
  after(random_.between(microseconds(100), milliseconds(60)), [this, life] {
    // The end of a life that another has taken the place of may go unnoticed.
    if (heard_[life.replica] <= life.incarnation || random_.chance(0.5)) strike_off(life);
  });
  if (!process.gone)
    after(random_.between(Duration(1), shape_.faults.back_within + milliseconds(1)),
          [this, life] { start(processes_[life.replica]); });
}

void World::strike_off(const wire::Life& life) {
  const std::string reason = "the connection was lost";
  trace([&] {
    return fmt::format("the sequencer is told that life {} of replica {} is over", life.incarnation, life.replica);
  });
  recorder_.add(now_, history::Left{life, reason});
  deliver(wire::kSequencer, core::Down{life, reason});
}

void World::crash_until_peace() {
  if (shape_.faults.crash_every.count() == 0) return;
  after(random_.between(Duration(1), 2 * shape_.faults.crash_every), [this] {
    if (peace()) return;
    if (auto& process = processes_[random_.below(processes_.size())]; process.side) {
      if (random_.chance(shape_.faults.false_alarm)) {
        strike_off(process.life);
        break_link(wire::kSequencer, wire::replica_at(process.life.replica));
      } else {
        crash(process, "dies");
      }
    }
    crash_until_peace();
  });
}

void World::drain_until_peace() {
  if (shape_.recovery.drain_every.count() == 0) return;
  after(fate_.between(Duration(1), 2 * shape_.recovery.drain_every), [this] {
    if (peace()) return;
    const auto replica = static_cast<wire::ReplicaId>(fate_.below(processes_.size()));
    trace([&] { return fmt::format("replica {} is to be drained", replica); });
    ++outcome_.counts.drains;
    deliver(wire::kSequencer, core::Drain{replica, "it is wanted elsewhere"});
    drain_until_peace();
  });
}

void World::stand_still_until_peace() {
  if (shape_.recovery.stop_every.count() == 0) return;
  after(fate_.between(Duration(1), 2 * shape_.recovery.stop_every), [this] {
    if (peace()) return;
    if (auto& process = processes_[fate_.below(processes_.size())]; process.side && process.still_until <= now_)
      stand_still(process);
    stand_still_until_peace();
  });
}

// Its connections stand, and what it has sent arrives. It may be taken for dead meanwhile, and does not know.
void World::stand_still(Process& process) {
  const auto life = process.life;
  const auto time = fate_.between(milliseconds(1), milliseconds(300));
  trace([&] { return fmt::format("replica {} (life {}) stands still", life.replica, life.incarnation); });
  ++outcome_.counts.stops;
  process.still_until = now_ + time;
  after(time, [this, life] { wake(life); });
  if (fate_.chance(0.5)) return;
  after(fate_.between(milliseconds(1), time), [this, life] {
    if (processes_[life.replica].life != life || !processes_[life.replica].side) return;
    strike_off(life);
    break_link(wire::kSequencer, wire::replica_at(life.replica));
  });
}

void World::wake(const wire::Life& life) {
  auto& process = processes_[life.replica];
  if (!process.side || process.life != life) return;
  trace([&] { return fmt::format("replica {} (life {}) goes on", life.replica, life.incarnation); });
  process.still_until = {};
  for (const auto& event : std::exchange(process.held, {}))
    if (process.life == life) hear(process, event);
}

void World::hear(Process& process, const core::Event& event) {
  if (!process.side) return;
  if (process.still_until > now_) {
    process.held.push_back(event);
    return;
  }
  if (const auto* received = std::get_if<core::Received>(&event)) {
    if (const auto* parameters = std::get_if<wire::Parameters>(&received->message)) {
      if (parameters->life != process.life) return;
      auto& version = process.in_hand[parameters->shard];
      version = std::max(version, parameters->version);
    }
    if (const auto* assign = std::get_if<wire::Assign>(&received->message))
      if (assign->gradient.life == process.life) learn_committed(process, assign->step);
    if (const auto* settled = std::get_if<wire::Settled>(&received->message))
      if (settled->verdict.gradient.life == process.life) recorder_.add(now_, history::Told{settled->verdict});
  }
  core::Effects out;
  const auto before = process.side->work();
  process.side->on(event, now_, out);
  if (before && process.side->work()->gradient != before->gradient && !process.side->verdict(before->gradient.sequence))
    outcome_.violations.push_back("a replica moved on without a verdict on " + history::name(before->gradient));
  if (!out.empty() && !peace() && random_.chance(shape_.faults.die_midway)) {
    out.resize(random_.below(out.size()));
    perform(wire::replica_at(process.life.replica), out);
    return crash(process, "dies midway");
  }
  perform(wire::replica_at(process.life.replica), out);
  go_on(process);
}

void World::go_on(Process& process) {
  const auto& side = *process.side;
  if (!side.turned_away().empty()) return crash(process, "gives up: " + side.turned_away());
  if (side.done() || !side.parameters_here() || process.computing == side.work()->gradient) return;
  if (side.verdict(side.work()->gradient.sequence)) return;
  compute(process);
}

// Every block's gradient becomes ready in its own time, and is pushed then.
void World::compute(Process& process) {
  const auto gradient = process.side->work()->gradient;
  process.computing = gradient;
  for (wire::ShardId shard = 0; shard < shards_.size(); ++shard) {
    const auto shown = shape_.reads_newest ? shards_[shard].committed() : 0;
    const auto version = std::max(process.in_hand[shard], shown);
    process.side->installed(shard, version);
    recorder_.add(now_, history::Installed{gradient, shard, version});
  }
  const auto& range = process.side->work()->range;
  const double absent = range && range->size() == 0 ? 0.7 : shape_.absent;
  for (const auto& block : shape_.plan.blocks) {
    wire::Ticket ticket = 0;
    if (!random_.chance(absent)) {
      ticket = sound_.size();
      sound_.push_back(peace() || !random_.chance(shape_.faults.damage));
    }
    after(while_working(shape_.slowness[gradient.life.replica] * 4), [this, gradient, block = block.id, ticket] {
      push(processes_[gradient.life.replica], gradient, block, ticket);
    });
  }
}

void World::push(Process& process, const wire::GradientId& gradient, wire::BlockId block, wire::Ticket ticket) {
  if (!process.side || process.side->done() || process.computing != gradient) return;
  if (process.still_until > now_) {
    queue_.add(process.still_until + microseconds(1),
               [this, gradient, block, ticket] { push(processes_[gradient.life.replica], gradient, block, ticket); });
    return;
  }
  if (process.side->work()->gradient != gradient) return;                       // settled, and on to the next
  if (process.side->verdict(gradient.sequence) && random_.chance(0.5)) return;  // told that it no longer counts
  const auto& range = process.side->work()->range;
  const auto samples = range ? static_cast<std::uint32_t>(range->size()) : shape_.batch;
  core::Effects out;
  process.side->push(block, ticket, samples, out);
  perform(wire::replica_at(process.life.replica), out);
}

}  // namespace yoke::sim
