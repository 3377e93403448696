// Where the ranks of a job hear of each other before there is any connection between them: each says one text, and
// hears what all have said. It happens a few times at the start, and never again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/place.h"
#include "yoke/error.h"

namespace yoke::launch {

// How long a wait may last, and what may end it sooner.
struct Waiting {
  using Clock = std::chrono::steady_clock;
  Clock::time_point deadline;
  std::function<bool(std::chrono::milliseconds)> pause;  // for at most so long; false: somebody asks to stop
};

class Meeting {
 public:
  static constexpr std::size_t kLongestText = 64 * 1024;

  virtual ~Meeting() = default;
  // What every rank has said in this round, by rank; all ranks take part in every round. Code::timed_out names some of
  // those who did not come; Code::cancelled: the pause said so.
  virtual Result<std::vector<std::string>> exchange(const std::string& mine, const Waiting& waiting) = 0;
};

// Over the server of PMIx that mpirun, or `srun --mpi=pmix`, runs beside the ranks. Its library is loaded now, and
// starts a thread. Code::unsupported: it is not there, or Yoke was built without it.
Result<std::unique_ptr<Meeting>> meet_over_pmix(const Place& place);

// In a folder that all ranks see. It is made (mode 0700) if it is not there, and must be this user's and closed to the
// writes of others. Inside, the job has a folder of its own, which goes when the last rank lets go. What a job of the
// same name has left behind because it was killed is not mistaken for this one's. A text is a file with mode 0600.
Result<std::unique_ptr<Meeting>> meet_in_folder(const std::string& folder, const Place& place);

// Where the ranks of this place meet: over PMIx where there is one, else in `folder` (--meet), else in $YOKE_MEET, else
// in ~/.yoke.
Result<std::unique_ptr<Meeting>> meet(const Lookup& lookup, const Place& place, const std::string& folder);

}  // namespace yoke::launch
