#include "cluster/hosted_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "cluster/checkpoint_parts.h"
#include "cluster/terms.h"

namespace yoke::cluster {
namespace {

// A pass over fewer floats than this is done at once: handing it to another thread would take longer.
constexpr std::size_t kAtOnce = 1u << 16;

// Of data that is counted sample by sample.
constexpr std::uint64_t kMostSamples = std::uint64_t{1} << 36;

// Shared memory, or any where there is none to be had: only connections over shared memory notice the difference.
std::shared_ptr<std::byte> memory_for(transport::Arena& arena, std::size_t bytes) {
  if (auto memory = arena.allocate(bytes)) return memory;
  return own_memory(bytes);
}

}  // namespace

HostedNetwork::HostedNetwork(std::uint32_t network, wire::ShardId shard, wire::JobTerms terms, Layout layout,
                             wire::About about, Outlet& outlet, Workers& workers,
                             std::shared_ptr<transport::Arena> arena, std::shared_ptr<history::Recorder> recorder,
                             Beginning beginning)
    : network_(network),
      id_(shard),
      terms_(std::move(terms)),
      layout_(std::move(layout)),
      about_(std::move(about)),
      plan_(core::plan_blocks(layout_, terms_.shards)),
      outlet_(outlet),
      post_(outlet.poster()),
      workers_(workers),
      recorder_(std::move(recorder)),
      arena_(std::move(arena)),
      frozen_(layout_.slots.size()),
      tally_(terms_.replicas),
      resumed_(std::move(beginning.standing)),
      coordinated_(beginning.coordinated),
      later_view_(beginning.coordinated && beginning.later),
      followed_(beginning.coordinated && beginning.twin),
      // No two servers' alike, and no two views': histories are put together.
      next_ticket_((beginning.view >> 12 << 52) + ((std::uint64_t{shard} + 1) << 40)) {
  if (id_ == 0) {
    auto options = sequencer_options(terms_of_network(terms_, network_), plan_.shards());
    options.outlived = coordinated_;
    options.forecasts = !options.async && options.spares == 0 && options.clip_norm == 0;
    sequencer_.emplace(std::move(options), resumed_);
    if (resumed_) tally_.go_on_from(*resumed_);
    if (resumed_) decided_ = resumed_->version;
    for (SlotId slot = 0; slot < layout_.slots.size(); ++slot)
      if (layout_.slots[slot].frozen) frozen_[slot].resize(layout_.slots[slot].size());
  }
  if (id_ >= plan_.shards()) return;
  shard_.emplace(id_, plan_, resumed_ ? resumed_->version : 0, beginning.twin);
  store_ = std::make_unique<ShardStore>(plan_, layout_.groups, id_, update_options(terms_),
                                        [arena = arena_](std::size_t bytes) { return memory_for(*arena, bytes); });
  if (resumed_) store_->start_at(resumed_->version);
}

// --- the first values ---

Status HostedNetwork::bring(const wire::FirstValues& where, std::span<const float> values) {
  const auto wrong = [](const char* what) { return Error{Code::corrupt, fmt::format("first values of {}", what)}; };
  if (where.frozen) {
    if (where.block >= frozen_.size()) return wrong("a slot that is not there");
    auto& slot = frozen_[where.block];
    if (where.offset > slot.size() || values.size() > slot.size() - where.offset) return wrong("more than the slot");
    std::copy(values.begin(), values.end(), slot.begin() + static_cast<std::ptrdiff_t>(where.offset));
    missing_frozen_ -= std::min<std::uint64_t>(missing_frozen_, values.size());
    return {};
  }
  if (where.block >= plan_.blocks.size() || !hosts() || plan_.blocks[where.block].shard != id_)
    return wrong("a block that is not hosted here");
  if (values.size() != plan_.blocks[where.block].size) return wrong("a block of another size");
  store_->initialise(where.block, values);
  missing_.erase(where.block);
  return {};
}

void HostedNetwork::go_on_from(HostedNetwork& former) {
  before_ = former.version();
  if (store_ && former.store_) store_->go_on_from(*former.store_, layout_.groups == former.layout_.groups);
  frozen_ = former.frozen_;  // a copy: somebody may be writing the former to a file
  initialised_ = true;
}

void HostedNetwork::restored(wire::Version version) {
  before_ = version;
  initialised_ = true;
  freeze();
}

Status HostedNetwork::load(const checkpoint::Checkpoint& from, std::atomic<std::uint64_t>& progress) {
  const auto read = [&](const Slot& slot, std::uint64_t offset, std::span<float> out) {
    progress.fetch_add(1, std::memory_order_relaxed);
    return from.read({network_, slot.name, checkpoint::Kind::values, 0, 0}, offset, out);
  };
  for (SlotId slot = 0; slot < frozen_.size(); ++slot)
    if (!frozen_[slot].empty())
      if (auto done = read(layout_.slots[slot], 0, frozen_[slot]); !done) return done;
  if (!store_) return {};
  std::vector<float> values;
  for (const auto id : plan_.of_shard[id_]) {
    const auto& block = plan_.blocks[id];
    values.resize(block.size);
    if (auto done = read(layout_.slots[block.slot], block.offset, values); !done) return done;
    store_->initialise(id, values);
  }
  return load_memory(from, progress);
}

Status HostedNetwork::load_memory(const checkpoint::Checkpoint& from, std::atomic<std::uint64_t>& progress) {
  if (!store_ || network_ >= from.manifest().networks.size()) return {};
  // One for all, or one a replica: where that is not as it was, the optimizer begins anew.
  const bool per_replica = terms_.optimizer_state == OptimizerState::per_replica;
  for (const auto whose : from.memories(network_))
    if (per_replica ? whose < terms_.replicas : whose == 0)
      if (auto done =
              load_state(from, network_, layout_, plan_, id_, whose, store_->updates().memory_of(whose), progress);
          !done)
        return done;
  return {};
}

void HostedNetwork::await_values(std::optional<wire::Version> remembered) {
  if (over_) return;
  formed_ = true;
  awaits_values_ = true;
  young_state_ = true;
  expect_values();
  outlet_.wants_values(*this, began_with(), remembered);
}

void HostedNetwork::expect_values() {
  missing_ = {plan_.of_shard[id_].begin(), plan_.of_shard[id_].end()};
  missing_frozen_ = 0;
  for (const auto& slot : frozen_) missing_frozen_ += slot.size();
}

Status HostedNetwork::values_brought() {
  if (!missing_.empty() || missing_frozen_ > 0) return Error{Code::corrupt, "only some of the values of a shard"};
  awaits_values_ = false;
  loaded({});
  return {};
}

void HostedNetwork::loaded(const Status& status) {
  loading_ = false;
  if (over_) return;
  initialised_ = status.ok();
  outlet_.loaded(*this, status);
  if (initialised_ && backup_awaits_) backup_changed(*std::exchange(backup_awaits_, {}));
  if (initialised_ && !draining_) drain();
}

Status HostedNetwork::load(const Inheritance& from) {
  for (SlotId slot = 0; slot < frozen_.size(); ++slot)
    if (!frozen_[slot].empty())
      if (auto done = from.read(network_, slot, 0, 0, frozen_[slot]); !done) return done;
  initialised_ = true;
  formed_ = true;
  return store_ ? from.fill(*store_, plan_, id_, network_) : Status{};
}

// --- held twice ---

void HostedNetwork::brought() {
  initialised_ = true;
  if (backup_awaits_) backup_changed(*std::exchange(backup_awaits_, {}));
}

void HostedNetwork::backup_changed(bool there) {
  if (!shard_) return;
  if (!initialised_) {
    backup_awaits_ = there;
    return;
  }
  followed_ = false;  // until the shard says from when on
  deliver(wire::shard_at(id_), core::BackupChanged{there});
}

void HostedNetwork::mirrored(wire::Version version) { deliver(wire::shard_at(id_), core::Mirrored{version}); }

std::map<wire::Version, Slice> HostedNetwork::slices() const {
  std::map<wire::Version, Slice> all;
  if (!shard_ || !initialised_) return all;
  // The first server has told of what its sequencer has committed, whether its shard knows or not.
  const bool next_told = sequencer_ && sequencer_->committed() > shard_->committed() && shard_->made_next();
  if (!next_told) all[shard_->committed()] = slice(false);
  if (shard_->made_next()) all[shard_->committed() + 1] = slice(true);
  return all;
}

Slice HostedNetwork::slice(bool next) const {
  auto slice = slice_of(*store_, plan_, id_, network_, next);
  slice.standing = next ? shard_->standing_next() : shard_->standing() ? shard_->standing() : resumed_;
  if (coordinated_)  // whoever has the first shard next has them, too
    for (SlotId slot = 0; slot < frozen_.size(); ++slot)
      if (!frozen_[slot].empty())
        slice.pieces.push_back({{network_, 0, slot, 0, 0, 0}, frozen_[slot], shared_from_this()});
  return slice;
}

void HostedNetwork::freeze() {
  over_ = true;
  inbox_.clear();
}

void HostedNetwork::keep_values_only() {
  held_.clear();
  if (store_) store_->keep_values_only();
}

// --- the machines ---

Status HostedNetwork::check_push(const wire::Push& push, std::size_t bytes) const {
  if (!hosts() || push.block >= plan_.blocks.size() || plan_.blocks[push.block].shard != id_)
    return Error{Code::corrupt, "a gradient for a block that is not hosted here"};
  if (bytes > 0 && bytes != plan_.blocks[push.block].size * sizeof(float))
    return Error{Code::corrupt, "a gradient of another size than its block"};
  if (!initialised_) return Error{Code::corrupt, "a gradient before the first values"};
  return {};
}

void HostedNetwork::receive(const wire::Address& from, wire::Message message, transport::Bytes payload) {
  if (auto* push = std::get_if<wire::Push>(&message)) {
    push->ticket = 0;
    if (!payload.bytes.empty()) {
      push->ticket = ++next_ticket_;
      held_[push->ticket] = {std::move(payload), push->gradient, push->block};
    }
    deliver(wire::shard_at(id_), core::Received{from, std::move(message)});
    return;
  }
  const bool to_sequencer =
      std::holds_alternative<wire::Hello>(message) || std::holds_alternative<wire::Report>(message) ||
      std::holds_alternative<wire::Measured>(message) || std::holds_alternative<wire::Reduced>(message) ||
      std::holds_alternative<wire::PartSaved>(message);
  if (const auto* hello = std::get_if<wire::Hello>(&message); hello && sequencer_) {
    if (!std::exchange(expected_, true) && hello->samples <= kMostSamples) tally_.expect(hello->samples);
    if (recorder_ && network_ == 0 && !std::exchange(terms_written_, true)) {
      auto told = history_terms(terms_, plan_, hello->samples, hello->batch);
      history::Resumed resumed;
      resumed.standing = resumed_.value_or(core::Standing{.samples = hello->samples, .batch = hello->batch});
      if (!resumed_ && hello->samples > 0) resumed.standing.ledger.emplace();
      resumed.formed = formed_;
      const bool goes_on = formed_ || later_view_;  // the history has begun before
      if (goes_on)
        resumed.terms = std::move(told);
      else
        record(std::move(told));
      if (goes_on || resumed_) record(std::move(resumed));
    }
  }
  if (to_sequencer ? !sequencer_ : !shard_) return;
  deliver(to_sequencer ? wire::kSequencer : wire::shard_at(id_), core::Received{from, std::move(message)});
}

void HostedNetwork::down(const wire::Life& life, const std::string& reason) {
  if (!sequencer_ || sequencer_->done()) return;
  record(history::Left{life, reason});
  deliver(wire::kSequencer, core::Down{life, reason});
}

void HostedNetwork::stop(const std::string& reason) {
  if (!sequencer_ || sequencer_->done() || !sequencer_->stopped().empty()) return;
  record(history::Stopped{reason});
  deliver(wire::kSequencer, core::Stop{reason});
}

void HostedNetwork::drain(wire::ReplicaId replica, const std::string& reason) {
  if (sequencer_) deliver(wire::kSequencer, core::Drain{replica, reason});
}

// --- checkpoints ---

void HostedNetwork::take_checkpoint(const core::TakeCheckpoint& request) {
  if (sequencer_) deliver(wire::kSequencer, request);
}

void HostedNetwork::capture(const core::Capture& capture) {
  checkpoint::Part part;
  for (const auto id : plan_.of_shard[id_]) {
    auto values = store_->present(id);
    add_values(part, network_, layout_, plan_.blocks[id], values.values, std::move(values.keep));
  }
  for (SlotId slot = 0; slot < frozen_.size(); ++slot)
    if (!frozen_[slot].empty()) add_frozen(part, network_, layout_.slots[slot], frozen_[slot], shared_from_this());
  for (auto& [whose, memory] : store_->updates().memories())
    add_state(part, network_, layout_, plan_, id_, whose, memory, young_state_);
  outlet_.save_part(*this, capture, std::move(part));
}

void HostedNetwork::captured(std::uint64_t token, const Result<std::uint64_t>& sum) {
  deliver(wire::shard_at(id_), core::Captured{token, sum.ok(), sum ? *sum : 0, sum ? "" : sum.error().message});
}

void HostedNetwork::sealed(std::uint64_t token, const Status& status) {
  deliver(wire::kSequencer, core::Sealed{token, status.ok(), status ? "" : status.error().message});
}

checkpoint::NetworkFacts HostedNetwork::facts(core::Standing standing) const {
  return {std::move(standing), layout_, plan_.shards(), about_};
}

void HostedNetwork::deliver(const wire::Address& to, core::Event event) {
  if (over_) return;
  inbox_.emplace_back(to, std::move(event));
  if (!draining_ && !loading_) drain();
}

void HostedNetwork::drain() {
  draining_ = true;
  core::Effects effects;
  while (!inbox_.empty()) {
    const auto [to, event] = std::move(inbox_.front());
    inbox_.pop_front();
    effects.clear();
    if (to == wire::kSequencer)
      sequencer_->on(event, outlet_.now(), effects);
    else
      shard_->on(event, outlet_.now(), effects);
    for (const auto& effect : effects) carry_out(to, effect);
  }
  draining_ = false;
}

void HostedNetwork::carry_out(const wire::Address& actor, const core::Effect& effect) {
  if (recorder_ && network_ == 0) recorder_->add_effect(outlet_.now(), actor, effect);
  if (const auto* send = std::get_if<core::Send>(&effect)) {
    on_send(actor, *send);
  } else if (const auto* check = std::get_if<core::Verify>(&effect)) {
    verify(*check);
  } else if (const auto* size_up = std::get_if<core::Measure>(&effect)) {
    measure(*size_up);
  } else if (const auto* update = std::get_if<core::Reduce>(&effect)) {
    reduce(*update);
  } else if (const auto* early = std::get_if<core::Preview>(&effect)) {
    preview(*early);
  } else if (const auto* decided = std::get_if<core::Keep>(&effect)) {
    keep(decided->made);
  } else if (std::holds_alternative<core::Unmake>(effect)) {
    store_->drop_next();
    previewed_.clear();
  } else if (const auto* mirror = std::get_if<core::Mirror>(&effect)) {
    if (coordinated_)
      outlet_.means_done(*this, mirror->version, shard_->standing_next());
    else
      outlet_.mirror(*this, mirror->version, slice(true));
  } else if (const auto* fill = std::get_if<core::Fill>(&effect)) {
    followed_ = true;
    outlet_.fill(*this, fill->version, slice(false));
  } else if (std::holds_alternative<core::TellFilled>(effect)) {
    outlet_.tell_filled(*this);
  } else if (const auto* publish = std::get_if<core::Publish>(&effect)) {
    store_->publish(publish->version);
  } else if (const auto* release = std::get_if<core::Release>(&effect)) {
    held_.erase(release->ticket);
  } else if (const auto* say = std::get_if<core::Say>(&effect)) {
    outlet_.say(say->text);
  } else if (const auto* hold = std::get_if<core::Capture>(&effect)) {
    capture(*hold);
  } else if (const auto* seal = std::get_if<core::Seal>(&effect)) {
    outlet_.seal(*this, *seal);
  } else if (const auto* discard = std::get_if<core::Discard>(&effect)) {
    outlet_.discard(*this, *discard);
  } else if (const auto* announce = std::get_if<core::Announce>(&effect)) {
    outlet_.announce(*this, *announce);
  }
}

void HostedNetwork::on_send(const wire::Address& actor, const core::Send& send) {
  if (const auto* r = std::get_if<wire::Record>(&send.message); r && r->index >= next_record_) {
    next_record_ = r->index + 1;
    if (sequencer_) tally_.add(*r);
    if (!r->applied.empty()) decided_ = r->step + 1;
  }
  if (std::holds_alternative<wire::Assign>(send.message)) tally_.count_assignment();
  if (const auto* told = std::get_if<wire::Settled>(&send.message); told && network_ == 0)
    record(history::Told{told->verdict});
  if (const auto* parameters = std::get_if<wire::Parameters>(&send.message)) return show(actor, *parameters);
  const bool here = (send.to == wire::kSequencer && sequencer_) || (send.to == wire::shard_at(id_) && shard_);
  if (here)
    inbox_.emplace_back(send.to, core::Received{actor, send.message});
  else
    outlet_.send(network_, actor, send.to, send.message);
}

// What has not travelled ahead of the present version goes now, in the order in which the replica needs it. Where it
// may begin before all is there, it is told first.
void HostedNetwork::show(const wire::Address& shard, wire::Parameters told) {
  const auto life = told.life;
  store_->shown_to(life.replica);
  const auto node = previewed_.extract(life);
  const auto* sent = node && node.mapped().version == store_->version() ? &node.mapped().blocks : nullptr;
  std::vector<wire::BlockId> rest;
  for (const auto block : plan_.of_shard[id_])
    if (!sent || !sent->contains(block)) rest.push_back(block);
  if (terms_.values_follow) {
    told.follow = static_cast<std::uint32_t>(rest.size());
    outlet_.send(network_, shard, wire::replica_at(life.replica), told);
  }
  for (const auto block : rest) outlet_.send_values(network_, life.replica, block, store_->present(block));
  if (!terms_.values_follow) outlet_.send(network_, shard, wire::replica_at(life.replica), told);
}

void HostedNetwork::preview(const core::Preview& preview) {
  for (const auto& life : preview.lives) {
    auto& sent = previewed_[life];
    if (sent.version != preview.version) sent = {preview.version, {}};
    sent.blocks.insert(preview.block);
    outlet_.send_values(network_, life.replica, preview.block, store_->next(preview.block));
  }
}

// --- the passes ---

HostedNetwork::Pass& HostedNetwork::take_pass() {
  if (free_passes_.empty()) free_passes_.push_back(&all_passes_.emplace_back());
  auto* const pass = free_passes_.back();
  free_passes_.pop_back();
  return *pass;
}

void HostedNetwork::give_back(Pass& pass) {
  pass.parts.clear();
  pass.mean.reset();
  free_passes_.push_back(&pass);
}

template <class Work, class Then>
void HostedNetwork::run(std::size_t floats, Work work, Then then) {
  if (floats < kAtOnce) {
    work();
    return then();
  }
  ++passes_;
  workers_.post([self = shared_from_this(), work, then] {
    work();
    self->post_([self, then] {
      --self->passes_;
      if (self->detached_) return;  // and nobody to be told
      then();
      if (self->passes_ == 0) self->outlet_.passes_done();
    });
  });
}

void HostedNetwork::verify(const core::Verify& verify) {
  auto& pass = take_pass();
  const auto& held = held_.at(verify.ticket);  // stays: it is released only after we answer
  pass.what.shares.assign(1, {held.gradient, verify.ticket, 1});
  pass.what.block = verify.block;
  pass.parts.push_back({held.gradient.life.replica, held.values(), 1});
  const auto size = plan_.blocks[verify.block].size;
  run(
      size,
      [&pass, size] {
        pass.check = kernel::check({pass.parts.front().values, size});
      },
      [this, &pass] {
        const auto& [gradient, ticket, weight] = pass.what.shares.front();
        const auto block = pass.what.block;
        if (network_ == 0) record(history::Examined{ticket, gradient, block, pass.check.finite});
        core::Verified verified{ticket, pass.check.finite, pass.check.sum_squares, ""};
        if (!pass.check.finite)
          verified.reason = fmt::format("replica {}: the gradient of {} has NaN or infinite values",
                                        gradient.life.replica, layout_.slots[plan_.blocks[block].slot].name);
        give_back(pass);
        deliver(wire::shard_at(id_), std::move(verified));
      });
}

void HostedNetwork::add_parts(const std::vector<core::Share>& shares, std::vector<Part>& parts) const {
  for (const auto& share : shares)
    parts.push_back({share.gradient.life.replica, held_.at(share.ticket).values(), share.weight});
}

void HostedNetwork::measure(const core::Measure& measure) {
  auto& pass = take_pass();
  pass.what.block = measure.block;
  pass.what.step = measure.step;
  add_parts(measure.shares, pass.parts);
  const auto size = plan_.blocks[measure.block].size;
  run(
      size * std::max<std::size_t>(1, pass.parts.size()),
      [&pass, size] { pass.squares = kernel::sum_squares_of_mean(Inputs(pass.parts), size); },
      [this, &pass] {
        const core::BlockMeasured measured{pass.what.block, pass.what.step, pass.squares};
        give_back(pass);
        deliver(wire::shard_at(id_), measured);
      });
}

void HostedNetwork::reduce(const core::Reduce& reduce) {
  if (!store_->prepare_next(reduce.shares)) {
    // Nothing can be made without memory: the replicas' deadline ends the job, and this says why.
    outlet_.say(fmt::format("shard {}: there is no memory for the next version ({} bytes)", id_, store_->bytes()));
    return;
  }
  auto& pass = take_pass();
  pass.what = reduce;
  add_parts(reduce.shares, pass.parts);
  for (auto& part : pass.parts) store_->find_then(reduce.block, part);
  pass.followed = followed_;
  const auto size = plan_.blocks[reduce.block].size;
  if (followed_ && !pass.parts.empty()) pass.mean = memory_for(*arena_, size * sizeof(float));
  run(
      size * std::max<std::size_t>(1, pass.parts.size()),
      [this, &pass] {
        pass.finite = pass.mean
                          ? store_->reduce_by_mean(pass.what, pass.parts, reinterpret_cast<float*>(pass.mean.get()))
                          : store_->reduce(pass.what, pass.parts);
      },
      [this, &pass] { reduced(pass); });
}

void HostedNetwork::reduced(Pass& pass) {
  const auto& reduce = pass.what;
  const core::BlockReduced made{reduce.block, reduce.step + 1, pass.finite || !reduce.ahead};
  if (network_ == 0) note(reduce, made.ok);
  if (pass.followed && made.ok) {
    transport::Bytes values;
    if (pass.mean) values = {{pass.mean.get(), plan_.blocks[reduce.block].size * sizeof(float)}, pass.mean};
    const auto whose = pass.parts.empty() ? 0 : pass.parts.front().replica;
    outlet_.send_mean({network_, made.version, reduce.block, reduce.rate, whose}, std::move(values));
  }
  give_back(pass);
  deliver(wire::shard_at(id_), made);
}

// A pass that was decided is recorded now; one ahead when it is, and until then only that it has looked at the shares.
void HostedNetwork::note(const core::Reduce& reduce, bool ok) {
  if (!recorder_) return;
  if (!reduce.ahead) return keep(reduce);
  for (const auto& share : reduce.shares)
    if (ok) record(history::Examined{share.ticket, held_.at(share.ticket).gradient, reduce.block, true});
}

// It counts: what was really used goes into the history.
void HostedNetwork::keep(const core::Reduce& made) {
  if (!recorder_ || network_ != 0) return;
  history::Made what{id_, made.block, made.step + 1, {}, made.rate, made.scale};
  for (const auto& share : made.shares)
    what.used.push_back({share.ticket, held_.at(share.ticket).gradient, share.weight});
  record(what);
}

}  // namespace yoke::cluster
