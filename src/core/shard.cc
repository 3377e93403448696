#include "core/shard.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/planted.h"

namespace yoke::core {

Shard::Shard(ShardId id, const BlockPlan& plan, Version committed, bool twin)
    : id_(id),
      plan_(plan),
      blocks_(plan.of_shard.at(id)),
      backing_(twin ? Backing::gated : Backing::none),
      filled_(twin),
      committed_(committed),
      commit_through_(committed) {}

void Shard::on(const Event& event, Time, Effects& out) {
  if (const auto* received = std::get_if<Received>(&event)) {
    if (const auto* m = std::get_if<Push>(&received->message)) on_push(*m, out);
    if (const auto* m = std::get_if<Pull>(&received->message)) on_pull(*m, out);
    if (const auto* m = std::get_if<Fence>(&received->message)) on_fence(m->life, out);
    if (const auto* m = std::get_if<Record>(&received->message); m && m->index >= next_index_) {
      if (records_.emplace(m->index, *m).second && planted(Bug::capture_before_the_mark) && m->mark)
        out.push_back(Capture{m->mark, committed_});
      next_record(out);
    }
    if (const auto* m = std::get_if<Scale>(&received->message);
        m && pass_ && m->step == pass_->record.step && pass_->record.clip && !pass_->started) {
      scales_[m->step] = m->factor;
      start_pass(out);
    }
    if (const auto* m = std::get_if<Forecast>(&received->message)) on_forecast(*m, out);
    if (const auto* m = std::get_if<Commit>(&received->message)) {
      commit_through_ = std::max(commit_through_, m->version);
      show(out);
    }
  } else if (const auto* verified = std::get_if<Verified>(&event)) {
    on_verified(*verified, out);
  } else if (const auto* measured = std::get_if<BlockMeasured>(&event)) {
    on_measured(*measured, out);
  } else if (const auto* reduced = std::get_if<BlockReduced>(&event)) {
    if (ahead_ && ahead_->flying.contains(reduced->block))
      on_made_ahead(*reduced, out);
    else
      on_reduced(*reduced, out);
  } else if (const auto* mirrored = std::get_if<Mirrored>(&event)) {
    on_mirrored(*mirrored, out);
  } else if (const auto* backup = std::get_if<BackupChanged>(&event)) {
    on_backup(backup->there, out);
  } else if (const auto* captured = std::get_if<Captured>(&event)) {
    on_captured(*captured, out);
  } else if (const auto* reset = std::get_if<Reset>(&event)) {
    if (reset->peer == kSequencer) say_again(out);
  }
}

// --- receiving ---

GradientId Shard::key(const GradientId& gradient) const {
  if (planted(Bug::forget_the_incarnation)) return {{gradient.life.replica, 0}, gradient.sequence};
  return gradient;
}

bool Shard::settled(const GradientId& gradient) const {
  const auto it = settled_.find(gradient.life);
  return it != settled_.end() && gradient.sequence <= it->second;
}

void Shard::on_push(const Push& push, Effects& out) {
  const auto drop = [&] {
    if (push.ticket) out.push_back(Release{push.ticket});
  };
  if (std::find(blocks_.begin(), blocks_.end(), push.block) == blocks_.end()) return drop();
  if (!admit(push.gradient.life, out)) {
    if (!planted(Bug::forget_the_incarnation)) return drop();
  } else if (settled(push.gradient) && !planted(Bug::apply_twice_after_a_retry)) {
    return drop();
  }
  auto& staged = staged_[key(push.gradient)];
  if (staged.parts.contains(push.block)) return drop();  // sent again after a reset
  staged.base = staged.parts.empty() ? push.base : std::min(staged.base, push.base);
  staged.samples = push.samples;
  staged.parts[push.block] = {push.ticket, push.ticket == 0};
  const auto* expected = foreseen(push.gradient);
  if (!push.ticket) {
    ++staged.verified;
  } else if (!expected || ahead_->off || expected->weight == 0) {
    examine(push.gradient, push.block, out);
  }
  if (expected) make_ahead(push.block, out);
  // One that is early is known to be whole before the others have come.
  if (expected && staged.parts.size() == blocks_.size())
    for (const auto block : blocks_)
      if (!ahead_->flying.contains(block)) examine(push.gradient, block, out);
  const bool complete =
      planted(Bug::decide_before_verified) ? staged.parts.size() == blocks_.size() : staged.verified == blocks_.size();
  if (complete && staged.refused.empty()) report(push.gradient, staged, out);
}

void Shard::on_verified(const Verified& verified, Effects& out) {
  const auto it = verifying_.find(verified.ticket);
  if (it == verifying_.end()) return;
  const auto [gradient, block] = it->second;
  verifying_.erase(it);
  const auto found = staged_.find(key(gradient));
  if (found == staged_.end()) return let_go(block, verified.ticket, out);  // decided while it was being verified
  auto& staged = found->second;
  if (!verified.ok && !planted(Bug::decide_before_verified)) {
    if (!staged.refused.empty()) return;
    staged.refused = verified.reason;
    return report(gradient, staged, out);
  }
  mark_verified(gradient, block, verified.sum_squares, out);
}

void Shard::mark_verified(const GradientId& gradient, BlockId block, double sum_squares, Effects& out) {
  const auto found = staged_.find(key(gradient));
  if (found == staged_.end()) return;
  auto& staged = found->second;
  auto& part = staged.parts[block];
  if (std::exchange(part.verified, true)) return;
  staged.sum_squares += sum_squares;
  ++staged.verified;
  if (staged.verified == blocks_.size() && staged.refused.empty() && !planted(Bug::decide_before_verified))
    report(gradient, staged, out);
}

void Shard::report(const GradientId& gradient, const Staged& staged, Effects& out) const {
  out.push_back(Send{kSequencer, Report{id_, gradient, staged.base, staged.samples, staged.refused.empty(),
                                        staged.sum_squares, staged.refused}});
}

bool Shard::admit(const Life& life, Effects& out) {
  on_fence(life, out);
  return fence_[life.replica] == life.incarnation;
}

// A later life has begun. What the former one delivered completely stands until the log settles it; the rest never will
// be complete.
void Shard::on_fence(const Life& life, Effects& out) {
  auto& newest = fence_[life.replica];
  if (life.incarnation <= newest) return;
  newest = life.incarnation;
  std::vector<GradientId> unfinished;
  for (const auto& [gradient, staged] : staged_)
    if (gradient.life.replica == life.replica && gradient.life.incarnation < newest && staged.verified < blocks_.size())
      unfinished.push_back(gradient);
  if (planted(Bug::forget_the_incarnation)) return;
  for (const auto& gradient : unfinished) settle(gradient, out);
}

// Lets go of a gradient.
void Shard::settle(const GradientId& gradient, Effects& out) {
  auto& through = settled_[gradient.life];
  through = std::max(through, gradient.sequence);
  std::erase_if(settled_, [&](const auto& entry) {  // lives before the newest are fenced off anyway
    return entry.first.replica == gradient.life.replica && entry.first.incarnation < fence_[entry.first.replica];
  });
  const auto it = staged_.find(key(gradient));
  if (it == staged_.end()) return;
  for (const auto& [block, part] : it->second.parts)
    if (part.ticket) let_go(block, part.ticket, out);
  staged_.erase(it);
}

// What the driver still reads is released when it is through with it.
void Shard::let_go(BlockId block, Ticket ticket, Effects& out) {
  bool read = verifying_.contains(ticket);
  if (ahead_)
    if (const auto pass = ahead_->flying.find(block); pass != ahead_->flying.end())
      read =
          read || std::ranges::any_of(pass->second.shares, [&](const auto& share) { return share.ticket == ticket; });
  if (read) {
    orphans_.insert(ticket);
  } else {
    orphans_.erase(ticket);
    out.push_back(Release{ticket});
  }
}

void Shard::on_pull(const Pull& pull, Effects& out) {
  if (!admit(pull.life, out)) return;
  if (pull.at_least > committed_) {
    pulls_[pull.life.replica] = pull;
    return;
  }
  out.push_back(Send{replica_at(pull.life.replica), Parameters{pull.life, id_, committed_}});
}

// --- following the log ---

void Shard::next_record(Effects& out) {
  while (!pass_) {
    const auto it = records_.find(next_index_);
    if (it == records_.end()) return;
    auto record = std::move(it->second);
    records_.erase(it);
    ++next_index_;
    for (const auto& verdict : record.turned_away) settle(verdict.gradient, out);
    if (record.mark) {
      mark_ = record.mark;
      saved_.reset();
      if (!planted(Bug::capture_before_the_mark)) out.push_back(Capture{record.mark, committed_});
    }
    if (record.applied.empty()) continue;
    if (planted(Bug::different_sets_on_two_shards) && id_ == 1 && record.applied.size() > 1) record.applied.pop_back();
    pass_.emplace(Pass{.record = std::move(record)});
    if (ahead_ && as_foreseen(pass_->record)) {
      take_over(out);
    } else {
      call_off(out);
      if (!ahead_ || ahead_->flying.empty()) begin_pass(out);  // else when the last of them is through
    }
  }
}

void Shard::begin_pass(Effects& out) {
  if (ahead_ && (ahead_->spoilt || !ahead_->made.empty())) out.push_back(Unmake{});
  ahead_.reset();
  if (!pass_->record.clip) return start_pass(out);
  pass_->to_measure = {blocks_.begin(), blocks_.end()};
  for (auto block : blocks_) {
    if (plan_.blocks[block].averaged)  // no gradient: it has no part in the norm
      on_measured({block, pass_->record.step, 0}, out);
    else
      out.push_back(Measure{block, pass_->record.step, shares_of(block)});
  }
}

// The shares of a block in replica order; none at all when it is absent everywhere. A gradient's absent block counts as
// zero; an absent buffer does not count, and the rest make up the mean among themselves.
std::vector<Share> Shard::shares_of(BlockId block) const {
  std::vector<Forecast::Part> parts;
  for (const auto& part : pass_->record.applied) parts.push_back({part.gradient, part.weight});
  return shares_of(block, parts);
}

std::vector<Share> Shard::shares_of(BlockId block, const std::vector<Forecast::Part>& parts) const {
  std::vector<Share> shares;
  double present = 0;
  for (const auto& part : parts) {
    const auto it = staged_.find(key(part.gradient));
    Ticket ticket = 0;
    if (it != staged_.end())
      if (const auto p = it->second.parts.find(block); p != it->second.parts.end()) ticket = p->second.ticket;
    if (ticket && part.weight > 0) {  // who had no samples has nothing to add
      shares.push_back({part.gradient, ticket, part.weight});
      present += part.weight;
    }
  }
  if (plan_.blocks[block].averaged)
    for (auto& share : shares) share.weight /= present;
  return shares;
}

void Shard::start_pass(Effects& out) {
  pass_->started = true;
  pass_->to_reduce = {blocks_.begin(), blocks_.end()};
  const auto& record = pass_->record;
  const auto scale = scales_.find(record.step);
  for (auto block : blocks_)
    out.push_back(Reduce{block, record.step, shares_of(block), record.rate,
                         scale == scales_.end() || plan_.blocks[block].averaged ? 1 : scale->second});
}

void Shard::on_measured(const BlockMeasured& measured, Effects& out) {
  if (!pass_ || measured.step != pass_->record.step || !pass_->to_measure.erase(measured.block)) return;
  pass_->squares[measured.block] = measured.sum_squares;
  if (pass_->to_measure.empty()) say_again(out);
}

void Shard::on_reduced(const BlockReduced& reduced, Effects& out) {
  if (!pass_ || reduced.version != pass_->record.step + 1 || !pass_->to_reduce.erase(reduced.block)) return;
  if (pass_->to_reduce.empty()) finish_pass(out);
}

void Shard::finish_pass(Effects& out) {
  for (const auto& part : pass_->record.applied) settle(part.gradient, out);
  if (backing_ == Backing::filling || backing_ == Backing::gated) out.push_back(Mirror{pass_->record.step + 1});
  if (backing_ != Backing::gated || planted(Bug::tell_before_the_twin_has_it)) tell(out);
}

void Shard::tell(Effects& out) {
  if (!made_next() || std::exchange(pass_->told, true)) return;
  out.push_back(Send{kSequencer, wire::Reduced{id_, pass_->record.step + 1}});
  show(out);
}

// --- ahead of the log ---

void Shard::on_forecast(const Forecast& forecast, Effects& out) {
  const bool news = forecast.step >= heard_of_;  // else it may have been taken back since
  heard_of_ = std::max(heard_of_, forecast.step + 1);
  if (forecast.parts.empty()) {
    if (ahead_ && ahead_->forecast.step == forecast.step) call_off(out);
    return;
  }
  if (!news || pass_ || ahead_ || !records_.empty() || forecast.step != committed_) return;
  ahead_.emplace(Ahead{.forecast = forecast});
  for (const auto block : blocks_) make_ahead(block, out);
}

const Forecast::Part* Shard::foreseen(const GradientId& gradient) const {
  if (!ahead_) return nullptr;
  const auto& parts = ahead_->forecast.parts;
  const auto it = std::ranges::find(parts, gradient, &Forecast::Part::gradient);
  return it == parts.end() ? nullptr : &*it;
}

// Makes the block if every gradient of it is there.
void Shard::make_ahead(BlockId block, Effects& out) {
  if (!ahead_ || ahead_->off || ahead_->flying.contains(block) || ahead_->made.contains(block)) return;
  for (const auto& part : ahead_->forecast.parts) {
    if (part.weight == 0) continue;
    const auto it = staged_.find(key(part.gradient));
    if (it == staged_.end() || !it->second.refused.empty() || !it->second.parts.contains(block)) return;
  }
  const Reduce pass{block, committed_, shares_of(block, ahead_->forecast.parts), ahead_->forecast.rate, 1, true};
  ahead_->flying.emplace(block, pass);
  out.push_back(pass);
}

void Shard::on_made_ahead(const BlockReduced& reduced, Effects& out) {
  auto node = ahead_->flying.extract(reduced.block);
  auto& pass = node.mapped();
  for (const auto& share : pass.shares)
    if (orphans_.contains(share.ticket)) let_go(reduced.block, share.ticket, out);
  const bool decided = pass_.has_value();
  const bool keeps = decided && pass_->started;  // as foreseen: the record has come meanwhile
  if (reduced.ok) {
    for (const auto& share : pass.shares) mark_verified(share.gradient, reduced.block, 0, out);
    if (keeps) {
      out.push_back(Keep{pass});
      pass_->to_reduce.erase(reduced.block);
    }
    if (keeps || !ahead_->off) {
      Preview preview{reduced.block, reduced.version, {}};
      for (const auto& part : ahead_->forecast.parts) preview.lives.push_back(part.gradient.life);
      out.push_back(std::move(preview));
    }
    ahead_->made.emplace(std::move(node.key()), std::move(pass));
  } else {
    // Whose it was, each on its own will show. All of it was found sound before, and only the sum is not: so be it.
    ahead_->spoilt = true;
    call_off(out);
    if (keeps) out.push_back(Reduce{reduced.block, pass_->record.step, pass.shares, pass.rate, pass.scale});
    for (const auto& share : pass.shares) examine(share.gradient, reduced.block, out);
  }
  if (keeps && pass_->to_reduce.empty()) return finish_pass(out);
  if (decided && !keeps && ahead_->flying.empty()) begin_pass(out);
}

bool Shard::as_foreseen(const Record& record) const {
  if (planted(Bug::keep_what_was_foreseen)) return true;
  const auto& forecast = ahead_->forecast;
  if (ahead_->off || record.step != forecast.step || record.clip || record.rate != forecast.rate) return false;
  return std::ranges::equal(record.applied, forecast.parts, [](const auto& a, const auto& b) {
    return a.gradient == b.gradient && a.weight == b.weight;
  });
}

// It is decided as it was foreseen: what is made counts, the rest is on its way or made now.
void Shard::take_over(Effects& out) {
  pass_->started = true;
  for (const auto block : blocks_) {
    if (const auto made = ahead_->made.find(block); made != ahead_->made.end()) {
      out.push_back(Keep{made->second});
      continue;
    }
    pass_->to_reduce.insert(block);
    if (!ahead_->flying.contains(block))
      out.push_back(Reduce{block, pass_->record.step, shares_of(block), pass_->record.rate, 1});
  }
  if (pass_->to_reduce.empty()) finish_pass(out);
}

// Nothing more is made ahead; what nobody has looked at is looked at now.
void Shard::call_off(Effects& out) {
  if (!ahead_ || std::exchange(ahead_->off, true)) return;
  for (const auto& part : ahead_->forecast.parts) {
    const auto it = staged_.find(key(part.gradient));
    if (it == staged_.end()) continue;
    for (const auto& [block, piece] : it->second.parts)
      if (!ahead_->flying.contains(block)) examine(part.gradient, block, out);
  }
}

// Unless that was done or is being done.
void Shard::examine(const GradientId& gradient, BlockId block, Effects& out) {
  const auto it = staged_.find(key(gradient));
  if (it == staged_.end()) return;
  const auto& part = it->second.parts.at(block);
  if (part.ticket && !part.verified && verifying_.try_emplace(part.ticket, gradient, block).second)
    out.push_back(Verify{part.ticket, block});
}

// --- held twice ---

void Shard::on_mirrored(const Mirrored& mirrored, Effects& out) {
  if (backing_ == Backing::filling) {  // the slice has arrived; the rest is on its way
    backing_ = Backing::gated;
    told_ = made_next() && pass_->told ? pass_->record.step + 1 : committed_;
  }
  if (backing_ != Backing::gated) return;
  if (!filled_ && (mirrored.version >= told_ || planted(Bug::take_a_backup_for_filled_too_early))) {
    filled_ = true;
    out.push_back(TellFilled{});
  }
  if (made_next() && mirrored.version == pass_->record.step + 1) tell(out);
}

void Shard::on_backup(bool there, Effects& out) {
  filled_ = false;
  backing_ = there ? Backing::awaited : Backing::none;
  tell(out);  // nobody waits for one that has nothing
  fill(out);
}

// Between two passes: what is shown is whole then, and the means of all that follows can be kept.
void Shard::fill(Effects& out) {
  if (backing_ != Backing::awaited || pass_) return;
  if (ahead_ && !(ahead_->flying.empty() && ahead_->made.empty())) return;  // their means were not kept
  backing_ = Backing::filling;
  out.push_back(Fill{committed_});
}

void Shard::show(Effects& out) {
  if (!made_next() || commit_through_ <= pass_->record.step) return;
  scales_.erase(pass_->record.step);
  committed_ = pass_->record.step + 1;
  standing_ = std::move(pass_->record.standing);
  const auto contributors = std::move(pass_->record.applied);
  pass_.reset();
  ahead_.reset();
  out.push_back(Publish{committed_});
  fill(out);
  for (const auto& part : contributors) {  // whose gradient is in it need not ask
    const auto& life = part.gradient.life;
    if (fence_[life.replica] == life.incarnation) pulls_.try_emplace(life.replica, Pull{life, committed_});
  }
  for (auto it = pulls_.begin(); it != pulls_.end();) {
    const auto pull = it->second;
    if (pull.at_least > committed_) {
      ++it;
      continue;
    }
    it = pulls_.erase(it);
    out.push_back(Send{replica_at(pull.life.replica), Parameters{pull.life, id_, committed_}});
  }
  next_record(out);
}

void Shard::on_captured(const Captured& captured, Effects& out) {
  const PartSaved part{id_, captured.token, captured.ok, captured.sum, captured.reason};
  if (captured.token == mark_) saved_ = part;
  out.push_back(Send{kSequencer, part});
}

// Everything the sequencer may have missed.
void Shard::say_again(Effects& out) const {
  for (const auto& [gradient, staged] : staged_)
    if (!staged.refused.empty() || staged.verified == blocks_.size()) report(gradient, staged, out);
  if (pass_ && pass_->record.clip && !pass_->started && pass_->to_measure.empty()) {
    double sum = 0;  // in block order: the same bits every time
    for (const auto& [block, squares] : pass_->squares) sum += squares;
    out.push_back(Send{kSequencer, wire::Measured{id_, pass_->record.step, sum}});
  }
  if (made_next() && pass_->told)
    out.push_back(Send{kSequencer, wire::Reduced{id_, pass_->record.step + 1}});
  else if (committed_ > 0)
    out.push_back(Send{kSequencer, wire::Reduced{id_, committed_}});
  if (saved_) out.push_back(Send{kSequencer, *saved_});
}

}  // namespace yoke::core
