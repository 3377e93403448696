#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checkpoint/cover.h"
#include "checkpoint/read_text.h"
#include "checkpoint/strict_json.h"
#include "checkpoint/write.h"

namespace yoke::checkpoint {
namespace {

// The lists that the parts' writers spoke of, as they are to be seen from here.
Result<std::vector<PartList>> lists_in(Disk& disk, const Place& place, const std::vector<std::uint64_t>& sums) {
  std::vector<PartList> lists;
  std::vector<wire::ShardId> unseen;
  for (wire::ShardId shard = 0; shard < sums.size(); ++shard) {
    const auto path = fmt::format("{}/{}", making_path(place), list_name(shard, place.shards));
    const auto text = read_text(disk, path);
    if (!text || sum_of(*text) != sums[shard]) {
      unseen.push_back(shard);
      continue;
    }
    auto list = parse_part_list(*text);
    if (!list) return Error{list.error().code, fmt::format("{}: {}", path, list.error().message)};
    lists.push_back(std::move(*list));
  }
  if (unseen.empty()) return lists;
  return Error{Code::missing,
               fmt::format("{}: the part of server {} cannot be seen by server {}, though it was written: the folder "
                           "must be one that all servers share",
                           making_path(place), fmt::join(unseen, ", "), place.shard)};
}

}  // namespace

Status seal(Disk& disk, const Place& place, const Manifest& manifest, const std::vector<std::uint64_t>& sums) {
  const auto making = making_path(place), sealed = sealed_path(place.folder, place.version);
  if (sums.size() != place.shards || manifest.version != place.version)
    return Error{Code::invalid_argument, fmt::format("{}: {} sums for {} parts, version {} in the manifest", making,
                                                     sums.size(), place.shards, manifest.version)};
  const auto lists = lists_in(disk, place, sums);
  if (!lists) return lists.error();
  auto complete = manifest;
  complete.parts = sums;
  const auto text = to_json(complete);
  if (!text) return Error{text.error().code, fmt::format("{}: {}", making, text.error().message)};
  if (const auto cover = cover_of(complete, *lists); !cover)
    return Error{cover.error().code, fmt::format("{}: {}", making, cover.error().message)};

  const auto path = fmt::format("{}/{}", making, kManifestName);
  const std::vector<std::span<const std::byte>> bytes{std::as_bytes(std::span(*text))};
  if (auto status = disk.write(path, bytes); !status) return status;
  if (auto status = disk.flush_file(path); !status) return status;
  if (auto status = disk.flush_folder(making); !status) return status;

  const auto taken = disk.exists(sealed);
  if (!taken) return taken.error();
  if (*taken)
    if (auto status = disk.rename(sealed, replaced_path(place)); !status) return status;
  if (auto status = disk.rename(making, sealed); !status) return status;
  if (auto status = disk.flush_folder(place.folder); !status) return status;
  // It is whole and will last; what cannot be removed now goes with the next life's `clean`.
  if (*taken) static_cast<void>(disk.remove(replaced_path(place)));
  return {};
}

}  // namespace yoke::checkpoint
