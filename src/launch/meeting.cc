#include "launch/meeting.h"

namespace yoke::launch {

Result<std::unique_ptr<Meeting>> meet(const Lookup& lookup, const Place& place, const std::string& folder) {
  if (!folder.empty()) return meet_in_folder(folder, place);
  auto over_pmix = place.pmix ? meet_over_pmix(place) : Error{Code::unsupported, ""};
  if (over_pmix) return over_pmix;
  if (const auto set = value_of(lookup, "YOKE_MEET"); !set.empty()) return meet_in_folder(set, place);
  const auto home = value_of(lookup, "HOME");
  if (home.empty() || home.front() != '/')
    return Error{Code::missing,
                 "the ranks of this job have no place to meet: set YOKE_MEET to a folder that all of them see"};
  return meet_in_folder(home + "/.yoke", place);
}

}  // namespace yoke::launch
