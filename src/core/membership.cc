#include "core/membership.h"

#include <fmt/format.h>

namespace yoke::core {

JoinDecision Membership::hello(wire::Life life) {
  auto [it, fresh] = members_.try_emplace(life.replica);
  auto& member = it->second;
  if (!fresh && life.incarnation < member.incarnation)
    return {JoinDecision::Kind::refused, fmt::format("replica {}: incarnation {} is over, {} has joined since",
                                                     life.replica, life.incarnation, member.incarnation)};
  if (!fresh && life.incarnation == member.incarnation) {
    if (member.alive) return {JoinDecision::Kind::again, ""};
    return {JoinDecision::Kind::refused,
            fmt::format("replica {}: incarnation {} was struck off: {}; start it anew to join again", life.replica,
                        life.incarnation, member.why_down)};
  }
  member = {life.incarnation, true, ""};
  return {JoinDecision::Kind::joined, fmt::format("replica {} joined, incarnation {}", life.replica, life.incarnation)};
}

bool Membership::down(wire::Life life, std::string reason) {
  auto [it, fresh] = members_.try_emplace(life.replica);
  auto& member = it->second;
  // The end of a life whose hello is still under way is the end of those before it too, and that hello comes too late.
  if (!fresh && life.incarnation < member.incarnation) return false;
  if (!fresh && life.incarnation == member.incarnation && !member.alive) return false;
  member = {life.incarnation, false, std::move(reason)};
  return true;
}

bool Membership::alive(wire::Life life) const {
  const auto it = members_.find(life.replica);
  return it != members_.end() && it->second.alive && it->second.incarnation == life.incarnation;
}

bool Membership::alive(wire::ReplicaId replica) const {
  const auto it = members_.find(replica);
  return it != members_.end() && it->second.alive;
}

std::uint32_t Membership::count_alive() const {
  std::uint32_t count = 0;
  for (const auto& [id, member] : members_) count += member.alive;
  return count;
}

std::vector<wire::Life> Membership::all_alive() const {
  std::vector<wire::Life> lives;
  for (const auto& [id, member] : members_)
    if (member.alive) lives.push_back({id, member.incarnation});
  return lives;
}

const std::string& Membership::why_down(wire::ReplicaId replica) const {
  static const std::string kNever;
  const auto it = members_.find(replica);
  return it == members_.end() ? kNever : it->second.why_down;
}

}  // namespace yoke::core
