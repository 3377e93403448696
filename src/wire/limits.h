// What a receiver holds control messages to; the frame's own limits are in frame.h. docs/protocol.md lists them all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace yoke::wire {

inline constexpr std::uint64_t kMaxMembers = 4096;  // replicas, and shards
inline constexpr std::uint64_t kMaxSlots = 1'000'000;
inline constexpr std::uint64_t kMaxGroups = 65'536;
inline constexpr std::uint64_t kMaxDims = 64;
inline constexpr std::uint64_t kMaxValues = (std::uint64_t{1} << 40) - 1;  // of a slot, and of a network
inline constexpr std::uint64_t kMaxName = 4096;                            // bytes of a name or an address
inline constexpr std::uint64_t kMaxText = 65'536;                          // bytes of a reason; longer ones are cut
inline constexpr std::uint64_t kMaxChanges = 65'536;                       // of the batch, over the run
inline constexpr std::uint64_t kMaxTurnedAway = 65'536;                    // by one record
inline constexpr std::uint64_t kMaxStaleness = 1'000'000;                  // places of an account's histogram

inline constexpr std::uint64_t kMaxWords = 256;       // about a model
inline constexpr std::uint64_t kMaxAbout = 1u << 20;  // bytes of all of them
inline constexpr std::uint64_t kMaxContainers = 4096;

// Names of jobs and containers become names of files: letters, digits and . _ - but no dot first.
inline constexpr std::size_t kMaxJobName = 64;
constexpr bool is_job_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= kMaxJobName && name.front() != '.' && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

}  // namespace yoke::wire
