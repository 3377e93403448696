// What must be known of a model beside its weights, to use it: which network, for which data, normalised how. Kept in
// the model file's own words (`about`), so that the file alone is enough.
#pragma once

#include <string>
#include <vector>

#include "data/schema.h"
#include "yoke/error.h"
#include "yoke/state.h"

namespace yoke::train {

struct ModelCard {
  std::string model;  // "cnn:32-64-128", or the TorchScript file it was
  data::Schema schema;
  data::Normalisation normalisation;
  // How it was trained, as far as that decides what it is measured by.
  std::string loss = "standard";
  std::vector<std::string> target{};  // csv: the columns
  double test_share = 0.1;
};

void write_card(const ModelCard& card, State& state);
// A file that no Yoke wrote has none: an error that says so and what to give instead.
Result<ModelCard> read_card(const State& state, const std::string& file);

}  // namespace yoke::train
