#include <algorithm>

#include "history/rules.h"

namespace yoke::history {
namespace {
constexpr std::size_t kNever = ~std::size_t{0};
}

Payloads::Payloads(std::span<const Event> events) {
  for (std::size_t at = 0; at < events.size(); ++at) {
    const auto* e = std::get_if<Examined>(&events[at].what);
    if (!e) continue;
    auto& payload = payloads_[e->ticket];
    if (payload.gradient == e->gradient && payload.block == e->block && payload.ok && e->ok) continue;  // once more
    payload = {e->gradient, e->block, e->ok, at};
    auto& sound = sound_[e->gradient].try_emplace(e->block, kNever).first->second;
    if (e->ok) sound = std::min(sound, at);
  }
}

const Payloads::Payload* Payloads::find(wire::Ticket ticket) const {
  const auto it = payloads_.find(ticket);
  return it == payloads_.end() ? nullptr : &it->second;
}

bool Payloads::any(const wire::GradientId& gradient, wire::BlockId block) const {
  const auto it = sound_.find(gradient);
  return it != sound_.end() && it->second.contains(block);
}

std::vector<wire::BlockId> Payloads::unsound(const wire::GradientId& gradient, std::size_t at) const {
  std::vector<wire::BlockId> blocks;
  const auto it = sound_.find(gradient);
  if (it == sound_.end()) return blocks;
  for (const auto& [block, since] : it->second)
    if (since == kNever || since > at) blocks.push_back(block);
  return blocks;
}

}  // namespace yoke::history
