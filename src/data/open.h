// The data sets that have a name.
#pragma once

#include <string>

#include "data/dataset.h"
#include "yoke/error.h"

namespace yoke::data {

// Opens a data set, its features normalised with the mean and the deviation of its training set:
//
//   fashion-mnist       60,000 + 10,000 images of clothing, 28x28, 10 classes; Debian's package dataset-fashion-mnist
//   fashion-mnist:DIR   the same four idx files (.gz or plain) in a folder of the user's own
//   digits              1,500 + 297 handwritten digits, 8x8, 10 classes; comes with Yoke
//   digits:FILE         the same csv file (.gz or plain) elsewhere
//
// An unknown name, a missing file and a damaged one are errors that say what to do.
Result<Split> open(const std::string& name);

}  // namespace yoke::data
