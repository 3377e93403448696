// What a seed's world looks like: the job, the machines and how hostile the world is.
#pragma once

#include <string>
#include <vector>

#include "core/block_plan.h"
#include "core/sequencer.h"
#include "sim/random.h"

namespace yoke::sim {

// Probabilities and mean times of what goes wrong, until `cease`; none of it happens afterwards.
struct Faults {
  Time cease{};
  double duplicate = 0;    // a message arrives twice
  double straggle = 0;     // a message or a piece of work takes up to 300 times as long
  double zombie = 0;       // a message under way when its replica died arrives all the same
  double damage = 0;       // a gradient's block is not finite, however often it is sent
  double flip = 0;         // a payload is damaged on the way, this once
  double die_midway = 0;   // a replica dies between two effects of one event
  double false_alarm = 0;  // what would be a crash is only taken for one
  double stay_dead = 0;    // a replica that died does not come back
  Duration reset_every{};  // a link breaks; 0: never
  Duration crash_every{};  // a replica dies; 0: never
  Duration back_within{};  // and begins its next life
};

// What befalls the job as a whole, its disk, and replicas that nothing is wrong with.
struct Recovery {
  Duration checkpoint_every{};   // somebody asks for a checkpoint; 0: nobody ever does
  std::uint32_t keep = 2;        // checkpoints
  double slow_disk = 1;          // a factor on how long it takes
  double disk_fails = 0;         // at an operation, until peace
  double disk_full = 0;          // when a part is written, until peace
  std::uint32_t losses = 0;      // of the whole job, at a random time or in the middle of writing
  double power_cut = 0;          // what was not flushed is lost with the job
  double rot = 0;                // the newest checkpoint is damaged then
  bool others = false;           // it goes on with other numbers of replicas and shards
  Duration drain_every{};        // a replica is asked to go; 0: never
  Duration stop_every{};         // a replica stands still for a while; 0: never
  std::uint32_t departures = 0;  // of a process with all that it hosts, at random times (with twins)
  double in_a_row = 0;           // another follows while the job is formed anew, or has just been
  double stay_away = 0;          // a process that was lost does not come back

  std::string describe(const core::SequencerOptions& options) const;
};

// Where a coordinator says which server hosts what, and what befalls them.
struct Servers {
  bool coordinated = false;
  std::uint32_t backups = 1;
  std::uint32_t idle = 0;          // servers, more than are needed
  std::uint32_t losses = 0;        // of a server: it dies, or is cut off for a while
  double cut = 0;                  // it is only cut off
  double in_a_row = 0;             // another follows at once
  std::uint32_t coordinators = 0;  // losses of the coordinator
  std::string describe() const;
};

struct Shape {
  core::SequencerOptions options;
  std::uint64_t samples = 0;
  std::uint32_t batch = 1;
  core::BlockPlan plan;
  Faults faults;
  Recovery recovery;
  Servers servers;
  bool twins = false;            // every replica's process hosts a shard, too, and the twin of another
  bool in_order = false;         // links keep the order of messages, as TCP does
  bool reads_newest = false;     // a replica computes on what the shards show at that time, as in shared memory
  double slow_links = 0;         // share of the links that are up to 40 times slower than the rest
  double absent = 0;             // a block takes no part in a backward pass
  Time stop_at{};                // somebody ends the job at this time; 0: nobody does
  std::vector<double> slowness;  // by replica, a factor on its computing

  std::string describe() const;
};

Shape shape_of(std::uint64_t seed);
// Another number of replicas and of shards. The blocks stay as they are cut.
void change_numbers(Random& random, Shape& shape);
// As many shards, or one for each block when those are fewer. The blocks stay as they are cut.
void spread(Shape& shape, std::uint64_t shards);

}  // namespace yoke::sim
