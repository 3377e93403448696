#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "history/rules.h"

namespace yoke::history {

void SampleRules::on(const Event& event, std::size_t at) {
  if (const auto* e = std::get_if<Finished>(&event.what)) finished_ = e;
  if (std::holds_alternative<Stopped>(event.what)) stopped_ = true;
  if (const auto* e = std::get_if<Resumed>(&event.what)) on_resumed(*e, at == 1);
  if (const auto* e = std::get_if<Assigned>(&event.what)) on_assigned(e->assign.range);
  if (const auto* e = std::get_if<Decided>(&event.what))
    for (const auto& part : e->record.applied) count(part);
}

// What the checkpoint gave back comes before what nobody has had yet.
void SampleRules::on_assigned(const std::optional<wire::Range>& range) {
  if (!range || !resumed_ || to_return_.empty()) return;
  for (auto place = range->begin; place < range->end; ++place) to_return_.erase({range->epoch, place});
  const bool new_ones = range->epoch > resumed_->epoch ||
                        (range->epoch == resumed_->epoch && range->begin >= resumed_->cursor && range->size() > 0);
  if (!new_ones || to_return_.empty()) return;
  const auto [epoch, place] = *to_return_.begin();
  out_.push_back(fmt::format(
      "samples {}..{} of epoch {} were handed out before sample {} of epoch {}, which the checkpoint gave back",
      range->begin, range->end, range->epoch, place, epoch));
}

void SampleRules::count(const wire::Contribution& part) {
  if (!part.range) {
    if (tally_.terms.samples > 0) out_.push_back(fmt::format("{} was applied without a range", name(part.gradient)));
    return;
  }
  const auto& range = *part.range;
  if (range.size() == 0 && tally_.terms.options.everybody) return;
  if (range.epoch >= tally_.terms.options.epochs || range.begin >= range.end || range.end > tally_.terms.samples) {
    out_.push_back(fmt::format("{} counts samples {}..{} of epoch {}, which do not exist", name(part.gradient),
                               range.begin, range.end, range.epoch));
    return;
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

// What was decided from the standing's version on never happened. The rest is counted again from the records, and must
// be what the standing says.
void SampleRules::on_resumed(const Resumed& resumed, bool at_the_beginning) {
  const auto& standing = resumed.standing;
  finished_ = nullptr;
  stopped_ = false;
  resumed_ = standing.ledger ? &*standing.ledger : nullptr;
  to_return_.clear();
  if (resumed_)
    for (const auto& range : resumed_->returned)
      for (auto place = range.begin; place < range.end; ++place) to_return_.emplace(range.epoch, place);
  if (at_the_beginning) {
    before_ = counted_ = counted_in(standing);
    samples_before_ = standing.samples_decided;
    return;
  }
  counted_ = before_;
  double samples = samples_before_;
  const auto known = std::min<std::size_t>(standing.version, tally_.updates.size());
  for (std::size_t step = 0; step < known; ++step) {
    if (!tally_.updates[step]) continue;
    for (const auto& part : tally_.updates[step]->applied) {
      samples += part.samples;
      count(part);
    }
  }
  if (standing.samples != tally_.terms.samples)
    out_.push_back(fmt::format("the job goes on with {} samples, it had {}", standing.samples, tally_.terms.samples));
  if (std::abs(standing.samples_decided - samples) > 1e-6)
    out_.push_back(fmt::format("the job goes on from version {} after {} samples, the records say {}", standing.version,
                               standing.samples_decided, samples));
  compare(counted_in(standing), standing);
}

SampleRules::Counted SampleRules::counted_in(const core::Standing& standing) {
  Counted counted;
  if (!standing.ledger) return counted;
  const auto& ledger = *standing.ledger;
  for (std::uint32_t epoch = 0; epoch <= ledger.epoch; ++epoch) {
    auto& places = counted[epoch];
    places.resize(standing.samples);
    const auto handed_out = epoch < ledger.epoch ? standing.samples : std::min(standing.samples, ledger.cursor);
    std::fill_n(places.begin(), handed_out, true);
  }
  for (const auto& range : ledger.returned) {
    auto& places = counted[range.epoch];
    places.resize(standing.samples);
    for (auto place = range.begin; place < range.end; ++place) {
      if (place >= places.size() || !places[place])
        out_.push_back(fmt::format("the job goes on from version {} and has sample {} of epoch {} to hand out twice",
                                   standing.version, place, range.epoch));
      else
        places[place] = false;
    }
  }
  for (const auto& [epoch, places] : counted) {
    const auto count = static_cast<std::uint64_t>(std::count(places.begin(), places.end(), true));
    const auto it = ledger.counted.find(epoch);
    const auto said = epoch < ledger.counted_epochs ? standing.samples : it == ledger.counted.end() ? 0 : it->second;
    if (count != said)
      out_.push_back(fmt::format("the job goes on from version {} with {} samples of epoch {} counted, and has {} left",
                                 standing.version, said, epoch, standing.samples - count));
  }
  return counted;
}

void SampleRules::compare(const Counted& said, const core::Standing& standing) {
  const auto find = [](const Counted& counted, std::uint32_t epoch, std::uint64_t place) {
    const auto it = counted.find(epoch);
    return it != counted.end() && place < it->second.size() && it->second[place];
  };
  const auto epochs = standing.ledger ? tally_.terms.options.epochs : 0;
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch)
    for (std::uint64_t place = 0; place < standing.samples; ++place) {
      const bool counted = find(counted_, epoch, place);
      if (counted == find(said, epoch, place)) continue;
      out_.push_back(fmt::format("the job goes on from version {}, and sample {} of epoch {} {}", standing.version,
                                 place, epoch, counted ? "is handed out again, though it counted" : "is lost"));
      return;
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
