#include "data/split.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "base/hash.h"
#include "data/file.h"
#include "data/wrong.h"

namespace yoke::data {
namespace {

constexpr double kMaxShare = 0.9;
constexpr std::string_view kFolds = "kfold:";

using Samples = std::vector<std::uint64_t>;

// Fisher and Yates, with numbers of our own: std::shuffle gives another order with every library.
void shuffle(Samples& samples, std::uint64_t seed) {
  for (std::uint64_t i = samples.size(); i > 1; --i) std::swap(samples[i - 1], samples[mix(seed, i) % i]);
}

template <class Number>
bool reads(std::string_view text, Number& number) {
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && stop == text.data() + text.size();
}

Result<Drawn> hold_out_share(const Samples& samples, double share, std::uint64_t seed) {
  if (auto good = check_share("validation share", share); !good) return good.error();
  if (samples.size() < 2) {
    return wrong(fmt::format("of {} training samples none can be held out: add some, or validate with a share of 0",
                             samples.size()));
  }
  const auto wanted = static_cast<std::uint64_t>(std::llround(share * static_cast<double>(samples.size())));
  return draw(samples, std::clamp<std::uint64_t>(wanted, 1, samples.size() - 1), seed);
}

Result<Drawn> hold_out_fold(Samples samples, std::uint32_t folds, std::uint32_t fold, std::uint64_t seed) {
  if (folds < 2) return wrong(fmt::format("kfold:{}: there have to be at least 2 folds", folds));
  if (folds > samples.size()) {
    return wrong(fmt::format("kfold:{}: there are only {} training samples", folds, samples.size()));
  }
  if (fold >= folds) return wrong(fmt::format("kfold:{}: there is no fold {}, they go from 0", folds, fold));
  shuffle(samples, seed);
  Drawn parts;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    (i % folds == fold ? parts.drawn : parts.rest).push_back(samples[i]);
  }
  std::sort(parts.drawn.begin(), parts.drawn.end());
  std::sort(parts.rest.begin(), parts.rest.end());
  return parts;
}

Result<Drawn> hold_out(const Samples& samples, const Validation& validation, std::uint32_t fold, std::uint64_t seed) {
  if (validation.folds == 0 && validation.share == 0) return draw(samples, 0, seed);
  if (validation.folds == 0) return hold_out_share(samples, validation.share, seed);
  if (validation.share == 0) return hold_out_fold(samples, validation.folds, fold, seed);
  return wrong("validation has a share and folds: there can be only one of them");
}

Status check_fit(const std::string& name, const Normalisation& known, const Schema& schema) {
  const auto fits = [](const auto& mean, const auto& deviation, std::int64_t width) {
    const bool sized = mean.size() <= 1 || mean.size() == static_cast<std::size_t>(width);
    return sized && mean.size() == deviation.size() &&
           std::all_of(deviation.begin(), deviation.end(), [](float d) { return d > 0; });
  };
  if (fits(known.mean, known.deviation, schema.width()) &&
      fits(known.target_mean, known.target_deviation, schema.outputs)) {
    return {};
  }
  return wrong(
      fmt::format("{}: the model's normalisation is of {} features and {} targets, but the samples have {} and "
                  "{}: give data like that it was trained on",
                  name, known.mean.size(), known.target_mean.size(), schema.width(), schema.outputs));
}

Result<Normalisation> normalisation(const Opened& opened, const Samples& train, bool normalise,
                                    const Normalisation* known) {
  if (known != nullptr) {
    if (auto fit = check_fit(opened.name, *known, opened.source->schema()); !fit) return fit.error();
    return *known;
  }
  if (train.empty()) return wrong(opened.name + ": there are no samples to train on");
  return normalise ? opened.source->learn(train) : Normalisation{};
}

}  // namespace

Status check_share(const std::string& what, double share) {
  if (share >= 0 && share <= kMaxShare) return {};
  return wrong(fmt::format("{} {}: it goes from 0 to {}", what, share, kMaxShare));
}

Drawn draw(Samples samples, std::uint64_t count, std::uint64_t seed) {
  shuffle(samples, seed);
  const auto border = samples.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(samples.begin(), border);
  std::sort(border, samples.end());
  return {{border, samples.end()}, {samples.begin(), border}};
}

Result<Validation> parse_validation(const std::string& text) {
  Validation validation;
  if (text.starts_with(kFolds)) {
    if (reads(std::string_view(text).substr(kFolds.size()), validation.folds) && validation.folds >= 2) {
      return validation;
    }
    return wrong(fmt::format("validation {}: at least 2 folds are wanted, as in kfold:5", text));
  }
  if (!reads(text, validation.share)) {
    return wrong(fmt::format("validation '{}': a share as 0.1, or folds as kfold:5, are wanted (0: none)", text));
  }
  if (auto good = check_share("validation share", validation.share); !good) return good.error();
  return validation;
}

Result<Split> split(const Opened& opened, const Validation& validation, std::uint32_t fold, std::uint64_t seed,
                    bool normalise, const Normalisation* known) {
  auto parts = hold_out(opened.train, validation, fold, seed);
  if (!parts) return within(opened.name, parts.error());
  auto normal = normalisation(opened, parts->rest, normalise, known);
  if (!normal) return normal.error();
  const auto part = [&](const char* name, Samples samples) {
    return Part(opened.name + " " + name, opened.source, *normal, std::move(samples));
  };
  return Split{part("train", std::move(parts->rest)), part("validation", std::move(parts->drawn)),
               part("test", opened.test)};
}

}  // namespace yoke::data
