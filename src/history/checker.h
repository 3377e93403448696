// Did a run keep its promises? Judged from the recorded history alone, with books of its own: what the state machines
// believe has no weight here. Only the learning-rate schedule and the factor that staleness leaves are computed with
// the functions of core (rate_at, judge_staleness).
//
// Promise 1: a synchronous update is made of exactly its record's gradients, distinct, fresh and sound, once on every
// shard, and shown when all have it. Promise 2: a gradient is applied once or turned away, its replica is told so, no
// staler and no further ahead than allowed. Promise 3: each sample counts once an epoch. Promise 5: damaged payloads
// are never used. One replica alone works while it warms up, and a run that ended leaves nothing undecided.
//
// Promise 4: a checkpoint that was announced is whole, is of one version on every shard, and the job can go on from it:
// one that was lost never goes on from an older one, unless later ones were damaged since, and its samples still count
// once. One that is formed anew from memory has all that was committed, shown or told of. With fewer replicas than the
// terms ask for nothing is handed out and nothing applied.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "history/event.h"

namespace yoke::history {

// What was broken, in words, in the order in which it was; empty: every promise held. The first event is the Terms,
// and no other is. Stops at 50 findings: one break has many consequences.
std::vector<std::string> check(std::span<const Event> events);

}  // namespace yoke::history
