// How much is held back as the test part of data that brings none.
#pragma once

#include <cstdint>

#include "yoke/error.h"

namespace yoke::data {

// Of `samples`: the share, to the nearest sample, but at least one, and one is left; a share of 0 holds nothing back.
// What check_share refuses, and fewer than two samples to share, are errors.
Result<std::uint64_t> test_samples(std::uint64_t samples, double share);

}  // namespace yoke::data
