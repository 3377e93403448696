// For tests: small trainings whose checkpoints are known to the last bit.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/hash.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/write.h"

namespace yoke::checkpoint {

// What a training has at one moment, all in one place.
struct Moment {
  Manifest manifest;
  std::map<ArrayName, std::vector<float>> arrays;
  std::vector<Count> counts;

  const Slot& slot(const ArrayName& name) const {
    for (const auto& slot : manifest.networks[name.network].layout.slots)
      if (slot.name == name.slot) return slot;
    throw std::logic_error(name.slot);
  }
};

// Values by the seed; state for these replicas, of which the last has made no update yet.
inline Moment moment_of(std::vector<Layout> layouts, wire::Version version, std::uint64_t seed,
                        const std::vector<wire::ReplicaId>& memories = {0}) {
  Moment moment;
  moment.manifest.version = version;
  moment.manifest.program = "test";
  moment.manifest.command = {"yoke", "train", "--seed", std::to_string(seed)};
  std::uint64_t drawn = 0;
  const auto fill = [&](ArrayName name, std::size_t size) {
    auto& values = moment.arrays[name];
    for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<float>(mix(seed, drawn++) >> 40) / 1024.0F);
  };
  for (std::uint32_t network = 0; network < layouts.size(); ++network) {
    for (const auto& slot : layouts[network].slots) {
      fill({network, slot.name}, slot.size());
      if (slot.frozen || slot.buffer || slot.size() == 0) continue;
      for (const auto memory : memories) {
        const bool none = memories.size() > 1 && memory == memories.back();
        moment.counts.push_back({network, slot.name, memory, none ? 0 : version + memory});
        for (std::uint32_t array = 0; array < 2 && !none; ++array)
          fill({network, slot.name, Kind::state, memory, array}, slot.size());
      }
    }
    NetworkFacts facts;
    facts.standing.version = version;
    facts.layout = std::move(layouts[network]);
    facts.about = {{"model", "test"}};
    moment.manifest.networks.push_back(std::move(facts));
  }
  return moment;
}

// Slots of a few dozen floats.
inline Layout small_layout() {
  return {{{"conv1.weight", {4, 3, 3, 3}},
           {"bn.mean", {4}, 0, false, true},
           {"table", {7, 2}, 0, true},
           {"scale", {}},
           {"none", {0, 4}},
           {"fc.weight", {10, 12}}},
          {Adam{}}};
}

// Cut into pieces of `size` floats, dealt out to the shards in turn. The moment outlives the parts.
inline std::vector<Part> deal(const Moment& moment, std::uint32_t shards, std::size_t size = 37) {
  std::vector<Part> parts(shards);
  std::uint32_t turn = 0;
  for (const auto& [name, values] : moment.arrays) {
    const std::span<const float> all(values);
    for (std::size_t at = 0; at < all.size(); at += size) {
      const auto values_here = all.subspan(at, std::min(size, all.size() - at));
      parts[turn++ % shards].pieces.push_back({name, moment.slot(name).shape, at, values_here});
    }
  }
  for (auto& part : parts) part.counts = moment.counts;
  return parts;
}

// Writes the parts and seals them.
inline Status save(Disk& disk, const std::string& folder, const Moment& moment, const std::vector<Part>& parts,
                   std::uint64_t token = 1) {
  std::vector<std::uint64_t> sums;
  Place place{folder, moment.manifest.version, token, 0, static_cast<std::uint32_t>(parts.size())};
  for (; place.shard < parts.size(); ++place.shard) {
    const auto sum = write_part(disk, place, parts[place.shard]);
    if (!sum) return sum.error();
    sums.push_back(*sum);
  }
  place.shard = 0;
  return seal(disk, place, moment.manifest, sums);
}

// All there is in the checkpoint is what the moment had.
inline void expect_equal(const Checkpoint& checkpoint, const Moment& moment) {
  EXPECT_EQ(checkpoint.manifest().version, moment.manifest.version);
  for (const auto& [name, values] : moment.arrays) {
    std::vector<float> read(values.size());
    const auto status = checkpoint.read(name, 0, read);
    ASSERT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(read, values) << name.slot;
  }
  for (const auto& count : moment.counts) {
    const auto size = moment.arrays.at({count.network, count.slot}).size();
    EXPECT_EQ(checkpoint.updates(count.network, count.slot, count.memory, 0, size), count.updates);
    EXPECT_EQ(checkpoint.arrays(count.network, count.slot, count.memory), count.updates == 0 ? 0U : 2U);
  }
}

}  // namespace yoke::checkpoint
