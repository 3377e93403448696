#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "history/rules.h"

namespace yoke::history {

void CheckpointRules::on(const Event& event, std::size_t at) {
  if (const auto* e = std::get_if<Decided>(&event.what); e && e->record.mark) on_marked(e->record);
  if (const auto* e = std::get_if<Captured>(&event.what)) on_captured(*e);
  if (const auto* e = std::get_if<Announced>(&event.what)) on_announced(*e);
  if (const auto* e = std::get_if<Published>(&event.what)) published_[e->shard] = e->version;
  if (const auto* e = std::get_if<Resumed>(&event.what)) {
    if (at > 1 && !e->formed) on_resumed(*e);  // right after the terms there is nothing to compare it with
    const auto& terms = e->terms ? *e->terms : tally_.terms;
    // Those of a time that never happened.
    std::erase_if(marks_, [&](const auto& entry) { return entry.second.version > e->standing.version; });
    published_.clear();
    for (wire::ShardId shard = 0; shard < terms.shard_blocks.size(); ++shard) published_[shard] = e->standing.version;
  }
}

void CheckpointRules::on_marked(const wire::Record& record) {
  const auto decided = tally_.updates.size();
  if (!marks_.try_emplace(record.mark, Mark{record.step, tally_.terms.shard_blocks.size(), {}, false}).second)
    out_.push_back(fmt::format("checkpoint {} was marked twice", record.mark));
  if (!record.applied.empty())
    out_.push_back(fmt::format("the mark of checkpoint {} is an update besides", record.mark));
  if (record.step != decided)
    out_.push_back(fmt::format("checkpoint {} was marked as version {} when {} updates were decided", record.mark,
                               record.step, decided));
  // Between two synchronous steps nobody works, so that who goes on from there does what was done here.
  const auto& options = tally_.terms.options;
  if (options.async || tally_.count_alive() < options.min_replicas) return;
  if (!tally_.open.empty())
    out_.push_back(
        fmt::format("checkpoint {} was marked while {} was undecided", record.mark, name(tally_.open.begin()->first)));
  if (tally_.committed != decided)
    out_.push_back(fmt::format("checkpoint {} was marked when {} updates were decided and {} committed", record.mark,
                               decided, tally_.committed));
}

void CheckpointRules::on_captured(const Captured& captured) {
  const auto what = fmt::format("shard {} captured checkpoint {}", captured.shard, captured.token);
  const auto it = marks_.find(captured.token);
  if (it == marks_.end()) {
    out_.push_back(what + ", which was never marked");
    return;
  }
  if (captured.version != it->second.version)
    out_.push_back(
        fmt::format("{} at version {}, it was marked at version {}", what, captured.version, it->second.version));
  if (captured.version != published_[captured.shard])
    out_.push_back(
        fmt::format("{} at version {} when it showed version {}", what, captured.version, published_[captured.shard]));
  if (!it->second.captured.insert(captured.shard).second) out_.push_back(what + " twice");
}

void CheckpointRules::on_announced(const Announced& announced) {
  const auto what = fmt::format("checkpoint {} was announced", announced.token);
  const auto it = marks_.find(announced.token);
  if (it == marks_.end()) {
    out_.push_back(what + " and never marked");
    return;
  }
  auto& mark = it->second;
  if (announced.version != mark.version)
    out_.push_back(fmt::format("{} as version {}, it was marked at version {}", what, announced.version, mark.version));
  if (mark.captured.size() != mark.shards)
    out_.push_back(fmt::format("{} when {} of {} shards had captured it", what, mark.captured.size(), mark.shards));
  if (std::exchange(mark.announced, true)) out_.push_back(what + " twice");
}

void CheckpointRules::on_resumed(const Resumed& resumed) {
  const auto version = resumed.standing.version;
  std::set<wire::Version> later;  // and announced
  bool whole = version == 0;      // from the beginning
  for (const auto& [token, mark] : marks_) {
    whole |= mark.version == version && mark.captured.size() == mark.shards;
    if (mark.announced && mark.version > version) later.insert(mark.version);
  }
  if (!whole)
    out_.push_back(
        fmt::format("the job goes on from version {}, which no checkpoint is of that every shard captured", version));
  if (later.size() > resumed.passed_over)
    out_.push_back(fmt::format("the job goes on from version {}, though a checkpoint of version {} was announced{}",
                               version, *later.rbegin(),
                               resumed.passed_over ? fmt::format(", and {} were damaged", resumed.passed_over) : ""));
}

}  // namespace yoke::history
