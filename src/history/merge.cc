#include "history/merge.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <string>
#include <utility>

#include "history/history_file.h"

namespace yoke::history {
namespace {

bool same_terms(const Event& a, const Event& b) {
  return to_json_line({Time{}, a.what}) == to_json_line({Time{}, b.what});
}

// Out of all parts, by time, each once.
std::vector<Event> take_terms(std::vector<std::vector<Event>>& parts) {
  std::vector<Event> terms;
  for (auto& part : parts) {
    std::copy_if(part.begin(), part.end(), std::back_inserter(terms), is_terms);
    std::erase_if(part, is_terms);
  }
  std::stable_sort(terms.begin(), terms.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
  std::vector<Event> distinct;
  for (auto& event : terms)
    if (std::none_of(distinct.begin(), distinct.end(), [&](const Event& other) { return same_terms(event, other); }))
      distinct.push_back(std::move(event));
  return distinct;
}

// A job that was formed anew before anybody had come to it: the terms it went on with are those it has.
void begin_with_later_terms(const std::vector<std::vector<Event>>& parts, std::vector<Event>& merged) {
  const Event* first = nullptr;
  for (const auto& part : parts)
    for (const auto& event : part)
      if (const auto* resumed = std::get_if<Resumed>(&event.what);
          resumed && resumed->terms && (!first || event.at < first->at))
        first = &event;
  if (first) merged.push_back({first->at, *std::get<Resumed>(first->what).terms});
}

}  // namespace

std::vector<Event> merge(std::vector<std::vector<Event>> parts) {
  auto merged = take_terms(parts);
  if (merged.empty()) begin_with_later_terms(parts, merged);
  using Head = std::pair<Time, std::size_t>;  // the time of a part's next event, and which part
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  std::size_t events = merged.size();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (!parts[part].empty()) heads.emplace(parts[part].front().at, part);
    events += parts[part].size();
  }
  merged.reserve(events);
  std::vector<std::size_t> next(parts.size());
  while (!heads.empty()) {
    const auto part = heads.top().second;
    heads.pop();
    merged.push_back(std::move(parts[part][next[part]++]));
    if (next[part] < parts[part].size()) {
      heads.emplace(parts[part][next[part]].at, part);
    } else {
      parts[part] = std::vector<Event>();  // they can be large
    }
  }
  return merged;
}

}  // namespace yoke::history
