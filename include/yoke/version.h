// The version of the library and the program. The build reads it from here.
#pragma once

namespace yoke {

inline constexpr char kVersion[] = "0.2.0";

}  // namespace yoke
