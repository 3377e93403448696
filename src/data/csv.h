// Tables as data sets: a sample a row.
#pragma once

#include <string>

#include "data/open.h"
#include "data/table.h"

namespace yoke::data {

// Columns of numbers become features, columns of words one feature a word (0 or 1), the words in the order of their
// names; a column is of numbers when its first field is one. A field that does not fit its column, an empty one, a
// target that is not there, more than 1,000 words in a column: errors that name file, line and column. A column's name
// has no '=': "color=red" is the name of a feature.
//
// With `like` the columns that it names must be there, whichever others are; the words and classes are those it knows.
// Its target columns need no naming again where it has their names (tasks values and flags).
Result<Opened> open_csv(const std::string& file, const OpenOptions& options, const Schema* like);

}  // namespace yoke::data
