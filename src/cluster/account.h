// What a job amounted to so far, put together from the machines that know it.
#pragma once

#include "cluster/tally.h"
#include "core/sequencer.h"
#include "wire/job.h"

namespace yoke::cluster {

// Everything but times, servers and places, which only the driver knows.
wire::Account account_of(const wire::JobTerms& terms, const core::Sequencer& sequencer, const Tally& tally);

}  // namespace yoke::cluster
