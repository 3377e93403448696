// A private folder for the sockets of one job.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "launch/lookup.h"
#include "yoke/error.h"

namespace yoke::launch {

class Scratch {
 public:
  static constexpr std::size_t kLongestPath = 107;  // of a Unix socket, without the zero at its end
  static constexpr std::size_t kLongestName = 24;   // names of up to this length fit into every folder that is made

  // A new folder that only this user can enter (mode 0700), in $XDG_RUNTIME_DIR, else $TMPDIR, else /tmp: in the first
  // that is an absolute path short enough for sockets and can be written. Code::missing names all and what was wrong.
  static Result<std::unique_ptr<Scratch>> make(const Lookup& lookup);
  // Removes the folder and all that is in it; in a process that was forked from the maker's, nothing.
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }

 private:
  explicit Scratch(std::string path);

  const std::string path_;
  const pid_t maker_;
};

// The path for a socket of this name in a folder that a Scratch has made, here or in another process.
// Code::invalid_argument: it would be too long.
Result<std::string> socket_in(const std::string& folder, const std::string& name);

}  // namespace yoke::launch
