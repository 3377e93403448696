// Which samples are trained on, and which are held out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/open.h"
#include "yoke/error.h"

namespace yoke::data {

// A share that may be held out: from 0 to 0.9. Else an error that begins with `what`.
Status check_share(const std::string& what, double share);

struct Drawn {
  std::vector<std::uint64_t> rest, drawn;  // both in ascending order
};

// `count` of the samples, drawn by the seed, the same on every machine; count <= samples.size().
Drawn draw(std::vector<std::uint64_t> samples, std::uint64_t count, std::uint64_t seed);

// How a part of the training samples is held out. Exactly one of share and folds, or neither: nothing is held out.
struct Validation {
  double share = 0;         // this part of them, drawn by the seed
  std::uint32_t folds = 0;  // k-fold: the samples are dealt to so many folds, by the seed; `fold` is held out
};

// Reads "0.1" or "kfold:5" ("0": nothing).
Result<Validation> parse_validation(const std::string& text);

// Parts of `opened`, named after it ("digits train", "digits validation", "digits test"), samples in ascending order;
// normalised with what was learnt on the training part alone, or with `known` where a model brings
// its own. Each training sample is in exactly one of train and validation; over all folds each is held out once.
// Errors: no sample would be left on one side, more folds than samples, no such fold, a `known` that does not fit.
Result<Split> split(const Opened& opened, const Validation& validation, std::uint32_t fold, std::uint64_t seed,
                    bool normalise = true, const Normalisation* known = nullptr);

}  // namespace yoke::data
