// The data sets that have a name.
#pragma once

#include <string>

#include "data/open.h"

namespace yoke::data {

// Each is read from `place`, or when that is empty from where it usually lies: open.h says what they are, and where
// from. A file that is not there is an error that says how to get it.
Result<Opened> fashion_mnist(const std::string& place, const OpenOptions& options, const Schema* like);
Result<Opened> mnist(const std::string& place, const OpenOptions& options, const Schema* like);
Result<Opened> digits(const std::string& place, const OpenOptions& options, const Schema* like);
Result<Opened> diabetes(const std::string& place, const OpenOptions& options, const Schema* like);
Result<Opened> moby_dick(const std::string& place, const OpenOptions& options, const Schema* like);

}  // namespace yoke::data
