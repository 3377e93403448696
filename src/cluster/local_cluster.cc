#include "cluster/local_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "cluster/account.h"
#include "cluster/in_place_store.h"
#include "cluster/silence.h"
#include "cluster/terms.h"
#include "cluster/versioned_store.h"
#include "cluster/while_set.h"

namespace yoke::cluster {
namespace {

// Tells the core that this is a spinning loop.
void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

LocalCluster::LocalCluster(Layout layout, wire::JobTerms terms, LocalOptions options)
    : layout_(std::move(layout)),
      terms_(std::move(terms)),
      options_(std::move(options)),
      in_place_(in_place(terms_)),
      plan_(core::plan_blocks(layout_, terms_.shards)),
      sequencer_(sequencer_options(terms_, plan_.shards()),
                 options_.checkpointer ? options_.checkpointer->standing(options_.network) : std::nullopt),
      tally_(terms_.replicas) {
  if (in_place_)
    store_ = std::make_unique<InPlaceStore>(plan_, layout_.groups, mirrored(terms_));
  else
    store_ = std::make_unique<VersionedStore>(plan_, layout_.groups, update_options(terms_));
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard)
    shards_.emplace_back(shard, plan_, sequencer_.committed());
  if (auto* checkpointer = options_.checkpointer) {
    checkpointer->expect_network(plan_.shards());
    if (const auto standing = checkpointer->standing(options_.network)) tally_.go_on_from(*standing);
  }
  for (std::uint32_t i = 0; i < terms_.replicas; ++i) seats_.push_back(std::make_unique<Seat>());
}

Time LocalCluster::now() const { return std::chrono::steady_clock::now() - origin_; }

// --- the machines, under the lock ---

void LocalCluster::deliver(const wire::Address& to, core::Event event) {
  inbox_.emplace_back(to, std::move(event));
  drain();
}

void LocalCluster::drain() {
  core::Effects effects;
  while (!inbox_.empty()) {
    const auto [to, event] = std::move(inbox_.front());
    inbox_.pop_front();
    effects.clear();
    switch (to.role) {
      case wire::Address::Role::sequencer:
        sequencer_.on(event, now(), effects);
        break;
      case wire::Address::Role::shard:
        shards_[to.id].on(event, now(), effects);
        break;
      case wire::Address::Role::replica:
        if (auto& side = seats_[to.id]->side) {
          side->on(event, now(), effects);
          auto& seat = *seats_[to.id];
          if (seat.taken > 0 && side->verdict(seat.taken)) seat.abandoned = true;
        }
        break;
    }
    for (const auto& effect : effects) carry_out(to, effect);
    if (!inbox_.empty() || !options_.checkpointer) continue;
    if (const auto request = due()) inbox_.emplace_back(wire::kSequencer, *request);
  }
  changes_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
}

void LocalCluster::carry_out(const wire::Address& actor, const core::Effect& effect) {
  if (options_.recorder) options_.recorder->add_effect(now(), actor, effect);
  if (const auto* send = std::get_if<core::Send>(&effect)) {
    if (const auto* r = std::get_if<wire::Record>(&send->message); r && r->index >= next_record_) {
      next_record_ = r->index + 1;
      tally_.add(*r);
    }
    if (std::holds_alternative<wire::Assign>(send->message)) tally_.count_assignment();
    if (const auto* told = std::get_if<wire::Settled>(&send->message)) record(history::Told{told->verdict});
    inbox_.emplace_back(send->to, core::Received{actor, send->message});
  } else if (const auto* verify = std::get_if<core::Verify>(&effect)) {
    to_verify_.emplace_back(actor.id, *verify);
  } else if (const auto* measure = std::get_if<core::Measure>(&effect)) {
    jobs_.push_back({actor.id, *measure});
  } else if (const auto* reduce = std::get_if<core::Reduce>(&effect)) {
    jobs_.push_back({actor.id, *reduce});
  } else if (std::holds_alternative<core::Publish>(effect)) {
    store_->publish(actor.id);
  } else if (const auto* release = std::get_if<core::Release>(&effect)) {
    if (auto node = held_.extract(release->ticket); !node.empty()) let_go_.push_back(std::move(node.mapped().payload));
  } else if (const auto* say = std::get_if<core::Say>(&effect)) {
    if (options_.say) options_.say(say->text);
  } else if (const auto* hold = std::get_if<core::Capture>(&effect)) {
    capture(actor.id, *hold);
  } else if (const auto* whole = std::get_if<core::Seal>(&effect)) {
    seal(*whole);
  } else if (const auto* failed = std::get_if<core::Discard>(&effect)) {
    discard(*failed);
  } else if (const auto* seen = std::get_if<core::Announce>(&effect)) {
    announce(*seen);
  }
}

// --- the passes, outside the lock ---

void LocalCluster::verify_all(Lock& lock) {
  while (!to_verify_.empty()) {
    const auto [shard, verify] = to_verify_.front();
    to_verify_.pop_front();
    const auto& held = held_.at(verify.ticket);  // stays: it is released only after we answer
    const auto values = held.payload.values;
    const auto gradient = held.gradient;
    lock.unlock();
    const auto check = kernel::check(values);
    lock.lock();
    record(history::Examined{verify.ticket, gradient, verify.block, check.finite});
    core::Verified verified{verify.ticket, check.finite, check.sum_squares, ""};
    if (!check.finite)
      verified.reason = fmt::format("replica {}: the gradient of {} has NaN or infinite values", gradient.life.replica,
                                    layout_.slots[plan_.blocks[verify.block].slot].name);
    deliver(wire::shard_at(shard), std::move(verified));
  }
}

// A reduce in place writes into the replicas' parameters, and waits until none of them is computing: one whose gradient
// was refused in the middle of its backward pass may still be.
bool LocalCluster::may_run(const Job& job) const {
  if (std::holds_alternative<core::Measure>(job.pass)) return true;
  if (!in_place_) return store_->may_reduce(job.shard);
  return std::all_of(seats_.begin(), seats_.end(),
                     [](const auto& seat) { return !seat->attached || seat->left || seat->inside; });
}

// Runs one queued pass, if there is one that may run.
bool LocalCluster::run_one(Lock& lock) {
  const auto found = std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return may_run(job); });
  if (found == jobs_.end()) return false;
  const Job job = std::move(*found);
  jobs_.erase(found);
  const auto* reduce = std::get_if<core::Reduce>(&job.pass);
  const auto& shares = reduce ? reduce->shares : std::get<core::Measure>(job.pass).shares;
  std::vector<Part> parts;
  history::Made made;
  for (const auto& share : shares) {
    const auto& held = held_.at(share.ticket);
    parts.push_back({share.gradient.life.replica, held.payload.values.data(), share.weight});
    if (options_.recorder) made.used.push_back({share.ticket, held.gradient, share.weight});
  }
  auto garbage = std::exchange(let_go_, {});
  ++running_;
  lock.unlock();
  garbage.clear();
  double squares = 0;
  if (reduce) {
    store_->reduce(*reduce, parts);
  } else {
    std::vector<kernel::Input> inputs;
    for (const auto& part : parts) inputs.push_back({part.values, static_cast<float>(part.weight)});
    squares = kernel::sum_squares_of_mean(inputs, plan_.blocks[std::get<core::Measure>(job.pass).block].size);
  }
  lock.lock();
  --running_;
  if (!reduce) {
    const auto& measure = std::get<core::Measure>(job.pass);
    deliver(wire::shard_at(job.shard), core::BlockMeasured{measure.block, measure.step, squares});
    return true;
  }
  if (options_.recorder) {
    made.shard = job.shard;
    made.block = reduce->block;
    made.version = reduce->step + 1;
    made.rate = reduce->rate;
    made.scale = reduce->scale;
    record(std::move(made));
  }
  deliver(wire::shard_at(job.shard), core::BlockReduced{reduce->block, reduce->step + 1});
  return true;
}

