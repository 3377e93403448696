#include <fmt/format.h>

#include <algorithm>

#include "history/rules.h"

namespace yoke::history {
namespace {

const char* word(wire::Fate fate) {
  return fate == wire::Fate::applied ? "applied" : fate == wire::Fate::dropped ? "dropped" : "refused";
}

bool has_samples(const wire::Assign& assign) { return !assign.range || assign.range->size() > 0; }

}  // namespace

void FateRules::on(const Event& event) {
  if (const auto* e = std::get_if<Assigned>(&event.what)) on_assigned(e->assign);
  if (const auto* e = std::get_if<Decided>(&event.what)) on_decided(e->record);
  if (const auto* e = std::get_if<Told>(&event.what)) on_told(e->verdict);
  if (const auto* e = std::get_if<Installed>(&event.what)) on_installed(*e);
  if (std::holds_alternative<Finished>(event.what)) finished_ = true;
  if (std::holds_alternative<Resumed>(event.what)) {
    assigned_.clear();
    decided_.clear();
    finished_ = false;
  }
}

void FateRules::on_assigned(const wire::Assign& assign) {
  const auto& life = assign.gradient.life;
  const auto [it, fresh] = assigned_.emplace(assign.gradient, assign);
  if (!fresh) {  // said again after a reset
    if (it->second.range != assign.range || it->second.step != assign.step)
      out_.push_back(fmt::format("{} was assigned twice, differently", name(assign.gradient)));
    return;
  }
  if (finished_) out_.push_back(fmt::format("{} was assigned after training was over", name(assign.gradient)));
  if (!tally_.alive(life))
    out_.push_back(fmt::format("{} was assigned to a life that is not in", name(assign.gradient)));
  for (const auto& [gradient, other] : tally_.open)
    if (gradient.life.replica == life.replica)
      out_.push_back(fmt::format("{} was assigned while {} was undecided", name(assign.gradient), name(gradient)));
    else if (tally_.warming_up() && tally_.alive(gradient.life) && has_samples(assign) && has_samples(other))
      out_.push_back(fmt::format("{} was assigned while one was to warm up, and {} was undecided",
                                 name(assign.gradient), name(gradient)));

  if (const auto there = tally_.count_alive(); there < tally_.terms.options.min_replicas)
    out_.push_back(fmt::format("{} was assigned with {} replicas in, at least {} are needed", name(assign.gradient),
                               there, tally_.terms.options.min_replicas));
  if (assign.counted != static_cast<std::uint64_t>(tally_.samples_applied))
    out_.push_back(fmt::format("{} was told that {} samples had counted, it was {}", name(assign.gradient),
                               assign.counted, tally_.samples_applied));
  if (assign.step != tally_.committed)
    out_.push_back(fmt::format("{} was assigned for version {}, but {} was committed", name(assign.gradient),
                               assign.step, tally_.committed));
  if (!tally_.terms.options.async && assign.range && assign.range->epoch > tally_.epochs_counted())
    out_.push_back(fmt::format("{} was assigned in epoch {} before the one before had counted", name(assign.gradient),
                               assign.range->epoch));

  const auto& max_lead = tally_.terms.options.stale.max_lead;
  if (!tally_.terms.options.async || !max_lead || !tally_.alive(life)) return;
  const auto ahead = tally_.members.at(life.replica).settled;
  for (const auto& [replica, member] : tally_.members)
    if (member.alive && ahead >= member.settled + std::max<std::uint64_t>(1, *max_lead))
      out_.push_back(fmt::format("{} was assigned with {} settled, {} or more ahead of replica {} with {}",
                                 name(assign.gradient), ahead, *max_lead, replica, member.settled));
}

void FateRules::on_installed(const Installed& installed) {
  const auto it = assigned_.find(installed.gradient);
  if (it != assigned_.end() && installed.version < it->second.step)
    out_.push_back(fmt::format("{} was assigned for version {} and computed on version {} of shard {}",
                               name(installed.gradient), it->second.step, installed.version, installed.shard));
}

void FateRules::on_decided(const wire::Record& record) {
  for (const auto& part : record.applied) {
    decide({part.gradient, wire::Fate::applied, record.step + 1, part.staleness, ""});
    const auto it = assigned_.find(part.gradient);
    if (it == assigned_.end()) continue;
    if (part.range != it->second.range)
      out_.push_back(fmt::format("{} was applied with another range than it was assigned", name(part.gradient)));
    if (part.samples != (part.range ? part.range->size() : tally_.terms.batch))
      out_.push_back(fmt::format("{} was applied as {} samples", name(part.gradient), part.samples));
  }
  for (const auto& verdict : record.turned_away) {
    decide(verdict);
    if (verdict.fate == wire::Fate::applied)
      out_.push_back(fmt::format("{} was turned away as applied", name(verdict.gradient)));
    if (verdict.version != tally_.updates.size())
      out_.push_back(fmt::format("{} was turned away at version {}, but {} was decided", name(verdict.gradient),
                                 verdict.version, tally_.updates.size()));
  }
}

void FateRules::decide(const wire::Verdict& verdict) {
  if (!assigned_.contains(verdict.gradient))
    out_.push_back(fmt::format("{} was {} without having been assigned", name(verdict.gradient), word(verdict.fate)));
  const auto [it, fresh] = decided_.emplace(verdict.gradient, verdict);
  if (fresh) return;
  if (it->second.fate == wire::Fate::applied && verdict.fate == wire::Fate::applied)
    out_.push_back(fmt::format("{} was applied twice, at versions {} and {}", name(verdict.gradient),
                               it->second.version, verdict.version));
  else
    out_.push_back(
        fmt::format("{} was both {} and {}", name(verdict.gradient), word(it->second.fate), word(verdict.fate)));
}

void FateRules::on_told(const wire::Verdict& told) {
  const auto it = decided_.find(told.gradient);
  if (it == decided_.end()) {
    out_.push_back(fmt::format("{} was told to be {}, undecided", name(told.gradient), word(told.fate)));
    return;
  }
  const auto& log = it->second;
  if (log.fate != told.fate || log.version != told.version || log.staleness != told.staleness)
    out_.push_back(fmt::format("{} was told to be {} at version {}, {} stale; the log says {} at {}, {} stale",
                               name(told.gradient), word(told.fate), told.version, told.staleness, word(log.fate),
                               log.version, log.staleness));
  if (told.fate == wire::Fate::applied && told.version > tally_.committed)
    out_.push_back(fmt::format("{} was told to be applied before it was committed", name(told.gradient)));
}

void FateRules::end() {
  if (!finished_) return;
  for (const auto& [gradient, assign] : assigned_)
    if (!decided_.contains(gradient))
      out_.push_back(fmt::format("training is over, and {} was never decided", name(gradient)));
}

}  // namespace yoke::history
