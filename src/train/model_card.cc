#include "train/model_card.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace yoke::train {
namespace {

using nlohmann::json;

constexpr const char* kModel = "yoke.model";
constexpr const char* kSchema = "yoke.schema";
constexpr const char* kNormalisation = "yoke.normalisation";
constexpr const char* kTraining = "yoke.training";

Error damaged(const std::string& file) {
  return {Code::corrupt,
          fmt::format("{}: what it says about its model ({}, {}) is damaged", file, kSchema, kNormalisation)};
}

data::Schema schema_from(const json& from) {
  data::Schema schema;
  from.at("shape").get_to(schema.shape);
  from.at("tokens").get_to(schema.tokens);
  schema.task = static_cast<data::Task>(from.at("task").get<int>());
  from.at("outputs").get_to(schema.outputs);
  from.at("positions").get_to(schema.positions);
  from.at("labels").get_to(schema.labels);
  from.at("features").get_to(schema.features);
  return schema;
}

bool sensible(const data::Schema& schema) {
  for (const auto extent : schema.shape)
    if (extent < 1 || extent > 1'000'000'000) return false;
  return schema.outputs >= 1 && schema.positions >= 1 && schema.task >= data::Task::classes &&
         schema.task <= data::Task::flags;
}

}  // namespace

void write_card(const ModelCard& card, State& state) {
  const auto& schema = card.schema;
  state.about[kTraining] = json{{"loss", card.loss}, {"target", card.target}, {"test_share", card.test_share}}.dump();
  state.about[kModel] = card.model;
  state.about[kSchema] =
      json{{"shape", schema.shape},      {"tokens", schema.tokens},       {"task", static_cast<int>(schema.task)},
           {"outputs", schema.outputs},  {"positions", schema.positions}, {"labels", schema.labels},
           {"features", schema.features}}
          .dump();
  state.about[kNormalisation] = json{{"mean", card.normalisation.mean},
                                     {"deviation", card.normalisation.deviation},
                                     {"target_mean", card.normalisation.target_mean},
                                     {"target_deviation", card.normalisation.target_deviation}}
                                    .dump();
}

Result<ModelCard> read_card(const State& state, const std::string& file) {
  const auto model = state.about.find(kModel), schema = state.about.find(kSchema),
             normalisation = state.about.find(kNormalisation);
  const auto end = state.about.end();
  if (model == end || schema == end || normalisation == end)
    return Error{Code::invalid_argument,
                 fmt::format("{} does not say which network it belongs to: no Yoke wrote it. `yoke inspect` shows what "
                             "is in it; as a start for a network of your own use `yoke train --init`",
                             file)};
  try {
    ModelCard card{model->second, schema_from(json::parse(schema->second)), {}};
    const auto from = json::parse(normalisation->second);
    from.at("mean").get_to(card.normalisation.mean);
    from.at("deviation").get_to(card.normalisation.deviation);
    from.at("target_mean").get_to(card.normalisation.target_mean);
    from.at("target_deviation").get_to(card.normalisation.target_deviation);
    if (const auto training = state.about.find(kTraining); training != end) {
      const auto how = json::parse(training->second);
      how.at("loss").get_to(card.loss);
      how.at("target").get_to(card.target);
      how.at("test_share").get_to(card.test_share);
    }
    if (!sensible(card.schema)) return damaged(file);
    return card;
  } catch (const json::exception&) {
    return damaged(file);
  }
}

}  // namespace yoke::train
