#include <fmt/format.h>

#include <algorithm>

#include "core/staleness.h"
#include "history/rules.h"

namespace yoke::history {

void UpdateRules::on(const Event& event, std::size_t at) {
  if (const auto* e = std::get_if<Installed>(&event.what)) installed_[e->gradient][e->shard] = e->version;
  if (std::holds_alternative<Resumed>(event.what)) next_index_ = 0;
  const auto* decided = std::get_if<Decided>(&event.what);
  if (!decided) return;
  const auto& record = decided->record;
  if (record.index != next_index_++) out_.push_back(fmt::format("record {} is out of order", record.index));
  if (record.applied.empty()) return;

  if (record.step != tally_.updates.size())
    out_.push_back(
        fmt::format("the record of step {} came when {} steps were decided", record.step, tally_.updates.size()));
  if (const auto there = tally_.count_alive(); there < tally_.terms.options.min_replicas)
    out_.push_back(fmt::format("step {} was decided with {} replicas in, at least {} are needed", record.step, there,
                               tally_.terms.options.min_replicas));
  for (const auto& part : record.applied) {
    check_base(record, part);
    for (auto block : payloads_.unsound(part.gradient, at))
      out_.push_back(fmt::format("step {} was decided before block {} of {} was found sound", record.step, block,
                                 name(part.gradient)));
  }
  tally_.terms.options.async ? check_async(record) : check_sync(record);
  if (!nearly_equal(record.rate, tally_.rate()))
    out_.push_back(fmt::format("step {} has rate {:.9g}, the schedule says {:.9g} after {} samples", record.step,
                               record.rate, tally_.rate(), tally_.samples_applied));
}

// The staleness that the record states is the true one.
void UpdateRules::check_base(const wire::Record& record, const wire::Contribution& part) {
  const auto it = installed_.find(part.gradient);
  const std::size_t shards = tally_.terms.shard_blocks.size();
  if (it == installed_.end() || it->second.size() != shards) {
    out_.push_back(fmt::format("step {} uses {}, which had not installed the parameters of every shard", record.step,
                               name(part.gradient)));
    return;
  }
  auto oldest = record.step;
  for (const auto& [shard, version] : it->second) oldest = std::min(oldest, version);
  if (part.base != oldest || part.staleness != record.step - oldest)
    out_.push_back(fmt::format("step {} takes {} as {} stale, computed on version {}; it is {}, on version {}",
                               record.step, name(part.gradient), part.staleness, part.base, record.step - oldest,
                               oldest));
  if (tally_.terms.options.async) return;
  for (const auto& [shard, version] : it->second)
    if (version != record.step)
      out_.push_back(fmt::format("step {} uses {}, which is not fresh: it was computed on version {} of shard {}",
                                 record.step, name(part.gradient), version, shard));
}

void UpdateRules::check_quorum(const wire::Record& record) {
  const auto wanted = tally_.wanted();
  const auto alive = tally_.count_alive();
  if (record.quorum > wanted)
    out_.push_back(fmt::format("step {} has a quorum of {}, more than {}", record.step, record.quorum, wanted));
  if (record.degraded && alive >= wanted)
    out_.push_back(fmt::format("step {} is called degraded with {} of {} alive", record.step, alive, wanted));
  if (record.quorum >= wanted || record.degraded) return;
  // Only the end of an epoch excuses it: every sample that has not counted is being worked on, in fewer ranges.
  const auto epoch = tally_.epochs_counted();
  const auto it = tally_.counted.find(epoch);
  std::uint64_t covered = it == tally_.counted.end() ? 0 : it->second;
  for (const auto& [gradient, assign] : tally_.open)
    if (assign.range && assign.range->epoch == epoch) covered += assign.range->size();
  if (tally_.terms.options.everybody || tally_.terms.samples == 0 || covered != tally_.terms.samples ||
      tally_.open.size() >= wanted)
    out_.push_back(
        fmt::format("step {} is made of {} gradients instead of {}, though {} replicas are alive and {} "
                    "ranges were being worked on",
                    record.step, record.quorum, wanted, alive, tally_.open.size()));
}

void UpdateRules::check_sync(const wire::Record& record) {
  if (record.applied.size() != record.quorum)
    out_.push_back(fmt::format("step {} is made of {} gradients, its quorum is {}", record.step, record.applied.size(),
                               record.quorum));
  std::set<wire::ReplicaId> replicas;
  double samples = 0;
  for (const auto& part : record.applied) {
    samples += part.samples;
    if (!replicas.insert(part.gradient.life.replica).second)
      out_.push_back(fmt::format("step {} counts replica {} twice", record.step, part.gradient.life.replica));
  }
  if (samples == 0) out_.push_back(fmt::format("step {} is made of no samples", record.step));
  for (const auto& part : record.applied)
    if (!nearly_equal(part.weight, part.samples / samples))
      out_.push_back(fmt::format("step {} gives {} weight {:.9g} for {} of {} samples", record.step,
                                 name(part.gradient), part.weight, part.samples, samples));
  check_quorum(record);
}

void UpdateRules::check_async(const wire::Record& record) {
  const auto& stale = tally_.terms.options.stale;
  if (record.applied.size() != 1 || record.quorum != 1)
    out_.push_back(
        fmt::format("step {} is made of {} gradients, though asynchronous", record.step, record.applied.size()));
  for (const auto& part : record.applied) {
    if (stale.max_staleness && part.staleness > *stale.max_staleness)
      out_.push_back(fmt::format("step {} applies {}, {} versions stale, more than the {} allowed", record.step,
                                 name(part.gradient), part.staleness, *stale.max_staleness));
    else if (!nearly_equal(part.weight, core::judge_staleness(stale, part.staleness).factor))
      out_.push_back(fmt::format("step {} gives {} weight {:.9g} at staleness {}", record.step, name(part.gradient),
                                 part.weight, part.staleness));
  }
}

}  // namespace yoke::history
