// What the samples of a table look like.
#pragma once

#include <string>
#include <vector>

#include "data/open.h"
#include "data/table.h"

namespace yoke::data {

// Features, task and classes, when the columns `targets` are predicted; they are there. Errors name the option that is
// wrong, or line and column of the field.
Result<Schema> table_schema(const Table& table, const OpenOptions& options, const std::vector<std::string>& targets);

}  // namespace yoke::data
