// How long a replica has waited without any news, and what is said when that was too long.
#pragma once

#include <string>

#include "base/time.h"
#include "wire/messages.h"
#include "yoke/error.h"

namespace yoke::cluster {

// Up to a deadline. Time in which this process did not run at all (it was stopped, or its machine slept) does not
// count: the others may have been stopped with it.
class Silence {
 public:
  Silence(Duration deadline, Time now) : deadline_(deadline), until_(now + deadline), looked_(now) {}

  // Something has happened.
  void broken(Time now) { until_ = now + deadline_; }
  // How long to wait before the next look, a second at the most; zero: the deadline has passed.
  Duration look(Time now);

 private:
  Duration deadline_;
  Time until_, looked_;
};

// The job hangs: so much silence while a replica waited for somebody.
Error hangs(Duration deadline, wire::ReplicaId replica, const std::string& doing, const std::string& whom);

}  // namespace yoke::cluster
