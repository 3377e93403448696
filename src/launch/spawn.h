// Starts one process of a job.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "launch/descriptor.h"
#include "yoke/error.h"

namespace yoke::launch {

enum class StandardOutput {
  inherit,  // the launcher's own
  capture,  // line by line through the launcher, as the standard error always is
};

struct ChildSpec {
  std::string name;                      // in messages and in front of its lines: "server 0", "replica 3"
  std::vector<std::string> argv;         // at least one word; the first is looked for on PATH if it has no slash
  std::vector<std::string> environment;  // NAME=VALUE: added to the launcher's own, or instead of what is there
  StandardOutput standard_output = StandardOutput::inherit;
  // It is handed a pipe, whose number is in kReadyVariable, and writes one line to it when it is ready.
  bool ready_pipe = false;
  std::optional<unsigned> core;  // it runs on this one alone
};

inline constexpr char kReadyVariable[] = "YOKE_READY_FD";

// The launcher's side of a process. The pipes do not block; `out` and `ready` are there if they were asked for.
struct Spawned {
  pid_t pid = 0;   // and the number of its process group
  Descriptor end;  // pidfd: readable once it has ended
  Descriptor out, err, ready;
};

// The process leads a process group of its own, reads nothing (/dev/null), holds no descriptor but 0, 1, 2 and its
// ready pipe, blocks and ignores no signal. The caller has to wait for its end (waitpid).
//
// The kernel kills it when the *thread* that called this ends, for whatever reason, a SIGKILL included: call from a
// thread that lives as long as the launcher. What it has started itself is not killed then.
//
// Code::missing: the program cannot be run; the message says which, and why. Code::unsupported: no more processes or
// descriptors are to be had. Code::timed_out: the system had not started the program after 30 s.
Result<Spawned> spawn(const ChildSpec& spec);

}  // namespace yoke::launch
