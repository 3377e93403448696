#include "core/replica_side.h"

#include <algorithm>
#include <utility>

namespace yoke::core {

ReplicaSide::ReplicaSide(Life life, const BlockPlan& plan, std::uint64_t samples, std::uint32_t batch)
    : life_(life),
      plan_(plan),
      samples_(samples),
      batch_(batch),
      versions_(plan.shards()),
      early_(plan.shards()),
      missed_(plan.shards()) {}

void ReplicaSide::join(Effects& out) { out.push_back(Send{kSequencer, Hello{life_, samples_, batch_}}); }

void ReplicaSide::on(const Event& event, Time, Effects& out) {
  if (const auto* reset = std::get_if<Reset>(&event)) {
    if (reset->peer == kSequencer) return join(out);
    const auto shard = reset->peer.id;
    missed_[shard] = true;
    if (!work_ || verdict(work_->gradient.sequence)) return;
    if (!versions_[shard]) out.push_back(Send{reset->peer, Pull{life_, work_->step}});
    for (const auto& [block, pushed] : pushed_)
      if (plan_.blocks[block].shard == shard) send_push(block, out);
    return;
  }
  const auto* received = std::get_if<Received>(&event);
  if (!received) return;
  if (const auto* m = std::get_if<Assign>(&received->message)) {
    if (m->gradient.life != life_) return;
    const Sequence newest = std::max(work_ ? work_->gradient.sequence : 0, next_ ? next_->gradient.sequence : 0);
    if (m->gradient.sequence <= newest) return;
    next_ = *m;
    take_next(out);
  } else if (const auto* settled = std::get_if<Settled>(&received->message)) {
    const auto& told = settled->verdict;
    if (told.gradient.life != life_) return;
    if (verdict_ && told.gradient.sequence <= verdict_->gradient.sequence) return;
    verdict_ = told;
    take_next(out);
  } else if (const auto* parameters = std::get_if<Parameters>(&received->message)) {
    if (parameters->life != life_ || parameters->shard >= versions_.size()) return;
    auto& early = early_[parameters->shard];
    early = std::max(early, parameters->version);
    if (!work_ || parameters->version < work_->step) return;  // the answer to an older pull
    auto& version = versions_[parameters->shard];
    if (!version) version = parameters->version;
  } else if (const auto* over = std::get_if<Done>(&received->message)) {
    done_ = *over;
  } else if (const auto* turned = std::get_if<Turned>(&received->message)) {
    if (turned->life != life_) return;
    turned_ = turned->reason.empty() ? "no reason was given" : turned->reason;
    drained_ = turned->drained;
  }
}

// The verdict on the present work comes first, even when the next assignment overtook it on the way.
void ReplicaSide::take_next(Effects& out) {
  if (!next_ || (work_ && !verdict(work_->gradient.sequence))) return;
  work_ = std::move(next_);
  next_.reset();
  pushed_.clear();
  std::fill(versions_.begin(), versions_.end(), std::nullopt);
  // The update that its gradient is part of comes unasked.
  const bool comes = verdict_ && verdict_->fate == Fate::applied && verdict_->version >= work_->step;
  for (ShardId shard = 0; shard < plan_.shards(); ++shard) {
    const bool missed = missed_[shard];
    missed_[shard] = false;
    if (early_[shard] >= work_->step && early_[shard] > 0)
      versions_[shard] = early_[shard];
    else if (!comes || missed)
      out.push_back(Send{shard_at(shard), Pull{life_, work_->step}});
  }
}

bool ReplicaSide::parameters_here() const {
  return work_ && std::all_of(versions_.begin(), versions_.end(), [](const auto& v) { return v.has_value(); });
}

Version ReplicaSide::base() const {
  Version oldest = ~Version{0};
  for (const auto& version : versions_) oldest = std::min(oldest, version.value_or(0));
  return oldest;
}

void ReplicaSide::installed(ShardId shard, Version version) { versions_[shard] = version; }

void ReplicaSide::push(BlockId block, Ticket ticket, std::uint32_t samples, Effects& out) {
  pushed_[block] = {ticket, samples};
  send_push(block, out);
}

void ReplicaSide::send_push(BlockId block, Effects& out) const {
  const auto& pushed = pushed_.at(block);
  out.push_back(
      Send{shard_at(plan_.blocks[block].shard), Push{work_->gradient, base(), block, pushed.ticket, pushed.samples}});
}

const Verdict* ReplicaSide::verdict(Sequence sequence) const {
  return verdict_ && verdict_->gradient.sequence >= sequence ? &*verdict_ : nullptr;
}

}  // namespace yoke::core
