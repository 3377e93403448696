// What every block is, in place of floats: a hash of all that it was made of. So what was saved can be compared with
// what that version was, and two trainings with each other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/effects.h"

namespace yoke::sim {

class Values {
 public:
  explicit Values(std::size_t blocks);

  // A gradient is what its replica makes of these samples, whichever of its lives it is.
  void assigned(const wire::Assign& assign) { ranges_[assign.gradient] = assign.range; }
  // A block's next version, beside the present one.
  void make(const core::Reduce& reduce);
  // The blocks' next version is the present one now.
  void show(const std::vector<wire::BlockId>& blocks);

  std::uint64_t present(wire::BlockId block) const { return present_[block]; }
  // What the block is in that version, as it was made last.
  std::uint64_t at(wire::Version version, wire::BlockId block) const { return made_.at(version).at(block); }
  // The job goes on from these.
  void load(std::vector<std::uint64_t> present);
  // All blocks together.
  std::uint64_t all() const;

 private:
  std::vector<std::uint64_t> present_, next_;
  std::map<wire::Version, std::map<wire::BlockId, std::uint64_t>> made_;
  std::map<wire::GradientId, std::optional<wire::Range>> ranges_;
};

// The four floats that a block is on the disk.
std::vector<float> to_floats(std::uint64_t value);
std::uint64_t from_floats(const std::vector<float>& floats);

}  // namespace yoke::sim
