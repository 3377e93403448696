// "Did you mean ...?": the nearest of some words to one that was mistyped.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

// How many letters have to be put in, taken out, changed or swapped with their neighbour to make `b` of `a`. Upper and
// lower case are the same.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  // Rows of the table of distances between beginnings of `a` and of `b`: the one of now and the two before.
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last.swap(now);
  }
  return last[b.size()];
}

// The word of `among` that `word` is most like, the first of several; empty when none is close: a third of the letters
// may be wrong. Words of more than 100 letters are like no other.
inline std::string nearest(std::string_view word, std::span<const std::string> among) {
  constexpr std::size_t kLongest = 100;
  std::string found;
  std::size_t limit = (word.size() + 1) / 3 + 1;  // and stay below it
  if (word.size() > kLongest) return found;
  for (const auto& candidate : among) {
    if (candidate.size() > kLongest) continue;
    const auto distance = edit_distance(word, candidate);
    if (distance >= limit) continue;
    limit = distance;
    found = candidate;
  }
  return found;
}

}  // namespace yoke
