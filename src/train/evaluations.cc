#include "train/evaluations.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/write_whole.h"
#include "checkpoint/model_file.h"

namespace yoke::train {
namespace {

using nlohmann::json;

constexpr const char* kVersionKey = "yoke.training_version";

std::string looks_file(const std::string& folder) { return folder + "/evaluations.json"; }
std::string best_file(const std::string& folder) { return folder + "/best/model.safetensors"; }

// JSON has neither NaN nor infinity, and a training that diverges has nothing else.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }
double number_in(const json& from) { return from.is_null() ? std::nan("") : from.get<double>(); }

json to_json(const Look& look) {
  json metrics = json::array();
  for (const auto& metric : look.evaluation.metrics) metrics.push_back({metric.name, number(metric.value)});
  json out{{"version", look.version},
           {"counted", look.counted},
           {"loss", number(look.evaluation.loss)},
           {"samples", look.evaluation.samples},
           {"metrics", std::move(metrics)},
           {"seconds", number(look.seconds)},
           {"training_loss", number(look.training_loss)}};
  if (look.evaluation.accuracy) out["accuracy"] = number(*look.evaluation.accuracy);
  return out;
}

Look look_in(const json& from) {
  Look look;
  look.version = from.at("version").get<std::uint64_t>();
  look.counted = from.at("counted").get<std::uint64_t>();
  look.evaluation.loss = number_in(from.at("loss"));
  look.evaluation.samples = from.at("samples").get<std::uint64_t>();
  if (from.contains("accuracy")) look.evaluation.accuracy = number_in(from.at("accuracy"));
  for (const auto& metric : from.at("metrics"))
    look.evaluation.metrics.push_back({metric.at(0).get<std::string>(), number_in(metric.at(1))});
  look.seconds = number_in(from.at("seconds"));
  look.training_loss = number_in(from.at("training_loss"));
  return look;
}

}  // namespace

Result<std::vector<Look>> read_looks(const std::string& folder) {
  std::ifstream file(looks_file(folder), std::ios::binary);
  if (!file) return std::vector<Look>();
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    std::vector<Look> looks;
    for (const auto& one : json::parse(text).at("evaluations")) looks.push_back(look_in(one));
    return looks;
  } catch (const json::exception& problem) {
    return Error{Code::corrupt,
                 fmt::format("{}: {}; without it the evaluations so far are forgotten: remove it to go on",
                             looks_file(folder), problem.what())};
  }
}

Status write_looks(const std::string& folder, const std::vector<Look>& looks) {
  json all = json::array();
  for (const auto& look : looks) all.push_back(to_json(look));
  const auto text = json{{"evaluations", std::move(all)}}.dump(1) + "\n";
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
  return write_whole(looks_file(folder), parts);
}

Result<std::optional<Best>> read_best(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(best_file(folder), ignored)) return std::optional<Best>();
  auto state = checkpoint::read_model(best_file(folder));
  if (!state) return state.error();
  Best best;
  const auto version = state->about.find(kVersionKey);
  if (version == state->about.end()) return std::optional<Best>();
  best.version = std::strtoull(version->second.c_str(), nullptr, 10);
  state->about.erase(version);
  best.state = std::move(*state);
  return std::optional<Best>(std::move(best));
}

Status write_best(const std::string& folder, std::uint64_t version, State state) {
  std::error_code problem;
  std::filesystem::create_directory(folder + "/best", problem);  // what is wrong with it, writing will say
  state.about[kVersionKey] = std::to_string(version);
  return checkpoint::write_model(best_file(folder), state);
}

}  // namespace yoke::train
