#include "cluster/silence.h"

#include <fmt/format.h>

namespace yoke::cluster {

Error silent_for(Duration deadline, wire::ReplicaId replica, const std::string& doing, const std::string& whom) {
  return {Code::timed_out,
          fmt::format("replica {}: {} for {:.1f} s without any news, waiting for {}; if that is normal here, raise "
                      "--deadline",
                      replica, doing, std::chrono::duration<double>(deadline).count(), whom)};
}

}  // namespace yoke::cluster
