// For threads whose work can wait for a moment.
#pragma once

#include <pthread.h>
#include <sched.h>

namespace yoke {

// The thread takes a core from nobody who computes there when it is woken: it begins when a core is free, or when the
// others have had their time. One that works beside a thread that computes would otherwise stop it several times a
// step.
inline void give_way(pthread_t thread) {
  const sched_param none{};
  pthread_setschedparam(thread, SCHED_BATCH, &none);
}

}  // namespace yoke
