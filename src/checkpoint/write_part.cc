#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "checkpoint/model_file.h"
#include "checkpoint/strict_json.h"
#include "checkpoint/write.h"
#include "core/planted.h"
#include "wire/checksum.h"

namespace yoke::checkpoint {
namespace {

using Pieces = std::vector<const Piece*>;

Error invalid(const Piece& piece, std::string_view why) {
  return {Code::invalid_argument,
          fmt::format("the piece of '{}' from float {} on {}", printable(piece.of.slot), piece.offset, why)};
}

// The pieces of one file, runs of one array next to each other and in order.
Result<Pieces> pieces_of(const Part& part, Kind kind) {
  std::map<std::tuple<std::uint32_t, std::string, wire::ReplicaId>, std::uint64_t> updates;
  for (const auto& count : part.counts) updates[{count.network, count.slot, count.memory}] = count.updates;
  Pieces pieces;
  for (const auto& piece : part.pieces) {
    if (piece.of.kind != kind || piece.values.empty()) continue;
    const auto elements = elements_of(piece.shape);
    if (!elements || piece.offset > *elements || piece.values.size() > *elements - piece.offset)
      return invalid(piece, "is longer than its slot");
    if (kind == Kind::state) {
      const auto count = updates.find({piece.of.network, piece.of.slot, piece.of.memory});
      if (count == updates.end()) return invalid(piece, "has no count of updates");
      if (count->second == 0) continue;
    }
    pieces.push_back(&piece);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece* a, const Piece* b) { return std::tie(a->of, a->offset) < std::tie(b->of, b->offset); });
  return pieces;
}

std::string tensor_name(const ListedTensor& tensor, bool whole) {
  const auto& of = tensor.of;
  auto name = of.network == 0 ? of.slot : fmt::format("network{}.{}", of.network, of.slot);
  if (of.kind == Kind::state) name += fmt::format(".state{}", of.array);
  if (of.memory > 0) name += fmt::format(".replica{}", of.memory);
  return whole ? name : name + fmt::format("[{}:{}]", tensor.begin, tensor.end);
}

// One file, from its pieces to its place in the list.
class File {
 public:
  explicit File(Kind kind) { listed_.kind = kind; }

  Status add(const Pieces& pieces) {
    std::set<std::string> names;
    for (std::size_t first = 0, next = 0; first < pieces.size(); first = next) {
      const auto& piece = *pieces[first];
      ListedTensor tensor{piece.of, "", piece.offset, piece.offset};
      for (; next < pieces.size() && pieces[next]->of == piece.of && pieces[next]->offset == tensor.end; ++next) {
        bytes_.push_back(std::as_bytes(pieces[next]->values));
        tensor.end += pieces[next]->values.size();
      }
      if (next < pieces.size() && pieces[next]->of == piece.of && pieces[next]->offset < tensor.end)
        return invalid(*pieces[next], "overlaps another");
      const auto size = tensor.end - tensor.begin;
      const bool whole = size == elements_of(piece.shape);
      tensor.name = tensor_name(tensor, whole);
      while (!names.insert(tensor.name).second) tensor.name += "'";
      infos_.push_back({tensor.name, "F32",
                        whole ? piece.shape : std::vector<std::int64_t>{static_cast<std::int64_t>(size)}, at_,
                        at_ + size * sizeof(float)});
      at_ = infos_.back().end;
      listed_.tensors.push_back(std::move(tensor));
    }
    return {};
  }

  Result<ListedFile> write(Disk& disk, const std::string& path) {
    const auto header = model_header_text(infos_, {});
    if (!header) return Error{header.error().code, fmt::format("{}: {}", path, header.error().message)};
    sum_up(disk, std::as_bytes(std::span(*header)));
    bytes_.insert(bytes_.begin(), std::as_bytes(std::span(*header)));
    listed_.bytes = header->size() + at_;
    if (auto status = disk.write(path, bytes_); !status) return status.error();
    if (!core::planted(core::Bug::skip_an_fsync))
      if (auto status = disk.flush_file(path); !status) return status.error();
    return std::move(listed_);
  }

 private:
  // The tensors' sums and the file's in one go over the bytes: what the second reads is in the cache.
  void sum_up(Disk& disk, std::span<const std::byte> header) {
    wire::Checksum whole;
    whole.add(header);
    auto bytes = bytes_.begin();
    for (auto& tensor : listed_.tensors) {
      wire::Checksum sum;
      for (auto left = (tensor.end - tensor.begin) * sizeof(float); left > 0; left -= bytes++->size()) {
        sum.add(*bytes);
        whole.add(*bytes);
        disk.breathe();
      }
      tensor.sum = sum.value();
    }
    listed_.sum = whole.value();
  }

  ListedFile listed_;
  std::vector<TensorInfo> infos_;
  std::vector<std::span<const std::byte>> bytes_;
  std::uint64_t at_ = 0;
};

}  // namespace

Result<std::uint64_t> write_part(Disk& disk, const Place& place, const Part& part) {
  const auto folder = making_path(place);
  if (auto status = make_lasting(disk, place.folder); !status) return status.error();
  if (auto status = disk.make_folder(folder); !status) return status.error();
  PartList list{place.version, place.shard, place.shards, {}, part.counts};
  for (const auto kind : {Kind::values, Kind::state}) {
    const auto pieces = pieces_of(part, kind);
    if (!pieces) return pieces.error();
    if (pieces->empty()) continue;
    File file(kind);
    if (auto status = file.add(*pieces); !status) return status.error();
    auto listed = file.write(disk, fmt::format("{}/{}", folder, file_name(place.shard, place.shards, kind)));
    if (!listed) return listed.error();
    list.files.push_back(std::move(*listed));
  }
  const auto path = fmt::format("{}/{}", folder, list_name(place.shard, place.shards));
  const auto text = to_json(list);
  if (!text) return Error{text.error().code, fmt::format("{}: {}", path, text.error().message)};
  const std::vector<std::span<const std::byte>> bytes{std::as_bytes(std::span(*text))};
  if (auto status = disk.write(path, bytes); !status) return status.error();
  if (auto status = disk.flush_file(path); !status) return status.error();
  if (auto status = disk.flush_folder(folder); !status) return status.error();
  return sum_of(*text);
}

}  // namespace yoke::checkpoint
