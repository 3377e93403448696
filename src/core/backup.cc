#include "core/backup.h"

#include "core/planted.h"

namespace yoke::core {

void Backup::on(const Event& event, Effects& out) {
  if (std::holds_alternative<LaidDown>(event)) over_ = !planted(Bug::two_primaries_in_one_epoch);
  if (over_) return;
  if (const auto* slice = std::get_if<SliceCame>(&event); slice && !present_) {
    present_ = slice->version;
    standing_ = slice->standing;
    out.push_back(Acknowledge{slice->version});
  } else if (const auto* means = std::get_if<MeansCame>(&event)) {
    if (present_ && means->version <= *present_) return;
    means_.emplace(means->version, means->standing);
    if (planted(Bug::acknowledge_before_the_backup_has_it)) out.push_back(Acknowledge{means->version});
  } else if (const auto* followed = std::get_if<Followed>(&event); followed && next_ == followed->version && !made_) {
    made_ = true;
    out.push_back(Acknowledge{followed->version});
  } else if (std::holds_alternative<FilledUp>(event)) {
    filled_ = true;
  }
  go_on(out);
}

void Backup::go_on(Effects& out) {
  if (!present_ || (next_ && !made_)) return;
  const auto last = next_.value_or(*present_);
  const auto it = means_.find(last + 1);
  if (it == means_.end()) return;
  if (next_) {  // its successor is being made: it is committed
    present_ = next_;
    standing_ = std::move(standing_next_);
    out.push_back(Publish{*present_});
  }
  next_ = it->first;
  standing_next_ = std::move(it->second);
  means_.erase(it);
  made_ = false;
  out.push_back(Follow{*next_});
}

std::map<Version, std::optional<Standing>> Backup::holds() const {
  std::map<Version, std::optional<Standing>> all;
  if (!present_ || !filled_) return all;
  all[*present_] = standing_;
  if (next_ && made_) all[*next_] = standing_next_;
  return all;
}

}  // namespace yoke::core
