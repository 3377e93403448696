#include "data/dataset.h"

#include <fmt/format.h>

#include <utility>

namespace yoke::data {

Part::Part(std::string name, std::shared_ptr<const Source> source, Normalisation normalisation,
           std::vector<std::uint64_t> samples)
    : name_(std::move(name)),
      source_(std::move(source)),
      normalisation_(std::make_shared<const Normalisation>(std::move(normalisation))),
      samples_(std::make_shared<const std::vector<std::uint64_t>>(std::move(samples))) {}

Result<Batch> Part::batch(std::span<const std::uint64_t> samples) const {
  std::vector<std::uint64_t> of_source;
  of_source.reserve(samples.size());
  for (auto sample : samples) {
    if (sample >= size()) {
      return Error{Code::invalid_argument,
                   fmt::format("{} has {} samples: there is no sample {}", name_, size(), sample)};
    }
    of_source.push_back((*samples_)[sample]);
  }
  Batch batch;
  if (of_source.empty()) return batch;
  if (auto filled = source_->fill(of_source, *normalisation_, batch); !filled) return filled.error();
  return batch;
}

}  // namespace yoke::data
