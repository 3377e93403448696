// The signals that a launcher is told to stop with, or to see to a checkpoint, as something to wait for.
#pragma once

#include <signal.h>

#include "launch/descriptor.h"

namespace yoke::launch {

// While it lives, SIGINT, SIGTERM, SIGHUP, SIGUSR1 (which mpirun passes on to its ranks, as it does not SIGTERM),
// SIGUSR2 and SIGPIPE (nobody reads the launcher's output any more) do not end the process but are kept here; those
// that the process ignores stay ignored (nohup, a job in the background). Children can be waited for even where the
// process has been started with SIGCHLD ignored. Make it before other threads, which then block the signals too: one
// that does not would be given them, and the process would end.
class Signals {
 public:
  Signals();
  // As it was before; signals that nobody has taken are dropped.
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  int descriptor() const { return from_.get(); }  // readable when there is one; negative: none was to be had
  int take();                                     // the next one, 0: none

 private:
  sigset_t before_;
  struct sigaction child_before_;
  Descriptor from_;
};

}  // namespace yoke::launch
