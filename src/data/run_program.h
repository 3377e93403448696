// Runs a program of the system, without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

struct Ended {
  int status = 0;      // its exit status; 128 + N when signal N ended it
  std::string output;  // what it wrote, standard output and error together; at most the first 64 KiB
};

// words[0] is looked for on PATH; `folder` is where it works; its standard input is empty. Code::missing: there is no
// such program. Code::timed_out: it was still running after `limit`, and was ended.
Result<Ended> run_program(const std::vector<std::string>& words, const std::string& folder, std::chrono::seconds limit);

}  // namespace yoke::data
