// Ctrl-C and SIGTERM: the first asks the training to stop after its step, a second Ctrl-C ends the process at once.
// SIGUSR2 asks for a checkpoint.
#pragma once

#include <atomic>
#include <cstdint>

namespace yoke::cli {

// Catches the signals while it lives, and says so on standard error if it is to; one at a time in a process.
class Interrupt {
 public:
  explicit Interrupt(bool says_so = true);
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Somebody has asked to stop. From any thread.
  static bool asked();
  // With which signal; 0: nobody has.
  static int signal();
  // How often a checkpoint was asked for.
  static const std::atomic<std::uint32_t>& checkpoints();
};

}  // namespace yoke::cli
