#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/describe.h"
#include "sim/world.h"

namespace yoke::sim {

void World::deliver(const wire::Address& to, core::Event event) {
  core::Effects out;
  switch (to.role) {
    case wire::Address::Role::sequencer:
      if (!at_work(0)) return;
      if (const auto* received = std::get_if<core::Received>(&event))
        if (const auto* hello = std::get_if<wire::Hello>(&received->message))
          heard_[hello->life.replica] = std::max(heard_[hello->life.replica], hello->life.incarnation);
      sequencer_.on(event, now_, out);
      break;
    case wire::Address::Role::shard:
      if (!at_work(to.id)) return;
      if (auto* received = std::get_if<core::Received>(&event))
        if (auto* push = std::get_if<wire::Push>(&received->message); push && push->ticket) {
          const bool whole = peace() || !random_.chance(shape_.faults.flip);
          push->ticket = payloads_.arrive({push->gradient, push->block, to.id, sound_[push->ticket] && whole});
        }
      shards_[to.id].on(event, now_, out);
      if (shards_[to.id].made_next()) next_standings_[to.id] = shards_[to.id].standing_next();
      break;
    case wire::Address::Role::replica:
      return hear(processes_[to.id], event);
  }
  perform(to, out);
}

void World::perform(const wire::Address& actor, const core::Effects& effects) {
  for (const auto& effect : effects) perform_one(actor, effect);
}

void World::perform_one(const wire::Address& actor, const core::Effect& effect) {
  recorder_.add_effect(now_, actor, effect);
  if (const auto* e = std::get_if<core::Send>(&effect)) {
    if (const auto* assign = std::get_if<wire::Assign>(&e->message)) values_.assigned(*assign);
    transmit(actor, e->to, e->message);
  }
  if (const auto* e = std::get_if<core::Capture>(&effect)) capture(actor.id, *e);
  if (const auto* e = std::get_if<core::Seal>(&effect)) seal(*e);
  if (const auto* e = std::get_if<core::Announce>(&effect)) announce(*e);
  if (const auto* e = std::get_if<core::Discard>(&effect)) {
    trace([&] { return fmt::format("checkpoint {} failed: {}", e->token, e->reason); });
    ++outcome_.counts.discarded;
    static_cast<void>(checkpoint::discard(faulty_, place_of(e->token, marked_.at(e->token), 0)));
  }
  if (const auto* e = std::get_if<core::Verify>(&effect)) verify(actor.id, *e);
  if (const auto* e = std::get_if<core::Reduce>(&effect)) reduce(actor.id, *e);
  if (const auto* e = std::get_if<core::Mirror>(&effect))
    shape_.servers.coordinated ? to_backup(actor.id, false, e->version) : mirror(actor.id, *e);
  if (const auto* e = std::get_if<core::Fill>(&effect)) to_backup(actor.id, true, e->version);
  if (std::holds_alternative<core::TellFilled>(effect)) tell_filled(actor.id);
  if (const auto* e = std::get_if<core::Keep>(&effect)) keep(actor.id, e->made);
  if (const auto* e = std::get_if<core::Release>(&effect)) payloads_.release(e->ticket, actor.id);
  if (const auto* e = std::get_if<core::Measure>(&effect)) {
    for (const auto& share : e->shares) payloads_.use(share.ticket, actor.id);
    after(while_working(), [this, actor, measure = *e] {
      for (const auto& share : measure.shares) payloads_.use(share.ticket, actor.id);
      const double squares = random_.real();
      squares_[measure.step] += squares;
      deliver(actor, core::BlockMeasured{measure.block, measure.step, squares});
    });
  }
  if (const auto* e = std::get_if<core::Publish>(&effect)) {
    values_.show(shape_.plan.of_shard[actor.id]);
    if (shape_.twins) shown(actor.id);
    standings_[actor.id] = next_standings_[actor.id];
    trace([&] { return fmt::format("{} shows version {}", describe(actor), e->version); });
  }
  if (const auto* e = std::get_if<core::Say>(&effect))
    trace([&] { return fmt::format("{} says: {}", describe(actor), e->text); });
}

void World::verify(wire::ShardId shard, const core::Verify& effect) {
  payloads_.use(effect.ticket, shard);
  after(while_working(), [this, shard, effect] {
    if (!at_work(shard)) return;
    const auto& payload = payloads_.use(effect.ticket, shard);
    recorder_.add(now_, history::Examined{effect.ticket, payload.gradient, payload.block, payload.sound});
    if (!payload.sound) trace([&] { return fmt::format("shard {} finds block {} damaged", shard, payload.block); });
    deliver(wire::shard_at(shard),
            core::Verified{effect.ticket, payload.sound, 1.0, payload.sound ? "" : "it is not finite"});
  });
}

// It counts: what was really used goes into the history.
void World::keep(wire::ShardId shard, const core::Reduce& made) {
  history::Made what{shard, made.block, made.step + 1, {}, made.rate, made.scale};
  for (const auto& share : made.shares)
    what.used.push_back({share.ticket, payloads_.use(share.ticket, shard).gradient, share.weight});
  recorder_.add(now_, std::move(what));
}

// The shares are read until the block is made: what was let go of in between would have been overwritten.
void World::reduce(wire::ShardId shard, const core::Reduce& effect) {
  double scale = 1;  // as the norm over all blocks of all shards wants it
  if (const auto it = squares_.find(effect.step); it != squares_.end() && !shape_.plan.blocks[effect.block].averaged)
    scale = std::min(1.0, shape_.options.clip_norm / (std::sqrt(it->second) + 1e-6));
  if (std::abs(scale - effect.scale) > 1e-9)
    outcome_.violations.push_back(fmt::format("step {} of block {} is scaled by {}, and the norm wants {}", effect.step,
                                              effect.block, effect.scale, scale));
  after(while_working(), [this, shard, effect] {
    if (!at_work(shard)) return;
    bool sound = true;
    for (const auto& share : effect.shares) sound = payloads_.use(share.ticket, shard).sound && sound;
    const core::BlockReduced reduced{effect.block, effect.step + 1, sound || !effect.ahead};
    if (reduced.ok) values_.make(effect);
    if (!effect.ahead) keep(shard, effect);
    for (const auto& share : effect.shares)
      if (effect.ahead && reduced.ok)
        recorder_.add(now_,
                      history::Examined{share.ticket, payloads_.use(share.ticket, shard).gradient, effect.block, true});
    deliver(wire::shard_at(shard), reduced);
  });
}

}  // namespace yoke::sim
