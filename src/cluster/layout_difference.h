// Replicas of one job must bring the same network.
#pragma once

#include <string>

#include "yoke/trainable.h"

namespace yoke::cluster {

// What the first difference between two layouts is, in words ("there" is the first); empty: none.
std::string difference(const Layout& first, const Layout& other);
// The same of the parameters alone: how they are trained may differ.
std::string difference_of_models(const Layout& first, const Layout& other);

}  // namespace yoke::cluster
