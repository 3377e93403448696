#include "history/tally.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/schedule.h"

namespace yoke::history {

std::string name(const wire::GradientId& gradient) {
  return fmt::format("gradient {} of replica {} (life {})", gradient.sequence, gradient.life.replica,
                     gradient.life.incarnation);
}

void Tally::on(const Event& event) {
  if (const auto* e = std::get_if<Terms>(&event.what)) terms = *e;
  if (const auto* e = std::get_if<Resumed>(&event.what)) resume(*e);
  if (const auto* e = std::get_if<Joined>(&event.what)) join(e->life);
  if (const auto* e = std::get_if<Left>(&event.what)) leave(e->life);
  if (const auto* e = std::get_if<Decided>(&event.what)) decide(e->record);
  if (const auto* e = std::get_if<Committed>(&event.what)) commit(e->version);
  if (const auto* e = std::get_if<Assigned>(&event.what)) {
    if (open.emplace(e->assign.gradient, e->assign).second)
      members[e->assign.gradient.life.replica].warming = warming_up();
    if (e->assign.range) newest_epoch = std::max(newest_epoch, e->assign.range->epoch);
  }
}

void Tally::resume(const Resumed& resumed) {
  const auto& standing = resumed.standing;
  if (resumed.terms) terms = *resumed.terms;
  members.clear();
  open.clear();
  updates.resize(standing.version);
  committed = standing.version;
  counted.clear();
  samples_applied = standing.samples_decided;
  newest_epoch = 0;
  if (!standing.ledger) return;
  counted = standing.ledger->counted;
  for (std::uint32_t epoch = 0; epoch < standing.ledger->counted_epochs; ++epoch) counted[epoch] = terms.samples;
  newest_epoch = standing.ledger->epoch;
}

void Tally::join(const wire::Life& life) {
  const auto it = members.find(life.replica);
  if (it != members.end() && life.incarnation <= it->second.incarnation) return;
  std::optional<std::uint64_t> slowest;
  for (const auto& [replica, member] : members)
    if (replica != life.replica && member.alive) slowest = std::min(slowest.value_or(member.settled), member.settled);
  members[life.replica] = {life.incarnation, true, slowest.value_or(0), false};
}

void Tally::leave(const wire::Life& life) {
  auto& member = members[life.replica];
  if (life.incarnation < member.incarnation) return;
  member.incarnation = life.incarnation;
  member.alive = false;
}

void Tally::decide(const wire::Record& record) {
  for (const auto& verdict : record.turned_away) {
    open.erase(verdict.gradient);
    settle(verdict.gradient);
  }
  if (record.applied.empty()) return;
  for (const auto& part : record.applied) {
    open.erase(part.gradient);
    samples_applied += part.samples;
    if (part.range) counted[part.range->epoch] += part.range->size();
  }
  updates.push_back(&record);
}

void Tally::commit(wire::Version version) {
  for (; committed < version && committed < updates.size(); ++committed)
    for (const auto& part : updates[committed]->applied) settle(part.gradient);
}

void Tally::settle(const wire::GradientId& gradient) {
  auto& member = members[gradient.life.replica];
  if (member.incarnation == gradient.life.incarnation && !member.warming) ++member.settled;
}

std::uint32_t Tally::count_alive() const {
  return static_cast<std::uint32_t>(
      std::count_if(members.begin(), members.end(), [](const auto& entry) { return entry.second.alive; }));
}

bool Tally::alive(const wire::Life& life) const {
  const auto it = members.find(life.replica);
  return it != members.end() && it->second.alive && it->second.incarnation == life.incarnation;
}

std::uint32_t Tally::epochs_counted() const {
  std::uint32_t epoch = 0;
  for (auto it = counted.find(0); it != counted.end() && it->second >= terms.samples; it = counted.find(epoch)) ++epoch;
  return epoch;
}

bool Tally::warming_up() const {
  return updates.size() < terms.options.warmup_steps ||
         (terms.samples > 0 && epochs_counted() < terms.options.warmup_epochs);
}

std::uint32_t Tally::contributors() const { return warming_up() ? 1 : terms.options.replicas - terms.options.spares; }

double Tally::rate() const {
  std::uint32_t batch = terms.batch;
  std::uint32_t since = 0;
  if (terms.samples > 0)
    for (const auto& change : terms.options.batch_schedule)
      if (change.from_epoch <= newest_epoch && change.from_epoch >= since) {
        since = change.from_epoch;
        batch = change.batch;
      }
  core::Progress progress;
  progress.samples = samples_applied;
  progress.epoch_samples = static_cast<double>(terms.samples);
  progress.update_samples = static_cast<double>(batch) * (terms.options.async ? 1 : contributors());
  progress.total_samples = terms.options.steps > 0 ? static_cast<double>(terms.options.steps) * progress.update_samples
                                                   : progress.epoch_samples * terms.options.epochs;
  return core::rate_at(terms.options.schedule, progress);
}

}  // namespace yoke::history
