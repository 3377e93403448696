// Text by the character: a sample is some characters in a row, its targets the characters that follow each of them.
#pragma once

#include <string>

#include "data/open.h"

namespace yoke::data {

// UTF-8, plain or gzip; a byte order mark is left out, and "\r\n" is read as "\n". Sample i has the characters from
// i * sequence on. Symbols are the text's characters in the order of their numbers, 4,096 at most; symbol 0 stands for
// every character that is not in the schema's list. The test part is the end of the text (test_share), or the file
// options.test. With `like`, symbols and sequence are those of that schema. Errors name the file.
Result<Opened> open_text(const std::string& file, const OpenOptions& options, const Schema* like);

// What a model that knows only the last character would reach: it counts pairs in `train` (one is added to each) and is
// judged on `test`. Perplexity a character; the yardstick that a network has to get below. Parts that are empty, or no
// text, or of different characters are errors.
Result<double> bigram_perplexity(const Part& train, const Part& test);

}  // namespace yoke::data
