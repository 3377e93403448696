// Prepares batches ahead, on a thread of its own, so that those who compute find them ready.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace yoke::data {

// One for all replicas of a process: which of them is asked for a batch next is not known, that somebody will be is.
// Any thread may call.
class Loader {
 public:
  // Keeps at most `capacity` batches that nobody has asked for yet; the oldest goes first.
  Loader(Part part, std::size_t capacity);
  // Waits for the batch that is being prepared, if any, not for those that are still to come. Nobody may be in take().
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // These samples, in this order, will probably be asked for soon. Nothing happens if they are expected already.
  void expect(std::vector<std::uint64_t> samples);
  // The batch: prepared, or being prepared (then it waits for that), or else made here and now. It is then no longer
  // expected. Fails as Part::batch does; asked again, it tries again.
  Result<Batch> take(std::span<const std::uint64_t> samples);

  struct Counts {
    std::uint64_t ready = 0;  // were there, or nearly
    std::uint64_t late = 0;   // had to be made when they were asked for
  };
  Counts counts() const;

 private:
  struct Entry;
  using Entries = std::deque<std::shared_ptr<Entry>>;
  void work(const std::stop_token& stop);
  Entries::iterator find(std::span<const std::uint64_t> samples);

  const Part part_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;  // an entry has come, or is done
  Entries entries_;                   // the oldest first; none that take() has asked for
  Counts counts_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace yoke::data
