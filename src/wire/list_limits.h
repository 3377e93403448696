// How many entries the lists of a control message have, before anything is made of them: two bytes can ask for an
// object of a hundred.
#pragma once

#include <string>
#include <string_view>

namespace yoke::wire {

// The list of a JobMessage's bytes that is longer than its limit, in words; empty when there is none.
std::string too_long_a_list(std::string_view bytes);

}  // namespace yoke::wire
