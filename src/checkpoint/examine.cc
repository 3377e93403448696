#include "checkpoint/examine.h"

#include <fmt/format.h>

#include "checkpoint/folder.h"
#include "checkpoint/read_text.h"
#include "checkpoint/strict_json.h"
#include "checkpoint/verify.h"

namespace yoke::checkpoint {
namespace {

class Examiner {
 public:
  Examiner(Disk& disk, Examination& examination) : disk_(disk), examination_(examination) {}

  void run() {
    auto opened = Checkpoint::open(disk_, examination_.folder);
    if (opened) examination_.checkpoint = std::move(*opened);
    if (!opened) examination_.wrong = opened.error().message;
    const auto text = read_text(disk_, path(std::string(kManifestName)));
    auto manifest = text ? parse_manifest(*text) : Result<Manifest>(text.error());
    add(std::string(kManifestName), manifest ? "" : manifest.error().message);
    if (!manifest) return;
    const auto shards = static_cast<std::uint32_t>(manifest->parts.size());
    for (wire::ShardId shard = 0; shard < shards; ++shard) look_at_part(shard, shards, manifest->parts[shard]);
    examination_.manifest = std::move(*manifest);
  }

 private:
  std::string path(const std::string& name) const { return fmt::format("{}/{}", examination_.folder, name); }

  void add(const std::string& name, std::string wrong) {
    const auto size = disk_.size(path(name));
    examination_.files.push_back({name, size ? *size : 0, std::move(wrong)});
  }

  void look_at_part(wire::ShardId shard, std::uint32_t shards, std::uint64_t sum) {
    const auto name = list_name(shard, shards);
    const auto text = read_text(disk_, path(name));
    const auto list = text ? parse_part_list(*text) : Result<PartList>(text.error());
    if (!list) return add(name, list.error().message);
    add(name, sum_of(*text) == sum ? "" : "it is not the list that the manifest was made for");
    for (const auto& file : list->files) {
      const auto of_part = file_name(list->shard, list->shards, file.kind);
      // Of one that is whole every file was read already.
      const auto verified =
          examination_.checkpoint ? Result<std::uint64_t>(0) : verify_file(disk_, path(of_part), file);
      add(of_part, verified ? "" : verified.error().message);
    }
  }

  Disk& disk_;
  Examination& examination_;
};

}  // namespace

Examination examine(Disk& disk, const std::string& folder) {
  Examination examination;
  examination.folder = folder;
  Examiner(disk, examination).run();
  return examination;
}

}  // namespace yoke::checkpoint
