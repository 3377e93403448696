#include "checkpoint/folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace yoke::checkpoint {
namespace {

constexpr std::string_view kSealed = "checkpoint-", kMaking = "making-", kReplaced = "replaced-",
                           kRemoving = "removing-";

std::string join(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

std::string folder_above(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Renamed first, so that one that is half gone is never taken for a checkpoint.
Status remove_sealed(Disk& disk, const std::string& folder, wire::Version version) {
  const auto away = join(folder, fmt::format("{}{:012}", kRemoving, version));
  // One of the same name may be left of an earlier life.
  if (auto status = disk.remove(away); !status) return status;
  if (auto status = disk.rename(sealed_path(folder, version), away); !status) return status;
  if (auto status = disk.flush_folder(folder); !status) return status;
  return disk.remove(away);
}

// A folder may be there and not lasting: a former life made it, and died before it could flush what is above. Whoever
// may not look into that has not made anything there.
void flush_left_over(Disk& disk, const std::string& folder) {
  static_cast<void>(disk.flush_folder(folder_above(folder)));
}

std::optional<wire::Version> number_in(std::string_view digits) {
  wire::Version version = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (problem != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return fmt::format("{:012}", version) == digits ? std::optional(version) : std::nullopt;
}

}  // namespace

std::string sealed_path(const std::string& folder, wire::Version version) {
  return join(folder, fmt::format("{}{:012}", kSealed, version));
}

std::string making_path(const Place& place) {
  return join(place.folder, fmt::format("{}{:012}-{:016x}", kMaking, place.version, place.token));
}

std::string replaced_path(const Place& place) {
  return join(place.folder, fmt::format("{}{:012}-{:016x}", kReplaced, place.version, place.token));
}

std::optional<wire::Version> version_sealed(std::string_view name) {
  return name.starts_with(kSealed) ? number_in(name.substr(kSealed.size())) : std::nullopt;
}

std::optional<wire::Version> version_replaced(std::string_view name) {
  if (!name.starts_with(kReplaced)) return std::nullopt;
  name.remove_prefix(kReplaced.size());
  return number_in(name.substr(0, name.find('-')));
}

Status make_lasting(Disk& disk, const std::string& folder) {
  const auto there = disk.exists(folder);
  if (!there) return there.error();
  if (*there) return {};
  const auto above = folder_above(folder);
  if (const auto known = disk.exists(above); known && *known) flush_left_over(disk, above);
  if (auto status = make_lasting(disk, above); !status) return status;
  if (auto status = disk.make_folder(folder); !status) return status;
  return disk.flush_folder(above);
}

Status discard(Disk& disk, const Place& place) { return disk.remove(making_path(place)); }

Status prune(Disk& disk, const std::string& folder, std::uint32_t keep, wire::Version newest) {
  const auto names = disk.list(folder);
  if (!names) return names.error();
  std::vector<wire::Version> stay, go;
  for (const auto& name : *names)
    if (const auto version = version_sealed(name)) (*version <= newest ? stay : go).push_back(*version);
  std::sort(stay.begin(), stay.end(), std::greater<>());
  for (std::size_t i = std::max(keep, 1u); i < stay.size(); ++i) go.push_back(stay[i]);
  for (const auto version : go)
    if (auto status = remove_sealed(disk, folder, version); !status) return status;
  return {};
}

Status clean(Disk& disk, const std::string& folder) {
  const auto there = disk.exists(folder);
  if (!there) return there.error();
  if (!*there) return {};
  flush_left_over(disk, folder);
  // Or a rename that a former life did not flush could be undone after what it took away has been removed.
  if (auto status = disk.flush_folder(folder); !status) return status;
  const auto names = disk.list(folder);
  if (!names) return names.error();
  const auto sealed = [&](wire::Version version) {
    return std::find(names->begin(), names->end(), fmt::format("{}{:012}", kSealed, version)) != names->end();
  };
  const auto alone = [&](wire::Version version) {
    return std::count_if(names->begin(), names->end(),
                         [&](const auto& name) { return version_replaced(name) == version; }) == 1;
  };
  for (const auto& name : *names) {
    const auto replaced = version_replaced(name);
    // The new one did not come to take the name: the former is what there is. Of several any may be the one that is
    // whole: they stay until another takes the name.
    if (replaced && !sealed(*replaced)) {
      if (!alone(*replaced)) continue;
      if (auto status = disk.rename(join(folder, name), sealed_path(folder, *replaced)); !status) return status;
      if (auto status = disk.flush_folder(folder); !status) return status;
    } else if (replaced || name.starts_with(kMaking) || name.starts_with(kRemoving)) {
      if (auto status = disk.remove(join(folder, name)); !status) return status;
    }
  }
  return {};
}

}  // namespace yoke::checkpoint
