#include <fmt/format.h>

#include <algorithm>

#include "history/rules.h"

namespace yoke::history {

void ShardRules::on(const Event& event, std::size_t at) {
  if (const auto* e = std::get_if<Decided>(&event.what); e && !e->record.applied.empty()) decided_at_.push_back(at);
  if (const auto* e = std::get_if<Resumed>(&event.what)) on_resumed(*e);
  if (const auto* e = std::get_if<Made>(&event.what)) on_made(*e);
  if (const auto* e = std::get_if<Published>(&event.what)) on_published(*e);
  if (const auto* e = std::get_if<Finished>(&event.what)) finished_ = e;
  if (const auto* e = std::get_if<Committed>(&event.what)) {
    if (e->version != tally_.committed + 1)
      out_.push_back(fmt::format("version {} was committed after version {}", e->version, tally_.committed));
    if (const auto who = unmade(e->version); !who.empty())
      out_.push_back(fmt::format("version {} was committed before {}", e->version, who));
  }
}

void ShardRules::on_resumed(const Resumed& resumed) {
  const auto version = resumed.standing.version;
  const auto& terms = resumed.terms ? *resumed.terms : tally_.terms;
  std::erase_if(made_, [&](const auto& entry) { return entry.first.second > version; });
  scale_.erase(scale_.upper_bound(version), scale_.end());
  decided_at_.resize(version);
  home_.clear();
  published_.clear();
  for (wire::ShardId shard = 0; shard < terms.shard_blocks.size(); ++shard) published_[shard] = version;
  finished_ = nullptr;
}

std::string ShardRules::unmade(wire::Version version) const {
  for (wire::ShardId shard = 0; shard < tally_.terms.shard_blocks.size(); ++shard) {
    const auto it = made_.find({shard, version});
    const std::size_t done = it == made_.end() ? 0 : it->second.size(), all = tally_.terms.shard_blocks[shard];
    if (done != all) return fmt::format("every shard had made it: shard {} had made {} of {} blocks", shard, done, all);
  }
  return "";
}

void ShardRules::on_made(const Made& made) {
  const auto where = fmt::format("version {} of block {} on shard {}", made.version, made.block, made.shard);
  if (home_.try_emplace(made.block, made.shard).first->second != made.shard)
    out_.push_back(where + " belongs to another shard");
  if (!made_[{made.shard, made.version}].insert(made.block).second) out_.push_back(where + " was made twice");
  if (made.version == 0 || made.version > decided_at_.size() || made.version > tally_.updates.size() ||
      !tally_.updates[made.version - 1]) {
    out_.push_back(where + " was made before it was decided");
    return;
  }
  if (published_[made.shard] + 1 != made.version)
    out_.push_back(fmt::format("{} was made when the shard showed version {}", where, published_[made.shard]));
  const auto& record = *tally_.updates[made.version - 1];
  if (!nearly_equal(made.rate, record.rate))
    out_.push_back(fmt::format("{} was made at rate {}, the record says {}", where, made.rate, record.rate));
  // A block that is averaged is not scaled; the others are all scaled alike.
  if (made.scale != 1 && !record.clip) out_.push_back(where + " was scaled without clipping");
  if (made.scale != 1 && scale_.try_emplace(made.version, made.scale).first->second != made.scale)
    out_.push_back(where + " was scaled unlike others of its version");
  check_used(made, record);
}

void ShardRules::check_used(const Made& made, const wire::Record& record) {
  const auto where = fmt::format("version {} of block {} on shard {}", made.version, made.block, made.shard);
  std::map<wire::GradientId, double> weights;
  for (const auto& part : record.applied) weights[part.gradient] = part.weight;
  std::set<wire::GradientId> seen;
  bool as_recorded = true;
  double sum = 0, ratio = 0;
  for (const auto& used : made.used) {
    const auto* payload = payloads_.find(used.ticket);
    if (!payload || payload->at > decided_at_[made.version - 1])
      out_.push_back(
          fmt::format("{} uses a payload of {} that was not examined before the decision", where, name(used.gradient)));
    if (payload && !payload->ok)
      out_.push_back(fmt::format("{} uses a damaged payload of {}", where, name(used.gradient)));
    if (payload && (payload->block != made.block || payload->gradient != used.gradient))
      out_.push_back(
          fmt::format("{} uses a payload of block {} of {}", where, payload->block, name(payload->gradient)));
    if (!seen.insert(used.gradient).second) out_.push_back(fmt::format("{} uses {} twice", where, name(used.gradient)));
    const auto it = weights.find(used.gradient);
    if (it == weights.end()) {
      out_.push_back(fmt::format("{} uses {}, which is not in the record", where, name(used.gradient)));
      continue;
    }
    as_recorded &= nearly_equal(used.weight, it->second);
    sum += used.weight;
    if (ratio == 0 && it->second != 0) ratio = used.weight / it->second;
    if (!nearly_equal(used.weight, it->second * ratio)) out_.push_back(where + " is weighted unlike the record");
  }
  if (!made.used.empty() && !as_recorded && !nearly_equal(sum, 1))
    out_.push_back(fmt::format("{} is made with weights that sum to {:.9g}", where, sum));
  for (const auto& part : record.applied)
    if (part.weight != 0 && !seen.contains(part.gradient) && payloads_.any(part.gradient, made.block))
      out_.push_back(fmt::format("{} leaves out {}, which is in the record", where, name(part.gradient)));
}

void ShardRules::on_published(const Published& published) {
  auto& last = published_[published.shard];
  if (published.version != last + 1)
    out_.push_back(fmt::format("shard {} showed version {} after {}", published.shard, published.version, last));
  last = published.version;
  if (const auto who = unmade(published.version); !who.empty())
    out_.push_back(fmt::format("shard {} showed version {} before {}", published.shard, published.version, who));
  if (published.version > tally_.committed)
    out_.push_back(
        fmt::format("shard {} showed version {} before it was committed", published.shard, published.version));
}

void ShardRules::end() {
  if (finished_ && (finished_->version != tally_.updates.size() || finished_->version != tally_.committed))
    out_.push_back(fmt::format("training ended at version {}, with {} decided and {} committed", finished_->version,
                               tally_.updates.size(), tally_.committed));
}

}  // namespace yoke::history
