#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "checkpoint/folder.h"

namespace yoke::checkpoint {
namespace {

struct Candidate {
  wire::Version version = 0;
  bool sealed = false;  // else it was just being replaced
  std::string name;
};

}  // namespace

Result<Found> newest(Disk& disk, const std::string& folder) {
  const auto names = disk.list(folder);
  if (!names) return names.error();
  std::vector<Candidate> candidates;
  for (const auto& name : *names) {
    if (const auto version = version_sealed(name)) candidates.push_back({*version, true, name});
    if (const auto version = version_replaced(name)) candidates.push_back({*version, false, name});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.version, a.sealed, a.name) > std::tie(b.version, b.sealed, b.name);
  });
  Found found;
  for (const auto& candidate : candidates) {
    const auto path = fmt::format("{}/{}", folder, candidate.name);
    auto opened = Checkpoint::open(disk, path);
    if (opened) {
      found.checkpoint = std::move(*opened);
      return found;
    }
    found.passed_over.push_back({path, opened.error().message});
  }
  if (found.passed_over.empty()) return found;
  auto words = fmt::format("{}: each of the checkpoints there is damaged:", folder);
  for (const auto& one : found.passed_over) words += "\n  " + one.why;
  return Error{Code::corrupt, words};
}

}  // namespace yoke::checkpoint
