// One job at a time writes checkpoints into a folder.
#pragma once

#include <string>

#include "yoke/error.h"

namespace yoke::checkpoint {

// Held until it is destroyed, or the process ends.
class Lock {
 public:
  explicit Lock(int descriptor) : descriptor_(descriptor) {}
  Lock(Lock&& other) noexcept;
  Lock& operator=(Lock&& other) noexcept;
  ~Lock();

 private:
  int descriptor_;
};

// By FOLDER/lock; the folder is there. Code::refused names the process that has it already, Code::missing says why it
// cannot be had.
Result<Lock> lock_folder(const std::string& folder);

}  // namespace yoke::checkpoint
