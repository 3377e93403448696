#include "launch/signals.h"

#include <sys/signalfd.h>

#include <initializer_list>

namespace yoke::launch {

Signals::Signals() {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE}) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    // A signal that is blocked is kept even if it is ignored.
    if (now.sa_handler != SIG_IGN) sigaddset(&taken, signal);
  }
  pthread_sigmask(SIG_BLOCK, &taken, &before_);
  from_ = Descriptor(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &plain, &child_before_);
}

Signals::~Signals() {
  while (take() != 0) continue;
  sigaction(SIGCHLD, &child_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int Signals::take() {
  signalfd_siginfo about = {};
  return read(from_.get(), &about, sizeof about) == sizeof about ? static_cast<int>(about.ssi_signo) : 0;
}

}  // namespace yoke::launch
