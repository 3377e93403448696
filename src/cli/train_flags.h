// The flags of `yoke train`.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/open.h"
#include "data/split.h"
#include "torch_adapter/factory.h"
#include "yoke/fit.h"
#include "yoke/options.h"

namespace yoke::cli {

struct TrainFlags {
  Options options;
  FitOptions fit;
  data::OpenOptions data;
  std::string task, image_size;
  std::string validation = "0.1";
  std::string model;  // empty: as the data suggests
  std::string loss = "standard";
  std::uint32_t top = 5;
  std::string device = "cpu";
  std::string init;
  std::vector<std::string> init_skip, freeze;
  std::vector<std::pair<std::string, double>> rates;
  std::string optimizer = "sgd";
  std::optional<double> lr;        // none: as the optimizer has it
  std::optional<double> momentum;  // none: as the strategy has it
  double weight_decay = 0;
  std::string result = "best";
  std::string save, report, timeline, history;
  std::string config;  // read before the flags are parsed
  bool check = false, quiet = false, print_config = false;
  bool processes = false;      // `yoke train` only: run as processes
  std::uint32_t restarts = 0;  // of processes: how often a lost replica is started again

  bool synthetic() const { return model.starts_with("synthetic"); }
};

// Adds them all to `command`; parsing then fills `flags`, which outlives it.
void add_train_flags(CLI::App& command, TrainFlags& flags);
// The flags that say which data, which other commands have too.
void add_data_flags(CLI::App& command, data::OpenOptions& data, std::string& task, std::string& image_size);

// After parsing: fills in what follows from other flags (the default job's spare, the optimizer's own rate), so that
// --print-config shows what is in force, and checks what can be checked without data.
Status complete(TrainFlags& flags, CLI::App& command);
Status complete(data::OpenOptions& data, const std::string& task, const std::string& image_size);

Result<Optimizer> optimizer_of(const TrainFlags& flags);
Result<torch_adapter::Loss> loss_of(const std::string& name);

}  // namespace yoke::cli
