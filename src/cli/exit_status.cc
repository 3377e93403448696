#include "cli/exit_status.h"

#include <cstdio>

namespace yoke::cli {

int status_of(const Error& error) {
  switch (error.code) {
    case Code::invalid_argument:
      return kWrongUsage;
    case Code::missing:
    case Code::corrupt:
      return kWrongFile;
    case Code::unsupported:
      return kNotHere;
    case Code::refused:
    case Code::timed_out:
    case Code::peer_down:
    case Code::cancelled:
      break;
  }
  return kFailed;
}

int fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return status_of(error);
}

}  // namespace yoke::cli
