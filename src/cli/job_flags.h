// The flags that say how the replicas pull together: the same for `yoke train` and for a program of the user's own.
#pragma once

#include <CLI/CLI.hpp>

#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::cli {

// Adds them to `app`; parsing then fills `options`, which outlives it.
void add_job_flags(CLI::App& app, Options& options);

// Those of a program of the user's own: the same, and how long it trains.
void add_program_flags(CLI::App& app, Options& options);

// After parsing: flags that mean nothing beside others, with the nearest right way.
Status check_job(const Options& options);

}  // namespace yoke::cli
