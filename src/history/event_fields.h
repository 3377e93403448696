// The fields of every event, each with its name in a file: one list, for writing and for reading.
//
// Structs are taken apart by place, so that a field that is added to one of them and not here does not compile.
#pragma once

#include <array>
#include <string_view>
#include <type_traits>

#include "history/event.h"

namespace yoke::history {

// A T that is read, or one that is written to.
template <class E, class T>
concept Is = std::is_same_v<std::remove_const_t<E>, T>;

// By the place in What.
inline constexpr std::array<std::string_view, std::variant_size_v<What>> kEventNames = {
    "terms",     "joined",    "left", "assigned", "installed", "examined", "decided",   "made",
    "committed", "published", "told", "stopped",  "finished",  "captured", "announced", "resumed"};

// The words for the values of an enumeration, in their order.
inline constexpr auto words_for(wire::Fate) {
  return std::to_array<std::string_view>({"applied", "dropped", "refused"});
}
inline constexpr auto words_for(ScheduleOptions::Kind) {
  return std::to_array<std::string_view>({"constant", "step", "cosine"});
}
inline constexpr auto words_for(Stale) {
  return std::to_array<std::string_view>({"apply", "scale_inverse", "scale_exponential", "scale_linear"});
}

// Each calls visit(name, field) for every field. What is used comes before what uses it.

template <class Visit>
void fields(Visit& visit, Is<wire::Life> auto& life) {
  auto& [replica, incarnation] = life;
  visit("replica", replica);
  visit("incarnation", incarnation);
}

template <class Visit>
void fields(Visit& visit, Is<wire::GradientId> auto& gradient) {
  auto& [life, sequence] = gradient;
  fields(visit, life);
  visit("sequence", sequence);
}

template <class Visit>
void fields(Visit& visit, Is<wire::Range> auto& range) {
  auto& [epoch, begin, end] = range;
  visit("epoch", epoch);
  visit("begin", begin);
  visit("end", end);
}

template <class Visit>
void fields(Visit& visit, Is<wire::Verdict> auto& verdict) {
  auto& [gradient, fate, version, staleness, reason] = verdict;
  visit("gradient", gradient);
  visit("fate", fate);
  visit("version", version);
  visit("staleness", staleness);
  visit("reason", reason);
}

template <class Visit>
void fields(Visit& visit, Is<wire::Contribution> auto& part) {
  auto& [gradient, base, staleness, samples, weight, range] = part;
  visit("gradient", gradient);
  visit("base", base);
  visit("staleness", staleness);
  visit("samples", samples);
  visit("weight", weight);
  visit("range", range);
}

template <class Visit>
void fields(Visit& visit, Is<wire::Record> auto& record) {
  auto& [index, step, applied, turned_away, quorum, degraded, rate, clip, mark, reason, standing] = record;
  visit("index", index);
  visit("step", step);
  visit("applied", applied);
  visit("turned_away", turned_away);
  visit("quorum", quorum);
  visit("degraded", degraded);
  visit("rate", rate);
  visit("clip", clip);
  visit("mark", mark);
  visit("reason", reason);
  visit("standing", standing);
}

template <class Visit>
void fields(Visit& visit, Is<BatchChange> auto& change) {
  auto& [from_epoch, batch] = change;
  visit("from_epoch", from_epoch);
  visit("batch", batch);
}

template <class Visit>
void fields(Visit& visit, Is<ScheduleOptions> auto& schedule) {
  auto& [kind, step_epochs, step_gamma, floor, warmup_epochs, reference_batch] = schedule;
  visit("kind", kind);
  visit("step_epochs", step_epochs);
  visit("step_gamma", step_gamma);
  visit("floor", floor);
  visit("warmup_epochs", warmup_epochs);
  visit("reference_batch", reference_batch);
}

template <class Visit>
void fields(Visit& visit, Is<StaleOptions> auto& stale) {
  auto& [policy, strength, max_staleness, max_lead, delay_compensation] = stale;
  visit("policy", policy);
  visit("strength", strength);
  visit("max_staleness", max_staleness);
  visit("max_lead", max_lead);
  visit("delay_compensation", delay_compensation);
}

template <class Visit>
void fields(Visit& visit, Is<core::SequencerOptions> auto& options) {
  auto& [replicas, spares, shards, async, everybody, outlived, epochs, steps, batch_schedule, warmup_epochs,
         warmup_steps, schedule, stale, clip_norm, max_refusals, min_replicas, forecasts] = options;
  visit("replicas", replicas);
  visit("spares", spares);
  visit("shards", shards);
  visit("async", async);
  visit("everybody", everybody);
  visit("outlived", outlived);
  visit("epochs", epochs);
  visit("steps", steps);
  visit("batch_schedule", batch_schedule);
  visit("warmup_epochs", warmup_epochs);
  visit("warmup_steps", warmup_steps);
  visit("schedule", schedule);
  visit("stale", stale);
  visit("clip_norm", clip_norm);
  visit("max_refusals", max_refusals);
  visit("min_replicas", min_replicas);
  visit("forecasts", forecasts);
}

template <class Visit>
void fields(Visit& visit, Is<core::LedgerStanding> auto& ledger) {
  auto& [epoch, cursor, returned, counted, counted_epochs] = ledger;
  visit("epoch", epoch);
  visit("cursor", cursor);
  visit("returned", returned);
  visit("counted", counted);
  visit("counted_epochs", counted_epochs);
}

template <class Visit>
void fields(Visit& visit, Is<core::Standing> auto& standing) {
  auto& [version, samples, batch, ledger, samples_decided, warmup_end] = standing;
  visit("version", version);
  visit("samples", samples);
  visit("batch", batch);
  visit("ledger", ledger);
  visit("samples_decided", samples_decided);
  visit("warmup_end", warmup_end);
}

// --- the events ---

template <class Visit>
void fields(Visit& visit, Is<Terms> auto& event) {
  auto& [options, shard_blocks, samples, batch] = event;
  fields(visit, options);
  visit("samples", samples);
  visit("batch", batch);
  visit("shard_blocks", shard_blocks);
}

template <class Visit>
void fields(Visit& visit, Is<Joined> auto& event) {
  auto& [life] = event;
  visit("life", life);
}

template <class Visit>
void fields(Visit& visit, Is<Left> auto& event) {
  auto& [life, reason] = event;
  visit("life", life);
  visit("reason", reason);
}

template <class Visit>
void fields(Visit& visit, Is<Assigned> auto& event) {
  auto& [gradient, step, range, counted] = event.assign;
  visit("gradient", gradient);
  visit("step", step);
  visit("range", range);
  visit("counted", counted);
}

template <class Visit>
void fields(Visit& visit, Is<Installed> auto& event) {
  auto& [gradient, shard, version] = event;
  visit("gradient", gradient);
  visit("shard", shard);
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Examined> auto& event) {
  auto& [ticket, gradient, block, ok] = event;
  visit("gradient", gradient);
  visit("block", block);
  visit("ticket", ticket);
  visit("ok", ok);
}

template <class Visit>
void fields(Visit& visit, Is<Decided> auto& event) {
  auto& [record] = event;
  visit("record", record);
}

template <class Visit>
void fields(Visit& visit, Is<Made::Used> auto& used) {
  auto& [ticket, gradient, weight] = used;
  visit("gradient", gradient);
  visit("ticket", ticket);
  visit("weight", weight);
}

template <class Visit>
void fields(Visit& visit, Is<Made> auto& event) {
  auto& [shard, block, version, used, rate, scale] = event;
  visit("shard", shard);
  visit("block", block);
  visit("version", version);
  visit("used", used);
  visit("rate", rate);
  visit("scale", scale);
}

template <class Visit>
void fields(Visit& visit, Is<Committed> auto& event) {
  auto& [version] = event;
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Published> auto& event) {
  auto& [shard, version] = event;
  visit("shard", shard);
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Told> auto& event) {
  auto& [verdict] = event;
  visit("verdict", verdict);
}

template <class Visit>
void fields(Visit& visit, Is<Stopped> auto& event) {
  auto& [reason] = event;
  visit("reason", reason);
}

template <class Visit>
void fields(Visit& visit, Is<Finished> auto& event) {
  auto& [version] = event;
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Captured> auto& event) {
  auto& [shard, token, version] = event;
  visit("shard", shard);
  visit("token", token);
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Announced> auto& event) {
  auto& [token, version] = event;
  visit("token", token);
  visit("version", version);
}

template <class Visit>
void fields(Visit& visit, Is<Resumed> auto& event) {
  auto& [standing, passed_over, terms, formed] = event;
  visit("standing", standing);
  visit("passed_over", passed_over);
  visit("terms", terms);
  visit("formed", formed);
}

}  // namespace yoke::history
