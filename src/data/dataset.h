// Data sets by sample number: what a replica is handed are numbers, and this turns them into numbers to compute with.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/schema.h"
#include "yoke/error.h"

namespace yoke::data {

// Some samples, ready to compute with: inputs in `features` or, when the schema says tokens, in `tokens`; targets in
// `classes` (tasks classes) or in `values` (the others).
struct Batch {
  std::uint64_t size = 0;
  std::vector<float> features;        // size * width
  std::vector<std::int64_t> tokens;   // size * width
  std::vector<std::int64_t> classes;  // size * positions
  std::vector<float> values;          // size * outputs
};

// Everything that was read, as it was read. Read-only once made, so any number of threads may fill from it.
class Source {
 public:
  virtual ~Source() = default;
  virtual const Schema& schema() const = 0;
  virtual std::uint64_t size() const = 0;
  // Mean and deviation over these samples; a feature that never changes gets the deviation 1.
  virtual Result<Normalisation> learn(std::span<const std::uint64_t> samples) const = 0;
  // Replaces what is in `batch`. The samples are below size(). Fails only where samples are read on demand (images).
  virtual Status fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation,
                      Batch& batch) const = 0;
};

// Some samples of a source, numbered from 0, normalised. Cheap to copy.
class Part {
 public:
  Part() = default;
  Part(std::string name, std::shared_ptr<const Source> source, Normalisation normalisation,
       std::vector<std::uint64_t> samples);

  const std::string& name() const { return name_; }  // for messages: "digits train"
  const Schema& schema() const { return source_->schema(); }
  const Normalisation& normalisation() const { return *normalisation_; }
  const Source& source() const { return *source_; }
  // Of the source, in this part's order.
  const std::vector<std::uint64_t>& samples() const { return *samples_; }
  std::uint64_t size() const { return samples_ ? samples_->size() : 0; }
  // A number that is no sample of this part is an error that names it.
  Result<Batch> batch(std::span<const std::uint64_t> samples) const;

 private:
  std::string name_;
  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Normalisation> normalisation_;
  std::shared_ptr<const std::vector<std::uint64_t>> samples_;
};

// What is trained on, what decides when to stop and which version is best, and what is looked at once, at the end.
struct Split {
  Part train, validation, test;  // validation and test may be empty (size 0)
};

}  // namespace yoke::data
