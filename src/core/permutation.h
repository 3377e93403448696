// The order in which an epoch visits the samples: a keyed permutation of [0, size), computed place by place. It takes
// no memory, so that a sequencer or a simulator of 500 replicas can hold the ledger of any data set.
#pragma once

#include <cstdint>

namespace yoke::core {

class Permutation {
 public:
  // The same (seed, epoch, size) gives the same order on every machine.
  Permutation(std::uint64_t seed, std::uint32_t epoch, std::uint64_t size);
  // The sample at `place`; place < size.
  std::uint64_t operator()(std::uint64_t place) const;

 private:
  std::uint64_t scramble(std::uint64_t x) const;
  std::uint64_t key_, size_;
  unsigned half_bits_;
};

}  // namespace yoke::core
