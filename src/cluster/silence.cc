#include "cluster/silence.h"

#include <fmt/format.h>

#include <algorithm>

namespace yoke::cluster {
namespace {

constexpr Duration kLook = std::chrono::seconds(1);
constexpr Duration kMayBeLate = std::chrono::seconds(2);

}  // namespace

Duration Silence::look(Time now) {
  if (const auto away = now - looked_; away > kLook + kMayBeLate) until_ += away - kLook;
  looked_ = now;
  return std::clamp(until_ - now, Duration::zero(), kLook);
}

Error hangs(Duration deadline, wire::ReplicaId replica, const std::string& doing, const std::string& whom) {
  return {Code::timed_out,
          fmt::format("the job hangs: replica {}: {} for {:.1f} s without any news, waiting for {}; if that is normal "
                      "here, raise --deadline",
                      replica, doing, std::chrono::duration<double>(deadline).count(), whom)};
}

}  // namespace yoke::cluster
