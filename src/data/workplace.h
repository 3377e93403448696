// A folder to work in, inside the folder that the work is for.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

namespace yoke::data {

// One at a time in a folder, by whichever process, so that what an interrupted one left behind can be cleared away.
// Empty at first; goes with all that is in it.
class Workplace {
 public:
  explicit Workplace(const std::string& folder) : path_(folder + "/.fetching") {
    lock_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock_ < 0 || flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      problem_ = errno;
      return;
    }
    std::error_code problem;
    std::filesystem::remove_all(path_, problem);
    std::filesystem::create_directory(path_, problem);
    problem_ = problem.value();
  }
  ~Workplace() {
    std::error_code ignored;
    if (problem_ == 0) std::filesystem::remove_all(path_, ignored);
    if (lock_ >= 0) close(lock_);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  // 0, or an errno: there is no workplace. EWOULDBLOCK: another one is in use.
  int problem() const { return problem_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int lock_ = -1, problem_ = 0;
};

}  // namespace yoke::data
