// The columns of a table by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "data/open.h"
#include "data/table.h"

namespace yoke::data {

// The names, cut short where there are many: for messages.
std::string listed(std::span<const std::string> names);

// Which column is called `name`; else an error that suggests the nearest name and lists all.
Result<std::size_t> find_column(const Table& table, const std::string& name);

// An error about one field: "line 3, column 'color': " and why.
Error at_field(const Table& table, std::size_t row, std::size_t column, Code code, const std::string& why);

// The columns to predict: those of the options, or those of `like` where it has their names. All are there, each once,
// and so are those that the options want ignored or taken as categories; else an error.
Result<std::vector<std::string>> target_columns(const Table& table, const OpenOptions& options, const Schema* like);

}  // namespace yoke::data
