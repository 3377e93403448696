// What a job is about to do, and what came of it, in words.
#pragma once

#include <optional>
#include <string>

#include "cli/train_flags.h"
#include "data/dataset.h"
#include "torch_adapter/factory.h"
#include "train/memory_plan.h"
#include "yoke/fit.h"
#include "yoke/options.h"

namespace yoke::cli {

// "sync: each update waits for the fastest 3 of 4 replicas, ..."
std::string strategy_in_words(const Options& options);
std::string data_in_words(const std::string& name, const data::Split& split);
std::string evaluation_in_words(const Evaluation& evaluation);

// The lines before training begins. `data` empty: a synthetic model.
std::string plan_in_words(const TrainFlags& flags, const torch_adapter::ModelFacts& model, const std::string& data,
                          const train::MemoryPlan& memory, std::uint64_t available, std::uint32_t cores);
// The lines after it.
std::string result_in_words(const TrainFlags& flags, const Fitted& fitted, std::optional<double> bigram);

}  // namespace yoke::cli
