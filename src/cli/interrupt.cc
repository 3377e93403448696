#include "cli/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

namespace yoke::cli {
namespace {

std::atomic<int> received{0};
std::atomic<bool> speaks{true};
std::atomic<std::uint32_t> asked_for{0};  // checkpoints
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may use nothing else");

struct sigaction before_int, before_term, before_usr2;

extern "C" void on_signal(int number) {
  int nobody = 0;
  if (received.compare_exchange_strong(nobody, number)) {
    if (!speaks) return;
    constexpr char kWords[] = "\nstopping after this step and saving; once more to stop at once\n";
    [[maybe_unused]] const auto written = write(STDERR_FILENO, kWords, sizeof kWords - 1);
    return;
  }
  if (number == SIGINT) _exit(128 + SIGINT);
}

extern "C" void on_checkpoint(int) { ++asked_for; }

}  // namespace

Interrupt::Interrupt(bool says_so) {
  received = 0;
  speaks = says_so;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &before_int);
  sigaction(SIGTERM, &action, &before_term);
  action.sa_handler = on_checkpoint;  // it ends nobody who cannot make one
  sigaction(SIGUSR2, &action, &before_usr2);
}

Interrupt::~Interrupt() {
  sigaction(SIGINT, &before_int, nullptr);
  sigaction(SIGTERM, &before_term, nullptr);
  sigaction(SIGUSR2, &before_usr2, nullptr);
}

bool Interrupt::asked() { return received.load(std::memory_order_relaxed) != 0; }
int Interrupt::signal() { return received; }
const std::atomic<std::uint32_t>& Interrupt::checkpoints() { return asked_for; }

}  // namespace yoke::cli
