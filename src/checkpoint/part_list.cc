#include "checkpoint/part_list.h"

#include <fmt/format.h>

#include "checkpoint/model_file.h"
#include "checkpoint/strict_json.h"
#include "wire/limits.h"

namespace yoke::checkpoint {
namespace {

constexpr std::uint64_t kListFormat = 1;
constexpr std::size_t kMaxTensors = 10'000'000;
constexpr std::size_t kMaxTensorName = wire::kMaxName + 128;

const char* word_of(Kind kind) { return kind == Kind::values ? "values" : "state"; }

ListedTensor tensor_from(const Json& json, const std::string& where, Kind kind, std::string& wrong) {
  Fields fields(json, where, wrong);
  ListedTensor tensor;
  tensor.name = fields.text("name", kMaxTensorName);
  tensor.of.network = fields.small("network");
  tensor.of.slot = fields.text("slot", wire::kMaxName);
  tensor.of.kind = kind;
  if (kind == Kind::state) {
    tensor.of.memory = fields.small("memory");
    tensor.of.array = fields.small("array");
  }
  tensor.end = fields.whole("end", wire::kMaxValues);
  tensor.begin = fields.whole("begin", tensor.end);
  tensor.sum = fields.hex("sum");
  return tensor;
}

PartList list_from(const Json& json, std::string& wrong) {
  Fields fields(json, "", wrong);
  PartList list;
  if (fields.whole("format") != kListFormat) fields.refuse("format", "is of another Yoke: take a newer one");
  list.version = fields.whole("version");
  list.shards = fields.small("shards", wire::kMaxMembers);
  list.shard = fields.small("shard");
  if (list.shard >= list.shards) fields.refuse("shard", "is none of the shards");
  const auto& files = fields.list("files", 2);
  for (std::size_t i = 0; i < files.size() && wrong.empty(); ++i) {
    Fields file(files[i], fmt::format("files[{}]", i), wrong);
    auto& into = list.files.emplace_back();
    const auto name = file.text("name", kMaxTensorName);
    into.kind = name == file_name(list.shard, list.shards, Kind::values) ? Kind::values : Kind::state;
    if (name != file_name(list.shard, list.shards, into.kind)) file.refuse("name", "is no file of this part");
    if (i == 1 && into.kind == list.files[0].kind) file.refuse("name", "is there twice");
    into.bytes = file.whole("bytes");
    into.sum = file.hex("sum");
    const auto& tensors = file.list("tensors", kMaxTensors);
    for (std::size_t t = 0; t < tensors.size() && wrong.empty(); ++t)
      into.tensors.push_back(tensor_from(tensors[t], fmt::format("files[{}].tensors[{}]", i, t), into.kind, wrong));
  }
  const auto& counts = fields.list("updates", kMaxTensors);
  for (std::size_t i = 0; i < counts.size() && wrong.empty(); ++i) {
    Fields count(counts[i], fmt::format("updates[{}]", i), wrong);
    auto& into = list.counts.emplace_back();
    into.network = count.small("network");
    into.slot = count.text("slot", wire::kMaxName);
    into.memory = count.small("memory");
    into.updates = count.whole("updates");
  }
  return list;
}

}  // namespace

std::string list_name(wire::ShardId shard, std::uint32_t shards) {
  return fmt::format("part-{}-of-{}.json", shard, shards);
}

std::string file_name(wire::ShardId shard, std::uint32_t shards, Kind kind) {
  return fmt::format("part-{}-of-{}.{}.safetensors", shard, shards, word_of(kind));
}

Result<std::string> to_json(const PartList& list) {
  using Ordered = nlohmann::ordered_json;
  std::string text;
  try {
    auto files = Ordered::array(), counts = Ordered::array();
    for (const auto& file : list.files) {
      auto tensors = Ordered::array();
      for (const auto& tensor : file.tensors) {
        Ordered entry{{"name", tensor.name}, {"network", tensor.of.network}, {"slot", tensor.of.slot}};
        if (file.kind == Kind::state) entry.update({{"memory", tensor.of.memory}, {"array", tensor.of.array}});
        entry.update({{"begin", tensor.begin}, {"end", tensor.end}, {"sum", in_hex(tensor.sum)}});
        tensors.push_back(std::move(entry));
      }
      files.push_back({{"name", file_name(list.shard, list.shards, file.kind)},
                       {"bytes", file.bytes},
                       {"sum", in_hex(file.sum)},
                       {"tensors", std::move(tensors)}});
    }
    for (const auto& count : list.counts)
      counts.push_back(
          {{"network", count.network}, {"slot", count.slot}, {"memory", count.memory}, {"updates", count.updates}});
    text = with_sum({{"format", kListFormat},
                     {"version", list.version},
                     {"shard", list.shard},
                     {"shards", list.shards},
                     {"files", std::move(files)},
                     {"updates", std::move(counts)}});
  } catch (const Json::exception&) {
    return Error{Code::invalid_argument, "a parameter's name is not UTF-8: rename it"};
  }
  const auto checked = parse_part_list(text);
  if (!checked) return Error{Code::invalid_argument, checked.error().message};
  return text;
}

Result<PartList> parse_part_list(std::string_view text) {
  const auto json = parse_summed(text);
  if (!json) return json.error();
  std::string wrong;
  auto list = list_from(*json, wrong);
  if (!wrong.empty()) return Error{Code::corrupt, printable(wrong, 300)};
  return list;
}

}  // namespace yoke::checkpoint
