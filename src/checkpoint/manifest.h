// What a checkpoint says of itself: where each network stood, what it looks like, how the job ran. As JSON, with the
// checksum of all that is before it last; docs/recovery.md has the format. Nothing that is read is trusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/standing.h"
#include "wire/messages.h"
#include "yoke/error.h"
#include "yoke/options.h"
#include "yoke/trainable.h"

namespace yoke::checkpoint {

// Raised when what was written before can no longer be read.
inline constexpr std::uint64_t kFormat = 1;

struct NetworkFacts {
  core::Standing standing;
  Layout layout;
  std::uint32_t shards = 1;                  // its blocks were spread over so many
  std::map<std::string, std::string> about;  // which model, which data
};

// How the job was run, as far as whoever goes on from here must or may know.
struct JobFacts {
  Strategy strategy = Strategy::sync;
  std::uint32_t replicas = 1;
  std::uint32_t spares = 0;
  std::uint32_t servers = 1;
  std::uint64_t seed = 1;
  bool shuffle = true;
  std::uint32_t epochs = 1;
  std::uint64_t steps = 0;
  bool deterministic = false;
  std::uint64_t samples = 0;  // an epoch; 0: the data has no size
  std::uint32_t batch = 1;
  bool operator==(const JobFacts&) const = default;
};

struct Manifest {
  wire::Version version = 0;
  std::vector<NetworkFacts> networks;  // by number
  JobFacts job;
  std::string program;               // its version
  std::uint64_t written_at = 0;      // seconds since 1970
  std::vector<std::string> command;  // what was typed
  double seconds_trained = 0;
  std::vector<std::uint64_t> parts;  // the sum of each shard's list; `seal` fills it in
};

// Code::invalid_argument when nobody could read it again: no finite number, a name that is not UTF-8.
Result<std::string> to_json(const Manifest& manifest);
// Code::corrupt, and what is wrong.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace yoke::checkpoint
