#include "launch/seating.h"

namespace yoke::launch {
namespace {

// Of all others, replica 0 among them wherever it is.
std::string where_others_are(const Seating& seating, const std::string& own) {
  std::string list = seating.join == own ? "" : seating.join;
  for (const auto& listen : seating.listens)
    if (listen != own && listen != seating.join) list += (list.empty() ? "" : ",") + listen;
  return list;
}

}  // namespace

Surroundings seat_of(const Seating& seating, std::uint32_t replica, bool again) {
  Surroundings seat{.kind = Surroundings::Kind::yoke, .join = seating.join, .replica = replica, .again = again};
  if (seating.listens.empty()) return seat;
  for (std::size_t at = 0; at < seating.replicas.size(); ++at)
    if (seating.replicas[at] == replica) seat.listen = seating.listens[at];
  if (again) seat.join = where_others_are(seating, seat.listen);
  return seat;
}

}  // namespace yoke::launch
