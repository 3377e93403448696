// For tests: a /proc and a /sys of one's own.
#pragma once

#include <filesystem>
#include <string>

#include "data/scratch_folder.h"

namespace yoke::train {

class FakeRoot {
 public:
  // `path` as on a machine: "/proc/meminfo".
  FakeRoot& file(const std::string& path, const std::string& content) {
    std::filesystem::create_directories(folder_.path() + path.substr(0, path.rfind('/')));
    folder_.plain(path, content);
    return *this;
  }
  const std::string& path() const { return folder_.path(); }

 private:
  data::ScratchFolder folder_;
};

}  // namespace yoke::train