// Waits, and works while it waits. The deadline is of silence: it starts anew whenever anything happens.
Status LocalCluster::wait(Lock& lock, wire::ReplicaId replica, const char* doing, const std::function<bool()>& until) {
  auto last = changes_.load(std::memory_order_relaxed);
  Silence silence(options_.deadline, now());
  while (!until()) {
    if (given_up_) return *given_up_;
    if (!to_verify_.empty()) {
      verify_all(lock);
      continue;
    }
    if (run_one(lock)) continue;
    if (const auto changes = changes_.load(std::memory_order_relaxed); changes != last) {
      last = changes;
      silence.broken(now());
    }
    if (options_.spin > Duration::zero()) {
      const auto sleep_at = std::chrono::steady_clock::now() + options_.spin;
      lock.unlock();
      while (changes_.load(std::memory_order_acquire) == last && std::chrono::steady_clock::now() < sleep_at) relax();
      lock.lock();
      if (changes_.load(std::memory_order_relaxed) != last) continue;
    }
    const auto left = silence.look(now());
    if (left == Duration::zero()) return give_up(replica, doing);
    wake_.wait_for(lock, left);
  }
  return {};
}

// The job hangs, so it ends for all: were only those that wait to leave it, the one that hangs would be what is left.
Error LocalCluster::give_up(wire::ReplicaId replica, const char* doing) {
  given_up_ = hangs(options_.deadline, replica, doing, sequencer_.waiting_for());
  for (const auto& seat : seats_) seat->abandoned = true;
  changes_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  return *given_up_;
}

