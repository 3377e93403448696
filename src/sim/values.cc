#include "sim/values.h"

#include <bit>

#include "base/hash.h"

namespace yoke::sim {

Values::Values(std::size_t blocks) {
  for (wire::BlockId block = 0; block < blocks; ++block) {
    next_.push_back(mix(block));
    made_[0][block] = next_.back();
  }
  present_ = next_;
}

void Values::make(const core::Reduce& reduce) {
  auto value = mix(present_[reduce.block], reduce.step);
  for (const auto& share : reduce.shares) {
    value = mix(value, share.gradient.life.replica);
    if (const auto& range = ranges_[share.gradient])
      for (const auto part : {std::uint64_t{range->epoch}, range->begin, range->end}) value = mix(value, part);
    value = mix(value, std::bit_cast<std::uint64_t>(share.weight));
  }
  for (const double factor : {reduce.rate, reduce.scale}) value = mix(value, std::bit_cast<std::uint64_t>(factor));
  made_[reduce.step + 1][reduce.block] = next_[reduce.block] = value;
}

void Values::show(const std::vector<wire::BlockId>& blocks) {
  for (const auto block : blocks) present_[block] = next_[block];
}

void Values::load(std::vector<std::uint64_t> present) {
  present_ = next_ = std::move(present);
  ranges_.clear();
}

std::uint64_t Values::all() const {
  std::uint64_t value = 0;
  for (const auto block : present_) value = mix(value, block);
  return value;
}

std::vector<float> to_floats(std::uint64_t value) {
  std::vector<float> floats;
  for (int i = 0; i < 4; ++i) floats.push_back(static_cast<float>(value >> (16 * i) & 0xffff));
  return floats;
}

std::uint64_t from_floats(const std::vector<float>& floats) {
  std::uint64_t value = 0;
  for (int i = 0; i < 4; ++i) value |= static_cast<std::uint64_t>(floats[static_cast<std::size_t>(i)]) << (16 * i);
  return value;
}

}  // namespace yoke::sim
