// Lets gradients be born in memory that the servers of this host can read, so that pushing them copies nothing.
//
// LibTorch has one allocator for host memory in the whole process, and autograd offers no other way to say where a
// gradient is to lie. So an allocator of ours stands in front of the one that was there: process-wide state, one of the
// documented exceptions. It is put there when a job first has such memory, and stays. While a thread has a
// GradientMemory, what it allocates in exactly the size of a gradient comes from the exchange; all else, and all other
// threads, get from the allocator behind what they always got.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "yoke/trainable.h"

namespace yoke::torch_adapter {

inline constexpr std::size_t kSmallestShared = 4096;  // bytes: a smaller gradient is copied sooner than placed

// On for the thread that made it, from then until it is destroyed, in that thread. Several may be on at once (a replica
// with several networks). A tensor may outlive it, and the exchange; it can be let go in any thread.
class GradientMemory {
 public:
  // `sizes` in bytes, ascending, none below kSmallestShared; they and the exchange outlive this. Where the exchange has
  // no memory for the largest, nothing is switched on.
  GradientMemory(Exchange& exchange, std::span<const std::size_t> sizes);
  ~GradientMemory();
  GradientMemory(const GradientMemory&) = delete;
  GradientMemory& operator=(const GradientMemory&) = delete;

  // Memory for one gradient from what is on in this thread; null: it is to come from the usual place.
  static std::shared_ptr<std::byte> take(std::size_t bytes);

 private:
  Exchange& exchange_;
  const std::span<const std::size_t> sizes_;
  GradientMemory* next_ = nullptr;  // that is on in this thread
};

}  // namespace yoke::torch_adapter
