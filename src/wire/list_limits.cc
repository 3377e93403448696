#include "wire/list_limits.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>

#include "wire/limits.h"
#include "wire/yoke.pb.h"

namespace yoke::wire {
namespace {

struct List {
  std::array<int, 4> path;  // the numbers of the fields that lead to it; 0: none
  std::uint64_t most;
  const char* what;
};
constexpr List kLists[] = {
    {{pb::JobMessage::kWelcomeFieldNumber, pb::Welcome::kServersFieldNumber}, kMaxMembers, "servers"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kTermsFieldNumber, pb::JobTerms::kBatchScheduleFieldNumber},
     kMaxChanges,
     "changes of the batch"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kLayoutFieldNumber, pb::Layout::kSlotsFieldNumber},
     kMaxSlots,
     "slots"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kLayoutFieldNumber, pb::Layout::kGroupsFieldNumber},
     kMaxGroups,
     "parameter groups"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kAboutFieldNumber}, kMaxWords, "words about a model"},
    {{pb::JobMessage::kSnapshotFieldNumber, pb::Snapshot::kLayoutFieldNumber, pb::Layout::kSlotsFieldNumber},
     kMaxSlots,
     "slots"},
    {{pb::JobMessage::kSnapshotFieldNumber, pb::Snapshot::kLayoutFieldNumber, pb::Layout::kGroupsFieldNumber},
     kMaxGroups,
     "parameter groups"},
    {{pb::JobMessage::kSnapshotFieldNumber, pb::Snapshot::kAboutFieldNumber}, kMaxWords, "words about a model"},
    {{pb::JobMessage::kContainersFieldNumber, pb::Containers::kContainersFieldNumber}, kMaxContainers, "containers"},
    {{pb::JobMessage::kPostFieldNumber, pb::Post::kRecordFieldNumber, pb::Record::kAppliedFieldNumber},
     kMaxMembers,
     "gradients in one update"},
    {{pb::JobMessage::kPostFieldNumber, pb::Post::kForecastFieldNumber, pb::Forecast::kPartsFieldNumber},
     kMaxMembers,
     "gradients in one update"},
    {{pb::JobMessage::kPostFieldNumber, pb::Post::kRecordFieldNumber, pb::Record::kTurnedAwayFieldNumber},
     kMaxTurnedAway,
     "gradients turned away at once"},
    {{pb::JobMessage::kMusterFieldNumber, pb::Muster::kHoldingsFieldNumber}, kMaxMembers, "slices"},
    {{pb::JobMessage::kViewFieldNumber, pb::View::kMembersFieldNumber}, kMaxMembers, "members"},
    {{pb::JobMessage::kViewFieldNumber, pb::View::kNetworksFieldNumber}, kMaxMembers, "networks"},
    {{pb::JobMessage::kViewFieldNumber, pb::View::kNetworksFieldNumber, pb::View::Network::kLayoutFieldNumber,
      pb::Layout::kSlotsFieldNumber},
     kMaxSlots,
     "slots"},
    {{pb::JobMessage::kViewFieldNumber, pb::View::kNetworksFieldNumber, pb::View::Network::kLayoutFieldNumber,
      pb::Layout::kGroupsFieldNumber},
     kMaxGroups,
     "parameter groups"},
    {{pb::JobMessage::kServerViewFieldNumber, pb::ServerView::kShardsFieldNumber}, kMaxMembers, "shards"},
    {{pb::JobMessage::kServerViewFieldNumber, pb::ServerView::kNetworksFieldNumber}, kMaxMembers, "networks"},
    {{pb::JobMessage::kAttendFieldNumber, pb::Attend::kHoldingsFieldNumber}, kMaxMembers, "slices"},
    {{pb::JobMessage::kAskServersFieldNumber, pb::AskServers::kHasFieldNumber}, kMaxMembers, "slices"},
    {{pb::JobMessage::kAttendFieldNumber, pb::Attend::kServesFieldNumber, pb::ServerView::kShardsFieldNumber},
     kMaxMembers,
     "shards"},
    {{pb::JobMessage::kAttendFieldNumber, pb::Attend::kServesFieldNumber, pb::ServerView::kNetworksFieldNumber},
     kMaxMembers,
     "networks"},
    {{pb::JobMessage::kAccountFieldNumber, pb::Account::kReplicasFieldNumber}, kMaxMembers, "replicas"},
    {{pb::JobMessage::kAccountFieldNumber, pb::Account::kServersFieldNumber}, kMaxMembers, "servers"},
};

class ListCounter {
 public:
  // Adds what `bytes` has, a message `depth` steps along the paths of the lists in `among` (a bit each). Stops where it
  // is garbled: there the parser will stop as well.
  void add(std::string_view bytes, std::size_t depth = 0, unsigned among = ~0U) {
    using Format = google::protobuf::internal::WireFormatLite;
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                              static_cast<int>(bytes.size()));
    while (const auto tag = in.ReadTag()) {
      if (Format::GetTagWireType(tag) != Format::WIRETYPE_LENGTH_DELIMITED) {
        if (!Format::SkipField(&in, tag)) return;
        continue;
      }
      std::uint32_t size = 0;
      if (!in.ReadVarint32(&size)) return;
      const auto at = static_cast<std::size_t>(in.CurrentPosition());
      if (size > bytes.size() - at || !in.Skip(static_cast<int>(size))) return;
      add_part(Format::GetTagFieldNumber(tag), bytes.substr(at, size), depth, among);
    }
  }

  std::string too_long() const {
    for (std::size_t i = 0; i < std::size(kLists); ++i)
      if (counts_[i] > kLists[i].most)
        return fmt::format("{} {}, the limit is {}", counts_[i], kLists[i].what, kLists[i].most);
    return {};
  }

 private:
  void add_part(int field, std::string_view part, std::size_t depth, unsigned among) {
    unsigned further = 0;
    for (std::size_t i = 0; i < std::size(kLists); ++i) {
      const auto& path = kLists[i].path;
      if (!(among >> i & 1) || path[depth] != field) continue;
      if (depth + 1 == path.size() || path[depth + 1] == 0)
        ++counts_[i];
      else
        further |= 1U << i;
    }
    if (further != 0) add(part, depth + 1, further);
  }

  std::array<std::uint64_t, std::size(kLists)> counts_{};
};

}  // namespace

std::string too_long_a_list(std::string_view bytes) {
  ListCounter counter;
  counter.add(bytes);
  return counter.too_long();
}

}  // namespace yoke::wire
