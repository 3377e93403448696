// The three ways in which replicas pull together, each in a file of its own: what it asks of the options, and what it
// makes of them. All run the same protocol.
#pragma once

#include "cluster/local_cluster.h"
#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::strategy {

// Checks the options, with the reason and the nearest right way when they make no sense together, and says how to run
// them in one process. (`recorder` and `say` are the caller's to fill in.)
Result<cluster::LocalOptions> plan(const Options& options);

// What `plan` calls, by Options::strategy. `local` has what all strategies share.
Result<cluster::LocalOptions> plan_mirrored(const Options& options, cluster::LocalOptions local);
Result<cluster::LocalOptions> plan_sync(const Options& options, cluster::LocalOptions local);
Result<cluster::LocalOptions> plan_async(const Options& options, cluster::LocalOptions local);

const char* name_of(Strategy strategy);

}  // namespace yoke::strategy
