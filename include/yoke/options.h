// How a job runs: plain structs with names, units and defaults. The library reads neither the environment nor argv;
// `options_from` fills these from a command line.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace yoke {

namespace history {
class Recorder;
class Timeline;
}  // namespace history

enum class Strategy { mirrored, sync, async };

// What happens to a gradient that is `s` versions old when it is applied (async).
enum class Stale {
  apply,              // as it is
  scale_inverse,      // times 1 / (1 + s)
  scale_exponential,  // times exp(-strength * s)
  scale_linear,       // times max(0, 1 - strength * s)
};

struct StaleOptions {
  Stale policy = Stale::apply;
  double strength = 0.1;                       // of scale_exponential and scale_linear
  std::optional<std::uint64_t> max_staleness;  // staler ones are dropped, and their samples go back
  std::optional<std::uint64_t> max_lead;       // a replica so many steps ahead of the slowest waits
  double delay_compensation = 0;               // lambda of g + lambda * g * g * (now - then); 0: off
};

// The learning rate over the run, as a factor on each group's own rate; a function of the samples committed.
struct ScheduleOptions {
  enum class Kind { constant, step, cosine };
  Kind kind = Kind::constant;
  double step_epochs = 1;      // kind step: every so many epochs ...
  double step_gamma = 0.1;     // ... times this
  double floor = 0;            // kind cosine: the factor at the end
  double warmup_epochs = 0;    // from near 0 up to the full rate, linearly
  double reference_batch = 0;  // linear scaling: rate times (samples an update) / this; 0: off
};

// From epoch `from_epoch` on, `batch` samples a replica and step.
struct BatchChange {
  std::uint32_t from_epoch = 0;
  std::uint32_t batch = 1;
};

// Where batch-norm's running statistics come from.
enum class Buffers {
  mean,   // they travel with the gradient; the weighted mean becomes everybody's
  local,  // each replica keeps its own
  chief,  // the chief's become everybody's
};

enum class OptimizerState { shared, per_replica };

// Where the replicas are. By default all of them are threads of this process.
// What a process shows to the others of its job, and demands of them. What is empty is taken from the environment:
// YOKE_SECRET_FILE (or YOKE_SECRET, the secret itself), YOKE_CERTS, YOKE_PEER_NAME, YOKE_INSECURE=1.
struct Security {
  std::string secret_file;   // `yoke secret new` makes one; only its owner may read it
  std::string certificates;  // a folder that `yoke cert new` makes; TCP is then TLS 1.3, both sides authenticated
  std::string peer_name;     // the name that the others' certificates must have; empty: the host that was dialled
  bool insecure = false;     // addresses that other hosts reach, without both of these: whoever reaches them takes part
};

struct Processes {
  // The address at which the job's first server listens: this process is then one replica of that job, and the others
  // are processes of their own. Empty: every replica is a thread of this process.
  std::string join;
  // The address of the job's coordinator, who knows where that is, also when it changes. Empty: there is none.
  std::string coordinator;
  // On servers that host many jobs: which container of theirs. What is there already is gone on with; what is trained
  // stays there. Empty: the servers are of this job alone.
  std::string container;
  std::map<std::string, std::string> about;  // what the container is to know about the model, for its snapshots
  std::optional<std::uint32_t> replica;      // which one this is; none: the first server says
  // Where this process hosts a server as well, for replicas that keep the parameters themselves (mirrored). Empty: it
  // hosts none. `join` may be this very address.
  std::string listen;
  std::uint32_t hosts_shard = 0;  // it is the server of this shard ...
  std::uint32_t hosts_of = 1;     // ... of so many
  // Where members of a job that goes on may be found: this process comes to it and takes the state from them
  // (mirrored), as `replica`, which was in it before, or where that is not said, on a free seat. Empty: the job begins.
  std::vector<std::string> members;
  Security security;
};

// What is kept on the disk of a run, so that it can be gone on with. Where servers are processes of their own, they are
// told by their own flags, not by the replicas.
struct Checkpoints {
  std::string folder;  // empty: none are made
  // One is made after so many updates, or so much time; where both are given, whichever comes first.
  std::uint64_t every_steps = 0;
  std::chrono::milliseconds every{0};  // both 0: every 10 minutes
  std::uint32_t keep = 3;              // the newest so many; the best by validation is kept besides
  std::string resume;                  // go on from the newest one in this folder; empty: from the beginning
  std::vector<std::string> command;    // what was typed, for whoever looks at one later
  // Each time it grows one is made out of turn: what a signal's handler may do. None: nobody asks.
  std::shared_ptr<const std::atomic<std::uint32_t>> asked;
};

struct Options {
  Strategy strategy = Strategy::sync;
  std::uint32_t replicas = 1;
  std::uint32_t spares = 0;  // sync: the fastest replicas - spares count
  std::uint32_t shards = 1;  // central strategies: servers the parameters are spread over
  Processes processes;       // where the replicas are

  std::uint32_t epochs = 1;
  std::uint64_t steps = 0;  // 0: as the epochs say; else stop after so many updates
  std::vector<BatchChange> batch_schedule;
  std::uint32_t warmup_epochs = 0;  // only one replica works for so many epochs ...
  std::uint64_t warmup_steps = 0;   // ... or updates

  ScheduleOptions schedule;
  StaleOptions stale;
  OptimizerState optimizer_state = OptimizerState::shared;
  double clip_norm = 0;  // 0: off
  Buffers buffers = Buffers::mean;

  Checkpoints checkpoints;

  std::uint64_t seed = 1;
  bool shuffle = true;
  bool deterministic = false;
  std::uint32_t threads_per_replica = 1;       // inside LibTorch's operations
  std::uint32_t compute_at_once = 0;           // replicas that compute at the same time; 0: as many as cores
  std::chrono::milliseconds deadline{60'000};  // no wait is longer than this
  std::uint32_t max_refusals = 3;              // a replica whose gradients are refused so often in a row is struck off
  std::uint32_t min_replicas = 1;              // with fewer left training waits for others, at most the deadline
  std::map<std::uint32_t, double> slow;        // replica -> how many times slower (synthetic models and fit)

  // Any replica's step takes `straggle_factor` times as long, with this probability: chance slowness, by the seed
  // (fit).
  double straggle_probability = 0;
  double straggle_factor = 1;

  // News in words: a replica that was lost, a checkpoint that was made. From any thread; may be empty. Of replicas in
  // this process: servers have their own.
  std::function<void(const std::string&)> say;
  // What happened, for the checker of the promises; none: nothing is recorded.
  std::shared_ptr<history::Recorder> recorder;
  // When each replica computed, waited, pushed and pulled; none: nothing is timed.
  std::shared_ptr<history::Timeline> timeline;
};

}  // namespace yoke
