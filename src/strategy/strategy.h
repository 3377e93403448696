// The three ways in which replicas pull together, each in a file of its own: what it asks of the options, and what it
// makes of them. All run the same protocol.
#pragma once

#include "wire/job.h"
#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::strategy {

// Checks the options, with the reason and the nearest right way when they make no sense together, and says on what
// terms the job runs, in one process or in many.
Result<wire::JobTerms> plan(const Options& options);

// What `plan` calls, by Options::strategy. `terms` are the options as they are.
Result<wire::JobTerms> plan_mirrored(const Options& options, wire::JobTerms terms);
Result<wire::JobTerms> plan_sync(const Options& options, wire::JobTerms terms);
Result<wire::JobTerms> plan_async(const Options& options, wire::JobTerms terms);

const char* name_of(Strategy strategy);

}  // namespace yoke::strategy
