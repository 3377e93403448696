// What the reports of model files and of checkpoints have in common.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/inspect.h"

namespace yoke::cli {

using Row = std::vector<std::string>;

// Columns of equal width; so many are words, the numbers that follow are put to the right.
std::string aligned(const std::vector<Row>& rows, std::size_t words);
// A line a word about the model, indented.
std::string about_as_text(const std::map<std::string, std::string>& about);
// The table of tensors, and their total.
std::string tensors_as_text(const Inspection& inspection);
nlohmann::ordered_json tensors_as_json(const Inspection& inspection);

}  // namespace yoke::cli
