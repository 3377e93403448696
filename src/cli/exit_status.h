// What the program's exit status means; the list that --help and the manual show is made from here.
#pragma once

#include <string>

#include "yoke/error.h"

namespace yoke::cli {

enum ExitStatus {
  kDone = 0,
  kFailed = 1,
  kWrongUsage = 2,
  kWrongFile = 3,
  kNotHere = 4,
  kPromiseBroken = 5,
  kTargetMissed = 6,
  kDrained = 7,  // launch::kDrainedStatus
  kInterrupted = 130,
  kTerminated = 143,
};

inline constexpr char kExitStatusHelp[] =
    "Exit status:\n"
    "  0    done\n"
    "  1    failed while it ran (a replica was lost that could not be done without, a deadline passed)\n"
    "  2    a flag or a setting is wrong, or does not go with another\n"
    "  3    a file is missing, damaged or cannot be written\n"
    "  4    not on this machine: too little memory, no such device, no LibTorch\n"
    "  5    a promise was broken (--check, yoke check)\n"
    "  6    --target-accuracy was not reached\n"
    "  7    this replica was drained, and the others go on\n"
    "  130  stopped by Ctrl-C; the model was saved (a second Ctrl-C stops at once, and saves nothing)\n"
    "  143  stopped by SIGTERM (or by another rank); the model was saved, and training can go on from it\n";

int status_of(const Error& error);
// Says it on standard error, and returns the status.
int fail(const Error& error);

}  // namespace yoke::cli
