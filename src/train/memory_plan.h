// How much memory a job will take, before it takes any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yoke/optimizer.h"
#include "yoke/options.h"

namespace yoke::train {

struct MemoryPlan {
  struct Item {
    std::string what;  // "2 versions of the parameters on the servers"
    std::uint64_t bytes = 0;
  };
  std::vector<Item> items;
  std::uint64_t total() const;
};

// Of a model with so many parameters (float32). What the layers put in between (activations) is not in it: that depends
// on the batch and the model.
MemoryPlan plan_memory(const Options& options, const Optimizer& optimizer, std::uint64_t parameters,
                       std::uint64_t data_bytes, bool keeps_best);

// "41.2 GiB", "310 MiB".
std::string in_bytes(std::uint64_t bytes);

}  // namespace yoke::train
