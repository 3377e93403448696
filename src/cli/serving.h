// Being a server: what `yoke server` and `yoke serve` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "cluster/house.h"

namespace yoke::cli {

struct ServingFlags {
  std::string listen, join, shard = "0/1";
  std::optional<unsigned> workers;
  bool quiet = false;
  Security security;
};

void add_serving_flags(CLI::App& command, ServingFlags& flags);
Result<cluster::HouseOptions> house_options(const ServingFlags& flags);

// Runs until it has ended, by itself or by a signal; returns the exit status.
int serve(cluster::HouseOptions options, bool quiet);

}  // namespace yoke::cli