// --- what a replica does ---

Status LocalCluster::attach(wire::ReplicaId replica, Places places) {
  Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  if (seat.left) return Error{Code::cancelled, "it has left the job"};
  seat.place = places.empty() ? nullptr : places.front().data();
  for (const auto& other : seats_)
    if (other.get() != &seat && other->place && other->place == seat.place)
      return Error{
          Code::invalid_argument,
          fmt::format("replica {} attached another replica's very network: build one inside the body", replica)};
  if (replica == 0) {
    if (auto loaded = load(places); !loaded) return loaded;
    store_->initialise(places);
    for (const auto& place : places) first_.emplace_back(place.begin(), place.end());
    initialised_ = true;
  } else {
    const auto waited = wait(lock, replica, "starting", [&] { return initialised_ || seats_[0]->left; });
    if (!waited) return waited;
    if (!initialised_)
      return Error{Code::peer_down, "replica 0, the chief, was lost before it had initialised the parameters"};
  }
  store_->attach(replica, places);
  for (std::size_t slot = 0; slot < places.size(); ++slot)
    std::copy(first_[slot].begin(), first_[slot].end(), places[slot].begin());
  seat.attached = true;
  if (++attached_ == seats_.size()) first_.clear();
  changes_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
  return {};
}

void LocalCluster::redirect(wire::ReplicaId replica, Places places) {
  const Lock lock(mutex_);
  assert(mirrored(terms_));
  redirected_ = true;
  store_->attach(replica, places);
}

void LocalCluster::join(wire::ReplicaId replica, std::uint64_t samples, std::uint32_t batch) {
  const Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  if (seat.side) return;
  if (options_.recorder && !std::exchange(terms_written_, true)) {
    record(history_terms(terms_, plan_, samples, batch));
    if (options_.checkpointer)
      if (auto standing = options_.checkpointer->standing(options_.network))
        record(history::Resumed{std::move(*standing)});
  }
  tally_.expect(samples);
  const wire::Life life{replica, 1};
  seat.batch = batch;
  seat.side.emplace(life, plan_, samples, batch);
  core::Effects effects;
  seat.side->join(effects);
  for (const auto& effect : effects) carry_out(wire::replica_at(replica), effect);
  drain();
}

wire::GradientId LocalCluster::current(wire::ReplicaId replica) const {
  return seats_[replica]->side->work()->gradient;
}

Result<Work> LocalCluster::next(wire::ReplicaId replica) {
  Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  const WhileSet inside(seat.inside);
  auto& side = *seat.side;
  const auto has_work = [&] {
    return side.work() && side.work()->gradient.sequence > seat.taken && side.parameters_here() &&
           !side.verdict(side.work()->gradient.sequence);
  };
  const auto waited =
      wait(lock, replica, "idle", [&] { return has_work() || side.done() || !side.turned_away().empty(); });
  if (!waited) return waited.error();
  if (!side.turned_away().empty()) return Error{Code::refused, side.turned_away()};
  Work work;
  work.pulling = now();
  work.done = !has_work();
  if (!work.done) {
    work.assign = *side.work();
    seat.taken = work.assign.gradient.sequence;
    seat.samples = work.assign.range ? static_cast<std::uint32_t>(work.assign.range->size()) : seat.batch;
    seat.abandoned = false;
  }
  install(lock, replica);
  return work;
}

