// The digits set: 1,797 handwritten digits of 8x8 pixels from 0 to 16 (data/digits.NOTICE says where they come from).
#pragma once

#include <string>

#include "data/open.h"
#include "yoke/error.h"

namespace yoke::data {

// Reads lines of 64 pixels and a label, separated by commas; gzip or plain. The set has no split of its own: the first
// 1,500 samples are there to train on, the last 297 are the test part. Errors name the file, the line and the field.
Result<Opened> open_digits(const std::string& file, const Schema* like);

}  // namespace yoke::data
