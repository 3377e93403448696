#include "core/sequencer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/planted.h"
#include "core/schedule.h"
#include "core/staleness.h"

namespace yoke::core {

Sequencer::Sequencer(SequencerOptions options, std::optional<Standing> standing)
    : options_(std::move(options)),
      members_(options_.replicas),
      from_(std::move(standing)),
      reduced_(options_.shards, 0),
      checkpoints_(options_.shards) {
  if (!from_) return;
  decided_ = committed_ = from_->version;
  std::fill(reduced_.begin(), reduced_.end(), from_->version);
  samples_decided_ = from_->samples_decided;
  warmup_end_ = from_->warmup_end;
}

void Sequencer::on(const Event& event, Time, Effects& out) {
  if (const auto* received = std::get_if<Received>(&event)) {
    if (const auto* m = std::get_if<Hello>(&received->message)) on_hello(*m, out);
    if (const auto* m = std::get_if<Report>(&received->message)) on_report(*m, out);
    if (const auto* m = std::get_if<wire::Measured>(&received->message)) on_measured(*m, out);
    if (const auto* m = std::get_if<wire::Reduced>(&received->message)) on_reduced(*m, out);
    if (const auto* m = std::get_if<PartSaved>(&received->message)) checkpoints_.on_part(*m, out);
  } else if (const auto* reset = std::get_if<Reset>(&event)) {
    if (reset->peer.role == Address::Role::shard) on_shard_reset(reset->peer.id, out);
  } else if (const auto* down = std::get_if<Down>(&event)) {
    on_down(down->life, down->reason, out);
  } else if (const auto* stop = std::get_if<Stop>(&event)) {
    on_stop(stop->reason);
  } else if (const auto* drain = std::get_if<Drain>(&event)) {
    on_drain(*drain);
  } else if (const auto* request = std::get_if<TakeCheckpoint>(&event)) {
    checkpoints_.ask(*request);
  } else if (const auto* sealed = std::get_if<Sealed>(&event)) {
    checkpoints_.on_sealed(*sealed, out);
  }
  advance(out);
}

void Sequencer::on_hello(const Hello& hello, Effects& out) {
  const auto to = replica_at(hello.life.replica);
  if (has_data_ && (hello.samples != samples_ || hello.batch != batch_)) {
    out.push_back(
        Send{to, Turned{hello.life, fmt::format("replica {} has {} samples in batches of {}, the job has {} in "
                                                "batches of {}: give every replica the same data",
                                                hello.life.replica, hello.samples, hello.batch, samples_, batch_)}});
    return;
  }
  if (!has_data_ && from_ && hello.samples != from_->samples) {
    out.push_back(
        Send{to, Turned{hello.life, fmt::format("replica {} has {} samples, and the checkpoint was made with {} "
                                                "samples: go on with the same data, or begin anew",
                                                hello.life.replica, hello.samples, from_->samples)}});
    return;
  }
  const bool replaces = members_.alive(hello.life.replica) && !members_.alive(hello.life);
  const auto decision = members_.hello(hello.life);
  if (decision.kind == JoinDecision::Kind::refused) {
    const auto it = replicas_.find(hello.life.replica);
    if (it == replicas_.end() || !it->second.drained || it->second.drained->life != hello.life) {
      out.push_back(Send{to, Turned{hello.life, decision.reason}});
      return;
    }
    if (it->second.last_verdict) out.push_back(Send{to, Settled{*it->second.last_verdict}});
    out.push_back(Send{to, *it->second.drained});
    return;
  }
  if (decision.kind == JoinDecision::Kind::again) return resend(hello.life, out);

  if (!has_data_) {
    has_data_ = true;
    samples_ = hello.samples;
    batch_ = std::max(1u, hello.batch);
    if (samples_ > 0) {
      const LedgerOptions options{samples_, batch_, options_.batch_schedule, options_.epochs, !options_.async};
      from_ && from_->ledger ? ledger_.emplace(options, *from_->ledger) : ledger_.emplace(options);
    }
  }
  auto& replica = replicas_[hello.life.replica];
  if (replica.open) {  // the former life's: a whole gradient stands, an unfinished one never will be
    const auto open = *replica.open;
    if (unfinished(open))
      append({.turned_away = {turn_away(open, Fate::dropped, "its replica began a new life")}, .reason = "rejoin"},
             out);
  }
  replica = {};
  // Newcomers start level with the slowest, or they would hold everybody back.
  std::optional<std::uint64_t> slowest;
  for (const auto& life : members_.all_alive())
    if (life.replica != hello.life.replica)
      slowest = std::min(slowest.value_or(~0ull), replicas_[life.replica].settled);
  replica.settled = slowest.value_or(0);
  to_shards(Fence{hello.life}, out);
  out.push_back(Say{replaces ? decision.reason + ", in place of its former life" : decision.reason});
  if (done_) resend(hello.life, out);
}

void Sequencer::resend(const Life& life, Effects& out) {
  const auto to = replica_at(life.replica);
  const auto& replica = replicas_[life.replica];
  if (replica.last_verdict) out.push_back(Send{to, Settled{*replica.last_verdict}});
  if (replica.open && open_.contains(*replica.open)) {
    const auto& work = open_.at(*replica.open);
    out.push_back(Send{to, Assign{*replica.open, work.step, work.range, work.counted}});
  }
  if (done_) out.push_back(Send{to, Done{committed_, "training is over"}});
}

void Sequencer::on_report(const Report& report, Effects& out) {
  auto it = open_.find(report.gradient);
  if (planted(Bug::apply_twice_after_a_retry) && it == open_.end() && report.ok && options_.async) {
    const auto& last = replicas_[report.gradient.life.replica].last_verdict;
    if (last && last->gradient == report.gradient && last->fate == Fate::applied) {
      std::vector<bool> reported(options_.shards, true);
      reported.at(report.shard) = false;
      it = open_
               .emplace(report.gradient, Work{.samples = report.samples,
                                              .reported = std::move(reported),
                                              .reports = options_.shards - 1,
                                              .base = report.base})
               .first;
    }
  }
  if (it == open_.end()) return;
  auto& work = it->second;
  if (!report.ok) {
    const auto life = report.gradient.life;
    auto& replica = replicas_[life.replica];
    const auto verdict = turn_away(report.gradient, Fate::refused, report.reason);
    append({.turned_away = {verdict}, .reason = report.reason}, out);
    tell(verdict, out);
    if (members_.alive(life) && ++replica.refusals >= options_.max_refusals) {
      const auto why = fmt::format("struck off after {} refused gradients in a row, the last because {}",
                                   replica.refusals, report.reason);
      out.push_back(Send{replica_at(life.replica), Turned{life, why}});
      on_down(life, why, out);
    }
    return;
  }
  if (report.shard >= options_.shards) return;
  if (work.reported[report.shard]) {
    if (planted(Bug::count_a_replica_twice) && work.whole) whole_.push_back(report.gradient);
    return;
  }
  work.reported[report.shard] = true;
  work.base = work.reports == 0 ? report.base : std::min(work.base, report.base);
  if (++work.reports < options_.shards) return;
  work.whole = true;
  whole_.push_back(report.gradient);
  if (options_.async) decide_one(report.gradient, out);
}

void Sequencer::on_down(const Life& life, const std::string& reason, Effects& out) {
  if (!members_.down(life, reason)) return;
  out.push_back(Say{fmt::format("replica {} is gone: {}", life.replica, reason)});
  const auto it = replicas_.find(life.replica);
  if (it == replicas_.end() || !it->second.open) return;
  const auto open = *it->second.open;
  if (!unfinished(open)) return;  // a complete gradient stands
  append({.turned_away = {turn_away(open, Fate::dropped, "its replica is gone: " + reason)}, .reason = reason}, out);
}

void Sequencer::on_stop(const std::string& reason) {
  if (!done_ && stop_.empty()) stop_ = reason.empty() ? "it was stopped" : reason;
}

void Sequencer::on_drain(const Drain& drain) {
  if (members_.alive(drain.replica)) replicas_.at(drain.replica).draining = drain.reason;
}

void Sequencer::let_go(Effects& out) {
  if (done_) return;
  for (const auto& life : members_.all_alive()) {
    auto& replica = replicas_.at(life.replica);
    if (!replica.draining) continue;
    // Too few to decide anything: a complete gradient stands, and its replica need not wait for it.
    if (replica.open && (!short_handed() || unfinished(*replica.open))) continue;
    replica.drained = Turned{life, *replica.draining, true};
    out.push_back(Send{replica_at(life.replica), *replica.drained});
    on_down(life, *replica.draining, out);
  }
}

Verdict Sequencer::turn_away(const GradientId& gradient, Fate fate, std::string reason) {
  const auto it = open_.find(gradient);
  const auto& work = it->second;
  // Until every shard has reported, how old it is is known only from the version it was meant for.
  const Version base = work.whole ? work.base : work.step;
  const Verdict verdict{gradient, fate, decided_, decided_ - std::min(base, decided_), std::move(reason)};
  if (ledger_ && work.range) fate == Fate::refused ? ledger_->put_last(*work.range) : ledger_->put_back(*work.range);
  if (planted(Bug::advance_the_schedule_on_a_drop)) samples_decided_ += work.samples;
  std::erase(whole_, gradient);
  open_.erase(it);
  lineup_changed_ = true;
  close(verdict);
  return verdict;
}

void Sequencer::close(const Verdict& verdict) {
  auto& replica = replicas_[verdict.gradient.life.replica];
  if (replica.open != verdict.gradient) return;  // a former life's
  replica.open.reset();
  replica.last_verdict = verdict;
  replica.won = verdict.fate == Fate::applied;
  if (replica.won) replica.refusals = 0;
  if (!replica.warming) ++replica.settled;
}

void Sequencer::tell(const Verdict& verdict, Effects& out) {
  if (members_.alive(verdict.gradient.life))
    out.push_back(Send{replica_at(verdict.gradient.life.replica), Settled{verdict}});
}

// --- deciding ---

void Sequencer::advance(Effects& out) {
  let_go(out);
  if (!has_data_ || !members_.complete()) return;
  if (!done_ && over()) finish(out);
  mark(out);
  if (done_) return;
  // Before deciding: whoever can still take part in this step gets the chance, or a refused gradient would shrink it.
  hand_out(out);
  if (options_.async) {
    const auto waiting = whole_;  // until enough replicas were there to decide
    for (const auto& gradient : waiting) decide_one(gradient, out);
  } else {
    decide_step(out);
    foresee(out);
  }
  let_go(out);
}

void Sequencer::mark(Effects& out) {
  const auto* request = checkpoints_.due();
  if (!request || (decided_ < request->at_least && !done_)) return;
  // While too few are there to go on, nobody knows how long: what they work on counts as given back.
  if (!options_.async && (decided_ != committed_ || !(open_.empty() || short_handed()))) return;
  append({.mark = request->token, .reason = "a checkpoint"}, out);
  checkpoints_.begin(standing());
}

Standing Sequencer::standing() const {
  Standing standing{decided_, samples_, batch_, {}, samples_decided_, warmup_end_};
  if (!ledger_) return standing;
  std::vector<Range> outstanding;
  for (const auto& [gradient, work] : open_)
    if (work.range) outstanding.push_back(*work.range);
  std::sort(outstanding.begin(), outstanding.end());
  standing.ledger = ledger_->standing(outstanding);
  return standing;
}

bool Sequencer::unfinished(const GradientId& gradient) const {
  const auto it = open_.find(gradient);
  return it != open_.end() && !it->second.whole;
}

void Sequencer::decide_step(Effects& out) {
  if (decided_ != committed_ || open_.empty() || enough() || short_handed()) return;
  const auto whole = static_cast<std::uint32_t>(whole_.size());
  const auto working = static_cast<std::uint32_t>(open_.size()) - std::min<std::uint32_t>(whole, open_.size());
  const auto quorum = judge_quorum({wanted(), whole, working, members_.count_alive()});
  if (!quorum.ready) return;

  Record record{.step = decided_, .quorum = quorum.needed, .degraded = quorum.degraded, .rate = rate()};
  std::vector<GradientId> chosen(whole_.begin(), whole_.begin() + quorum.needed);
  std::sort(chosen.begin(), chosen.end());
  double samples = 0;
  for (const auto& id : chosen) samples += open_.at(id).samples;
  if (samples == 0) {  // whoever had samples is gone, and they went back: the step is formed again
    for (const auto& id : chosen) record.turned_away.push_back(turn_away(id, Fate::dropped, "a step without samples"));
    const auto empty_handed = record.turned_away;
    append({.turned_away = empty_handed, .reason = "a step without samples"}, out);
    for (const auto& verdict : empty_handed) tell(verdict, out);
    return hand_out(out);
  }
  for (const auto& id : chosen) {
    const auto& work = open_.at(id);
    record.applied.push_back(
        {id, work.base, decided_ - std::min(work.base, decided_), work.samples, work.samples / samples, work.range});
  }
  std::vector<GradientId> losers;
  for (const auto& [id, work] : open_)
    if (!std::binary_search(chosen.begin(), chosen.end(), id)) losers.push_back(id);
  if (planted(Bug::apply_a_late_gradient) && quorum.needed == wanted()) losers.clear();
  std::string names;
  for (const auto& id : losers) {
    record.turned_away.push_back(
        turn_away(id, Fate::dropped,
                  fmt::format("step {} was made of the {} fastest of {}", decided_, quorum.needed, options_.replicas)));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", id.life.replica);
  }
  record.reason = quorum.reason + (names.empty() ? "" : fmt::format("; dropped: replica {}", names));
  const auto turned_away = record.turned_away;
  append(std::move(record), out);
  for (const auto& verdict : turned_away) tell(verdict, out);
}

void Sequencer::decide_one(const GradientId& gradient, Effects& out) {
  if (short_handed() || enough()) return;  // it waits, or `finish` will turn it away
  const auto& work = open_.at(gradient);
  const auto staleness = decided_ - std::min(work.base, decided_);
  const auto judged = judge_staleness(options_.stale, staleness);
  if (!judged.apply) {
    const auto verdict = turn_away(gradient, Fate::dropped, judged.reason);
    append({.turned_away = {verdict}, .reason = judged.reason}, out);
    tell(verdict, out);
    return;
  }
  append({.step = decided_,
          .applied = {{gradient, work.base, staleness, work.samples, judged.factor, work.range}},
          .quorum = 1,
          .rate = rate(),
          .reason = judged.reason},
         out);
}

// Writes a record. What it applies is counted here and told when it is committed.
void Sequencer::append(Record record, Effects& out) {
  const bool warm = warming_up();
  record.index = next_index_++;
  if (record.applied.empty()) record.step = decided_;
  for (const auto& part : record.applied) {
    if (ledger_ && part.range) ledger_->count(*part.range);
    samples_decided_ += part.samples;
    std::erase(whole_, part.gradient);
    open_.erase(part.gradient);
  }
  if (!record.applied.empty()) {
    ++decided_;
    if (warm) warmup_end_ = decided_;
    // Asynchronous gradients are clipped one by one at the replica; only a mean has to be measured here.
    record.clip = options_.clip_norm > 0 && !options_.async;
    if (options_.everybody || options_.outlived) record.standing = standing();
  }
  to_shards(record, out);
  log_.emplace(record.index, std::move(record));
}

double Sequencer::rate() const {
  Progress progress;
  progress.samples = samples_decided_;
  progress.epoch_samples = static_cast<double>(samples_);
  const double batch = ledger_ ? ledger_->batch_in(ledger_->epoch()) : batch_;
  progress.update_samples = batch * (options_.async ? 1 : contributors());
  progress.total_samples = options_.steps > 0 ? static_cast<double>(options_.steps) * progress.update_samples
                                              : progress.epoch_samples * options_.epochs;
  return rate_at(options_.schedule, progress);
}

std::uint32_t Sequencer::epochs_counted() const {
  if (ledger_) return ledger_->epochs_counted();
  return from_ && from_->ledger ? from_->ledger->counted_epochs : 0;
}

// --- committing ---

void Sequencer::on_measured(const wire::Measured& measured, Effects& out) {
  if (measured.step != committed_ || decided_ == committed_ || measured.shard >= options_.shards) return;
  auto& norms = measured_[measured.step];
  norms[measured.shard] = measured.sum_squares;
  if (norms.size() < options_.shards) return;
  double sum = 0;
  for (const auto& [shard, squares] : norms) sum += squares;
  // As torch::nn::utils::clip_grad_norm_ does it.
  const double factor = std::min(1.0, options_.clip_norm / (std::sqrt(sum) + 1e-6));
  scales_[measured.step] = factor;
  to_shards(Scale{measured.step, factor}, out);
}

void Sequencer::on_reduced(const wire::Reduced& reduced, Effects& out) {
  if (reduced.shard >= options_.shards) return;
  reduced_[reduced.shard] = std::max(reduced_[reduced.shard], reduced.version);
  commit(out);
}

void Sequencer::commit(Effects& out) {
  const auto everywhere = planted(Bug::commit_before_every_shard) ? *std::max_element(reduced_.begin(), reduced_.end())
                                                                  : *std::min_element(reduced_.begin(), reduced_.end());
  if (everywhere <= committed_) return;
  committed_ = everywhere;
  to_shards(Commit{committed_}, out);
  while (!log_.empty() && (log_.begin()->second.applied.empty() || log_.begin()->second.step < committed_)) {
    // Pure drops that lie before a committed update have been seen by every shard, as records are applied in order;
    // trailing ones stay until the next commit.
    const auto& record = log_.begin()->second;
    if (record.applied.empty() && record.step >= committed_) break;
    for (const auto& part : record.applied) {
      const Verdict verdict{part.gradient, Fate::applied, record.step + 1, part.staleness, record.reason};
      close(verdict);
      tell(verdict, out);
    }
    measured_.erase(record.step);
    scales_.erase(record.step);
    log_.erase(log_.begin());
  }
}

void Sequencer::on_shard_reset(ShardId shard, Effects& out) {
  for (const auto& life : members_.all_alive()) out.push_back(Send{shard_at(shard), Fence{life}});
  for (const auto& [index, record] : log_) out.push_back(Send{shard_at(shard), record});
  for (const auto& [step, factor] : scales_) out.push_back(Send{shard_at(shard), Scale{step, factor}});
  if (committed_ > 0) out.push_back(Send{shard_at(shard), Commit{committed_}});
  if (forecast_ && forecast_->step == decided_) out.push_back(Send{shard_at(shard), *forecast_});
}

// --- handing out ---

bool Sequencer::warming_up() const {
  return decided_ < options_.warmup_steps || (ledger_ && ledger_->epochs_counted() < options_.warmup_epochs);
}

bool Sequencer::anybody_works() const {
  const auto lives = members_.all_alive();
  return std::any_of(lives.begin(), lives.end(), [&](const auto& life) { return replicas_.at(life.replica).open; });
}

// A former life's complete gradient stands for this step: one replica, one gradient.
bool Sequencer::stands(ReplicaId replica) const {
  return std::any_of(whole_.begin(), whole_.end(), [&](const auto& id) { return id.life.replica == replica; });
}

std::uint32_t Sequencer::count_in() const {
  std::uint32_t count = members_.count_alive();
  if (planted(Bug::keep_counting_a_drained_replica))
    for (const auto& [id, replica] : replicas_) count += replica.drained && !members_.alive(id);
  return count;
}

bool Sequencer::free(const Life& life) const {
  const auto& replica = replicas_.at(life.replica);
  return !replica.open && !replica.draining && !stands(life.replica);
}

bool Sequencer::comes_first(const Life& life) const {
  const auto lives = members_.all_alive();
  const auto first = std::find_if(lives.begin(), lives.end(),
                                  [&](const auto& other) { return !replicas_.at(other.replica).draining; });
  return first != lives.end() && *first == life;
}

bool Sequencer::may_work(const Life& life) const {
  if (!free(life)) return false;
  const auto& replica = replicas_.at(life.replica);
  // After a warm-up the others join from what came out of it, and so not before that is committed.
  const bool warm = warming_up() || committed_ < warmup_end_;
  if (warm && (!comes_first(life) || anybody_works())) return false;
  if (options_.async && options_.stale.max_lead) {
    std::uint64_t slowest = replica.settled;
    for (const auto& other : members_.all_alive()) slowest = std::min(slowest, replicas_.at(other.replica).settled);
    if (replica.settled - slowest >= std::max<std::uint64_t>(1, *options_.stale.max_lead)) return false;
  }
  return true;
}

void Sequencer::hand_out(Effects& out) {
  if (!options_.async && decided_ != committed_) return;
  if (enough() || short_handed()) return;
  // Winners first: when the ranges of an epoch run out, it is the slow that go without.
  auto lives = members_.all_alive();
  std::stable_sort(lives.begin(), lives.end(), [&](const auto& a, const auto& b) {
    return replicas_.at(a.replica).won > replicas_.at(b.replica).won;
  });
  for (const auto& life : lives) {
    if (!may_work(life)) continue;
    std::optional<Range> range;
    if (ledger_ && !(range = ledger_->take())) break;
    assign(life, range, out);
  }
  if (!options_.everybody || open_.empty()) return;
  const Range nothing{ledger_ ? ledger_->epoch() : 0, 0, 0};
  for (const auto& life : lives)
    if (free(life)) assign(life, nothing, out);
}

void Sequencer::assign(const Life& life, std::optional<Range> range, Effects& out) {
  auto& replica = replicas_.at(life.replica);
  const GradientId id{life, ++replica.last_sequence};
  replica.open = id;
  // While one warms up the others stand still: they are not behind, and must not stop it.
  replica.warming = warming_up();
  const auto samples = range ? static_cast<std::uint32_t>(range->size()) : batch_;
  const bool old = planted(Bug::newcomer_with_an_old_version) && id.sequence == 1 && committed_ > 0;
  const Assign work{id, committed_ - old, range, static_cast<std::uint64_t>(samples_decided_)};
  open_[id] = {.step = work.step,
               .range = range,
               .samples = samples,
               .counted = work.counted,
               .reported = std::vector<bool>(options_.shards)};
  lineup_changed_ = true;
  out.push_back(Send{replica_at(life.replica), work});
}

// Without spares a step is made of all that work on it. That is told once, and taken back when somebody comes or goes.
void Sequencer::foresee(Effects& out) {
  if (!options_.forecasts || !std::exchange(lineup_changed_, false)) return;
  if (forecast_ && forecast_->step == decided_) {
    if (forecast_->parts.empty()) return;
    forecast_->parts.clear();
    return to_shards(*forecast_, out);
  }
  if (decided_ != committed_) return;
  Forecast forecast{decided_, {}, rate()};
  double samples = 0;
  for (const auto& [id, work] : open_) samples += work.samples;
  if (samples == 0) return;
  for (const auto& [id, work] : open_) forecast.parts.push_back({id, work.samples / samples});
  forecast_ = std::move(forecast);
  to_shards(*forecast_, out);
}

bool Sequencer::over() const {
  if (decided_ != committed_) return false;
  return enough() || (ledger_ && ledger_->exhausted());
}

void Sequencer::finish(Effects& out) {
  Record record{.reason = "training is over"};
  // The last one first: each goes to the head of the queue, and they should come out in their order.
  while (!open_.empty())
    record.turned_away.push_back(turn_away(std::prev(open_.end())->first, Fate::dropped, record.reason));
  const auto turned_away = record.turned_away;
  if (!turned_away.empty()) append(std::move(record), out);
  for (const auto& verdict : turned_away) tell(verdict, out);
  done_ = true;
  for (const auto& life : members_.all_alive())
    out.push_back(Send{replica_at(life.replica), Done{committed_, "training is over"}});
}

void Sequencer::to_shards(const Message& message, Effects& out) const {
  for (ShardId shard = 0; shard < options_.shards; ++shard) out.push_back(Send{shard_at(shard), message});
}

std::string Sequencer::waiting_for() const {
  if (!members_.complete())
    return fmt::format("replicas to join ({} of {} are there)", members_.count_alive(), options_.replicas);
  if (const auto there = members_.count_alive(); short_handed())
    return fmt::format("replicas to join: {} {} there, at least {} are needed (--min-replicas)", there,
                       there == 1 ? "is" : "are", options_.min_replicas);
  std::string names;
  for (const auto& [id, work] : open_)
    if (!work.whole)
      names += fmt::format("{}replica {} (step {})", names.empty() ? "" : ", ", id.life.replica, work.step);
  if (!names.empty()) return names;
  for (ShardId shard = 0; shard < options_.shards; ++shard)
    if (reduced_[shard] < decided_) names += fmt::format("{}shard {}", names.empty() ? "" : ", ", shard);
  return names.empty() ? "nobody" : names;
}

}  // namespace yoke::core
