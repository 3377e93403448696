// What a child finds in its environment, and where its program is looked for.
#pragma once

#include <string>
#include <vector>

namespace yoke::launch {

// `inherited` (as environ is: null at the end) with the NAME=VALUE of `added` in place of or besides what is there; of
// several with one name the last counts. `ready` is the entry of the ready pipe, or "": then a launcher's own is not
// passed on, its number means nothing in the child.
std::vector<std::string> child_environment(const char* const* inherited, const std::vector<std::string>& added,
                                           const std::string& ready);

// The files to try for `program`, in order: itself if it has a slash, else one for each folder on the PATH of
// `environment`.
std::vector<std::string> programs_on_path(const std::string& program, const std::vector<std::string>& environment);

}  // namespace yoke::launch
