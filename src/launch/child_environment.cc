#include "launch/child_environment.h"

#include <algorithm>
#include <string_view>

#include "launch/spawn.h"

namespace yoke::launch {
namespace {

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

void put(std::vector<std::string>& entries, std::string_view entry) {
  std::erase_if(entries, [&](const auto& other) { return name_of(other) == name_of(entry); });
  entries.emplace_back(entry);
}

}  // namespace

std::vector<std::string> child_environment(const char* const* inherited, const std::vector<std::string>& added,
                                           const std::string& ready) {
  std::vector<std::string> entries;
  for (; *inherited; ++inherited) {
    if (name_of(*inherited) != kReadyVariable) entries.emplace_back(*inherited);
  }
  for (const auto& entry : added) put(entries, entry);
  if (!ready.empty()) put(entries, ready);
  return entries;
}

std::vector<std::string> programs_on_path(const std::string& program, const std::vector<std::string>& environment) {
  if (program.find('/') != std::string::npos) return {program};
  const auto path =
      std::find_if(environment.begin(), environment.end(), [](const auto& entry) { return name_of(entry) == "PATH"; });
  std::string_view folders = "/usr/bin:/bin";
  if (path != environment.end()) folders = std::string_view(*path).substr(sizeof "PATH=" - 1);
  std::vector<std::string> files;
  for (bool more = true; more;) {
    const auto colon = folders.find(':');
    const std::string folder(folders.substr(0, colon));
    files.push_back(folder.empty() ? program : folder + "/" + program);  // an empty one is the present folder
    more = colon != std::string_view::npos;
    folders.remove_prefix(more ? colon + 1 : folders.size());
  }
  return files;
}

}  // namespace yoke::launch