// Copies every shard's present version. Under async it may be newer than what was promised, and never older.
void LocalCluster::install(Lock& lock, wire::ReplicaId replica) {
  auto& seat = *seats_[replica];
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard) {
    const auto version = shards_[shard].committed();
    if (!seat.side->done()) {
      seat.side->installed(shard, version);
      record(history::Installed{current(replica), shard, version});
    }
    store_->pin(shard, replica);
    lock.unlock();
    store_->copy(shard, replica);
    lock.lock();
    store_->unpin(shard, replica);
    if (!jobs_.empty()) {  // a reduce may have waited for us
      changes_.fetch_add(1, std::memory_order_release);
      wake_.notify_all();
    }
  }
}

void LocalCluster::push(wire::ReplicaId replica, SlotId slot, Payload gradient) {
  Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  if (seat.abandoned || !seat.side || !seat.side->work()) return;
  core::Effects effects;
  for (auto id : plan_.of_slot[slot]) {
    const auto& block = plan_.blocks[id];
    wire::Ticket ticket = 0;
    if (!gradient.values.empty()) {
      ticket = next_ticket_++;
      held_[ticket] = {{gradient.values.subspan(block.offset, block.size), gradient.keep}, current(replica), id};
    }
    seat.side->push(id, ticket, seat.samples, effects);
  }
  for (const auto& effect : effects) carry_out(wire::replica_at(replica), effect);
  drain();
  verify_all(lock);
}

bool LocalCluster::abandoned(wire::ReplicaId replica) const { return seats_.at(replica)->abandoned; }

Result<wire::Verdict> LocalCluster::settle(wire::ReplicaId replica) {
  Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  const WhileSet inside(seat.inside);
  const auto waited = wait(lock, replica, "waiting for its gradient to count",
                           [&] { return seat.side->verdict(seat.taken) != nullptr; });
  if (!waited) return waited.error();
  return *seat.side->verdict(seat.taken);
}

void LocalCluster::leave(wire::ReplicaId replica, const std::string& reason) {
  Lock lock(mutex_);
  auto& seat = *seats_.at(replica);
  if (seat.left) return;
  seat.left = true;
  const wire::Life life{replica, 1};
  if (!sequencer_.done()) {
    record(history::Left{life, reason});
    deliver(wire::kSequencer, core::Down{life, reason});
  }
  // Passes in place write into the replicas' own memory.
  while (in_place_ && running_ > 0) wake_.wait(lock);
  // What is to be the last checkpoint may not have been taken yet.
  if (seat.attached) store_->detach(replica, options_.checkpointer && options_.checkpointer->writes());
  wake_.notify_all();
}

void LocalCluster::stop(const std::string& reason) {
  const Lock lock(mutex_);
  if (sequencer_.done() || !sequencer_.stopped().empty()) return;
  record(history::Stopped{reason});
  deliver(wire::kSequencer, core::Stop{reason});
}

void LocalCluster::stir() {
  const Lock lock(mutex_);
  changes_.fetch_add(1, std::memory_order_release);
  wake_.notify_all();
}

bool LocalCluster::done() const {
  const Lock lock(mutex_);
  return sequencer_.done();
}

wire::Version LocalCluster::committed() const {
  const Lock lock(mutex_);
  return sequencer_.committed();
}

Result<wire::Account> LocalCluster::account() {
  const Lock lock(mutex_);
  auto account = account_of(terms_, sequencer_, tally_);
  account.seconds = std::chrono::duration<double>(now()).count();
  if (options_.checkpointer) {
    const auto newest = options_.checkpointer->newest();
    account.checkpoint = newest.folder;
    account.checkpointed = newest.version;
    account.checkpoint_problem = newest.problem;
  }
  for (auto& replica : account.replicas) replica.present = replica.present && !seats_[replica.id]->left;
  return account;
}

}  // namespace yoke::cluster
