#include "data/client_output.h"

#include <algorithm>
#include <sstream>

namespace yoke::data {
namespace {

// "ENOTFOUND", "ECONNREFUSED": what the resolver and the socket say before the name of a host.
bool is_error_code(const std::string& word) {
  return word.size() > 3 && word[0] == 'E' &&
         std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
}

std::string without_addresses(const std::string& line) {
  std::istringstream words(line);
  std::string kept, before;
  for (std::string word; words >> word; before = word) {
    const bool host = (is_error_code(before) || before == "address:") && word.find_first_of(".:") != std::string::npos;
    const bool address = host || word.find("://") != std::string::npos;
    kept += (kept.empty() ? "" : " ") + (address ? "[address]" : word);
  }
  return kept;
}

}  // namespace

std::string shorten_client_output(const std::string& output) {
  constexpr int kLines = 8;
  std::istringstream lines(output);
  std::string kept;
  int count = 0;
  for (std::string line; count < kLines && std::getline(lines, line);) {
    if (line.starts_with("npm warn") || line.starts_with("npm WARN") || line.starts_with("npm notice")) continue;
    line = without_addresses(line);
    if (line.empty()) continue;
    kept += (kept.empty() ? "  " : "\n  ") + line;
    ++count;
  }
  return kept.empty() ? "  (nothing)" : kept;
}

}  // namespace yoke::data
