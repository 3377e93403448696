// Several words in one, as a shell writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "yoke/error.h"

namespace yoke::launch {

// Quotes where it is needed; split_words(join_words(words)) gives `words` back, whatever is in them.
std::string join_words(const std::vector<std::string>& words);

// Words stand between spaces, tabs and newlines; '...' keeps all, "..." all but a backslash before " and \, and outside
// of quotes a backslash keeps the next character. Nothing else has a meaning: no $, no *, no #. Code::invalid_argument:
// a quote is not closed, or a backslash is last.
Result<std::vector<std::string>> split_words(std::string_view text);

}  // namespace yoke::launch
