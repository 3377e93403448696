#include <fmt/format.h>

#include "history/rules.h"

namespace yoke::history {

void FormingRules::on(const Event& event) {
  if (const auto* e = std::get_if<Committed>(&event.what)) keep(e->version, "committed");
  if (const auto* e = std::get_if<Published>(&event.what)) keep(e->version, "shown");
  if (const auto* e = std::get_if<Told>(&event.what); e && e->verdict.fate == wire::Fate::applied)
    keep(e->verdict.version, "told of");
  if (const auto* e = std::get_if<Announced>(&event.what)) keep(e->version, "announced as a checkpoint");
  if (const auto* e = std::get_if<Finished>(&event.what)) keep(e->version, "the last one");
  const auto* resumed = std::get_if<Resumed>(&event.what);
  if (!resumed) return;
  if (resumed->formed) return on_formed(resumed->standing);
  kept_ = resumed->standing.version;
  how_ = "gone on from";
  gone_on_from_ = resumed->standing;
}

void FormingRules::keep(wire::Version version, const char* how) {
  if (version <= kept_) return;
  kept_ = version;
  how_ = how;
}

// A version that nobody was told of may be gone on from, or made again.
void FormingRules::on_formed(const core::Standing& standing) {
  const auto version = standing.version;
  if (version < kept_)
    out_.push_back(
        fmt::format("the job is formed anew from version {}, though version {} was {}", version, kept_, how_));
  if (version > tally_.updates.size()) {
    out_.push_back(fmt::format("the job is formed anew from version {}, and {} updates were decided", version,
                               tally_.updates.size()));
    return;
  }
  // As it was gone on from, or as the last update says.
  if (gone_on_from_ && version == gone_on_from_->version) {
    if (standing != *gone_on_from_)
      out_.push_back(fmt::format(
          "the job is formed anew from version {} with another standing than it was gone on from", version));
    return;
  }
  const auto* record = version > 0 ? tally_.updates[version - 1] : nullptr;
  if (record && record->standing != standing)
    out_.push_back(
        fmt::format("the job is formed anew from version {} with another standing than its record has", version));
}

}  // namespace yoke::history
