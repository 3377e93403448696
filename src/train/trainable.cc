#include "yoke/trainable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace yoke {

State Trainable::state() {
  State state;
  const auto& slots = layout().slots;
  for (SlotId id = 0; id < slots.size(); ++id) {
    const auto bytes = std::as_bytes(values(id));
    state.tensors.push_back({slots[id].name, DType::f32, slots[id].shape, {bytes.begin(), bytes.end()}});
  }
  return state;
}

Status Trainable::restore(const State& state) {
  const auto& slots = layout().slots;
  std::vector<std::pair<SlotId, std::vector<float>>> ready;  // all is checked before anything is changed
  for (SlotId id = 0; id < slots.size(); ++id) {
    const auto* tensor = state.find(slots[id].name);
    if (!tensor) continue;
    if (tensor->shape != slots[id].shape)
      return Error{
          Code::invalid_argument,
          fmt::format("tensor '{}' has the shape [{}], but the model's is [{}]: restore what was saved from the "
                      "same model",
                      tensor->name, fmt::join(tensor->shape, ", "), fmt::join(slots[id].shape, ", "))};
    auto floats = floats_of(*tensor);
    if (!floats) return floats.error();
    ready.emplace_back(id, std::move(*floats));
  }
  for (const auto& [id, floats] : ready) std::copy(floats.begin(), floats.end(), values(id).begin());
  return {};
}

}  // namespace yoke
