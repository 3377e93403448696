#include <fmt/format.h>

#include <algorithm>

#include "history/rules.h"

namespace yoke::history {

void SampleRules::on(const Event& event) {
  if (const auto* e = std::get_if<Finished>(&event.what)) finished_ = e;
  if (std::holds_alternative<Stopped>(event.what)) stopped_ = true;
  const auto* decided = std::get_if<Decided>(&event.what);
  if (!decided) return;
  for (const auto& part : decided->record.applied) {
    if (!part.range) {
      if (tally_.terms.samples > 0) out_.push_back(fmt::format("{} was applied without a range", name(part.gradient)));
      continue;
    }
    const auto& range = *part.range;
    if (range.size() == 0 && tally_.terms.options.everybody) continue;
    if (range.epoch >= tally_.terms.options.epochs || range.begin >= range.end || range.end > tally_.terms.samples) {
      out_.push_back(fmt::format("{} counts samples {}..{} of epoch {}, which do not exist", name(part.gradient),
                                 range.begin, range.end, range.epoch));
      continue;
    }
    auto& places = counted_[range.epoch];
    places.resize(tally_.terms.samples);
    const auto begin = places.begin() + static_cast<std::ptrdiff_t>(range.begin);
    const auto end = places.begin() + static_cast<std::ptrdiff_t>(range.end);
    if (const auto twice = std::find(begin, end, true); twice != end)
      out_.push_back(fmt::format("sample {} of epoch {} counted twice, the second time in {}", twice - places.begin(),
                                 range.epoch, name(part.gradient)));
    std::fill(begin, end, true);
  }
}

void SampleRules::end() {
  const auto& terms = tally_.terms;
  if (!finished_) return;
  if (terms.options.steps > 0 && finished_->version > terms.options.steps)
    out_.push_back(fmt::format("{} steps were made instead of {}", finished_->version, terms.options.steps));
  if (terms.options.steps > 0 && finished_->version == terms.options.steps) return;
  if (stopped_) return;
  for (std::uint32_t epoch = 0; epoch < terms.options.epochs; ++epoch) {
    auto& places = counted_[epoch];
    places.resize(terms.samples);
    if (const auto never = std::find(places.begin(), places.end(), false); never != places.end())
      out_.push_back(
          fmt::format("training is over, and sample {} of epoch {} never counted", never - places.begin(), epoch));
  }
}

}  // namespace yoke::history
