#include "launch/scratch.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace yoke::launch {

Scratch::Scratch(std::string path) : path_(std::move(path)), maker_(getpid()) {}

Scratch::~Scratch() {
  std::error_code ignored;
  if (getpid() == maker_) std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<Scratch>> Scratch::make(const Lookup& lookup) {
  std::string problems;
  for (auto folder : {value_of(lookup, "XDG_RUNTIME_DIR"), value_of(lookup, "TMPDIR"), std::string("/tmp")}) {
    if (folder.empty()) continue;
    auto path = folder + "/yoke-XXXXXX";
    std::string problem;
    if (folder.front() != '/') {
      problem = "is not an absolute path";
    } else if (path.size() + 1 + kLongestName > kLongestPath) {
      problem = fmt::format("is too long: paths of sockets have at most {} bytes", kLongestPath);
    } else if (!mkdtemp(path.data())) {
      problem = fmt::format("cannot be used: {}", std::strerror(errno));
    } else {
      return std::unique_ptr<Scratch>(new Scratch(std::move(path)));
    }
    problems += fmt::format("{}{} {}", problems.empty() ? "" : "; ", folder, problem);
  }
  return Error{
      Code::missing,
      fmt::format("there is no folder for the job's sockets: {}. Set TMPDIR to a folder with a short path that "
                  "can be written",
                  problems)};
}

Result<std::string> socket_in(const std::string& folder, const std::string& name) {
  auto path = folder + "/" + name;
  if (path.size() <= Scratch::kLongestPath) return path;
  return Error{Code::invalid_argument, fmt::format("{} has {} bytes: the path of a socket has at most {}", path,
                                                   path.size(), Scratch::kLongestPath)};
}

}  // namespace yoke::launch
