// Any bytes as a manifest or a part's list: what is accepted keeps its promises, and comes back the same when it is
// written again.
#include <cstdint>
#include <string>

#include "checkpoint/cover.h"
#include "checkpoint/manifest.h"
#include "checkpoint/part_list.h"
#include "checkpoint/strict_json.h"

namespace {

using namespace yoke::checkpoint;

void parse(std::string_view text) {
  const auto manifest = parse_manifest(text);
  if (manifest) {
    const auto again = to_json(*manifest);
    if (!again || !parse_manifest(*again)) __builtin_trap();
    for (const auto& network : manifest->networks)
      for (const auto& slot : network.layout.slots)
        if (slot.group >= network.layout.groups.size() || !yoke::elements_of(slot.shape)) __builtin_trap();
    static_cast<void>(cover_of(*manifest, {}));
  }
  const auto list = parse_part_list(text);
  if (!list) return;
  const auto again = to_json(*list);
  if (!again || !parse_part_list(*again) || list->shard >= list->shards) __builtin_trap();
  for (const auto& file : list->files)
    for (const auto& tensor : file.tensors)
      if (tensor.begin > tensor.end) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  parse(text);
  // Once more with a sum that fits, or few inputs would come as far as the JSON.
  const auto sum = text.rfind("\"sum\"");
  if (sum == std::string::npos) return 0;
  const auto body = text.substr(0, sum);
  parse(body + "\"sum\":\"" + in_hex(sum_of(body)) + "\"}\n");
  return 0;
}
