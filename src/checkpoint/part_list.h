// The list of what one shard wrote of a checkpoint: its files with lengths and sums, what each tensor in them is, and
// how many updates made the optimizer's state. JSON, with its own sum last; nothing that is read is trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "wire/messages.h"
#include "yoke/error.h"

namespace yoke::checkpoint {

enum class Kind { values, state };

// Which array: of a slot's values there is one, of the optimizer's state as many as the optimizer has.
struct ArrayName {
  std::uint32_t network = 0;
  std::string slot;
  Kind kind = Kind::values;
  wire::ReplicaId memory = 0;  // state: whose, where each replica has its own; else 0
  std::uint32_t array = 0;     // state: which of them
  auto operator<=>(const ArrayName&) const = default;
};

// Floats [begin, end) of an array, as one tensor of a file.
struct ListedTensor {
  ArrayName of;
  std::string name;  // in the file
  std::uint64_t begin = 0, end = 0;
  std::uint64_t sum = 0;
};

struct ListedFile {
  Kind kind = Kind::values;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  std::vector<ListedTensor> tensors;  // in the order of their bytes
};

// How many updates made what the optimizer remembers of a slot.
struct Count {
  std::uint32_t network = 0;
  std::string slot;
  wire::ReplicaId memory = 0;
  std::uint64_t updates = 0;
  auto operator<=>(const Count&) const = default;
};

struct PartList {
  wire::Version version = 0;
  wire::ShardId shard = 0;
  std::uint32_t shards = 1;
  std::vector<ListedFile> files;  // at most one of each kind
  std::vector<Count> counts;
};

// "part-0-of-2.json", "part-0-of-2.values.safetensors".
std::string list_name(wire::ShardId shard, std::uint32_t shards);
std::string file_name(wire::ShardId shard, std::uint32_t shards, Kind kind);

// Code::invalid_argument when nobody could read it again: a name that is not UTF-8.
Result<std::string> to_json(const PartList& list);
// Code::corrupt, and what is wrong.
Result<PartList> parse_part_list(std::string_view text);

}  // namespace yoke::checkpoint
