// Runs one replica to its end, and adds up what the job amounted to: what `run_job` is made of.
#pragma once

#include <functional>
#include <optional>

#include "train/job.h"
#include "wire/job.h"
#include "yoke/run.h"

namespace yoke::train {

using Body = std::function<void(Replica&)>;

// Runs the body in the calling thread and leaves the job. Returns why the replica is lost, if its body did not return
// by itself.
std::optional<Error> run_replica(Job& job, std::uint32_t id, const Body& body);

// Without `seconds`, which the caller measures.
Summary summary_of(const wire::Account& account);

// The same where that replica is the only one in this process: the summary of the whole job, or what this replica
// failed with. One that is lost when training is over has not failed, and what the servers can no longer tell then is
// left out.
Result<Summary> run_one(Job& job, std::uint32_t id, const Body& body);

}  // namespace yoke::train
