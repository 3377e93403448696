// One process's part in the checkpoints of a job: says when one is due, puts together what the job's networks hold, and
// brings it to the disk on a thread of its own, so that nobody waits for a disk. Where the first shard is, it also
// seals them, and keeps the folder to this job. From any thread; callbacks come from the disk's thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/lock.h"
#include "checkpoint/write.h"
#include "cluster/pace.h"
#include "cluster/workers.h"
#include "core/effects.h"
#include "yoke/options.h"

namespace yoke::cluster {

// Why training is stopped where nobody is left to train: so that what there is can be kept.
inline constexpr const char* kEndsEarly = "the job ends early";
// For the last checkpoint of a job to reach the disk.
inline constexpr auto kLastCheckpoint = std::chrono::seconds(60);

class Checkpointer {
 public:
  using Say = std::function<void(const std::string&)>;

  // Takes the folder, and reads what is gone on from. Null: neither is wanted. `first`: this process has the first
  // shard. Refused: another job writes there; or there are checkpoints, and they are not to be gone on from.
  // `goes_on`: the job does, in this folder, from what is in memory.
  static Result<std::unique_ptr<Checkpointer>> open(const Checkpoints& settings, bool first, const Say& say,
                                                    bool goes_on = false);

  // What is gone on from; null: from the beginning.
  const std::shared_ptr<const checkpoint::Checkpoint>& resumed() const { return resumed_; }
  // Of this network; none: from the beginning.
  std::optional<core::Standing> standing(std::uint32_t network) const;
  // What is gone on from must be of this model and this job: an error says what differs.
  Status check(std::uint32_t network, const Layout& layout, std::uint64_t seed, bool shuffle) const;

  // --- when ---
  // A request that the sequencers should have by now; none: they have it, or it is not time. Asked now and then, and
  // after each commit.
  std::optional<core::TakeCheckpoint> due(wire::Version committed, Time now);
  // One out of turn.
  core::TakeCheckpoint request(wire::Version committed);
  // The request that the first network has had, where another network has not had it yet.
  std::optional<core::TakeCheckpoint> follow(std::uint32_t network);
  bool writes() const { return !settings_.folder.empty(); }

  // --- what ---
  // A checkpoint has the parts of every network that was expected, each of so many shards. In the order of their
  // numbers.
  void expect_network(std::uint32_t shards);
  using Written = std::function<void(const Result<std::uint64_t>& sum)>;
  void write(std::uint32_t network, const checkpoint::Place& place, checkpoint::Part part, Written done);
  using Done = std::function<void(const Status&)>;
  void seal(std::uint32_t network, const core::Seal& seal, checkpoint::NetworkFacts facts,
            const checkpoint::JobFacts& job, double seconds, Done done);
  // It failed, or was announced: the next may come.
  void discard(const core::Discard& discard);
  void announced();

  // What lies in the folder now, of this job or the one that it goes on from; null: there is none that can be read.
  // From the disk's thread.
  std::shared_ptr<const checkpoint::Checkpoint> newest_on_disk() const;
  // Runs in the disk's thread. What was not begun when this ends is not done.
  void read(std::function<void()> work) { disk_.post(std::move(work)); }

  // --- how it goes ---
  struct Newest {
    std::string folder;         // empty: there is none
    wire::Version version = 0;  // its
    std::string problem;        // why the last attempt failed; empty: it did not
  };
  Newest newest() const;
  // There is one of this version, or it is being made.
  bool has(wire::Version version) const;
  // Is anything on its way to the disk?
  bool busy() const;
  // Nothing is trained any more: what is on its way is waited for.
  void hurry() { pace_.hurry(); }
  ~Checkpointer() { hurry(); }

 private:
  struct Gathered {  // of one shard's part: what the networks have brought
    std::map<std::uint32_t, checkpoint::Part> parts;
    std::vector<Written> done;
  };
  struct Sealing {
    std::map<std::uint32_t, checkpoint::NetworkFacts> networks;
    std::vector<Done> done;
    std::vector<std::uint64_t> sums;
  };

  Checkpointer(Checkpoints settings, bool first, Say say);
  Status take_folder(bool goes_on);
  Status check_folder() const;
  Status read_resumed();
  core::TakeCheckpoint next(wire::Version at_least);
  void write_now(const checkpoint::Place& place, const Gathered& gathered);
  Status seal_now(const checkpoint::Place& place, const checkpoint::Manifest& manifest,
                  const std::vector<std::uint64_t>& sums);

  const Checkpoints settings_;
  const bool first_;
  const Say say_;
  std::shared_ptr<const checkpoint::Checkpoint> resumed_;
  std::optional<checkpoint::Lock> lock_;

  mutable std::mutex mutex_;
  std::vector<std::uint32_t> networks_;  // by number: the shards of each
  std::uint64_t tokens_;
  core::TakeCheckpoint latest_;                      // request
  std::map<std::uint32_t, std::uint64_t> followed_;  // by network: the token that it has had
  std::uint32_t asked_ = 0;                          // requests out of turn that were heard
  bool armed_ = false;                               // a request by steps is with the sequencers
  std::optional<Time> last_;                         // when the last one by time was asked for
  std::map<std::pair<std::uint64_t, wire::ShardId>, Gathered> gathered_;
  std::map<std::uint64_t, wire::Version> versions_;  // by token: what its folder is called after
  std::map<std::uint64_t, Sealing> sealing_;
  std::vector<checkpoint::Place> discarded_;  // what other servers may have written to since
  std::set<std::uint64_t> failed_;            // tokens of checkpoints that will not be
  std::size_t at_work_ = 0;                   // for the disk's thread
  Newest newest_;
  Pace pace_;
  const std::unique_ptr<checkpoint::Disk> unhurried_;  // what parts are written to
  Workers disk_;                                       // last: it waits for what uses the rest
};

}  // namespace yoke::cluster
