#include "torch_adapter/gradient_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace yoke::torch_adapter {
namespace {

thread_local GradientMemory* first_on = nullptr;

// The shared pieces that tensors own. A piece is known by its address alone, not by a context of its own: oneDNN takes
// and frees by bare pointers what the CPU allocator gives, also in the sizes of gradients.
class Pieces {
 public:
  void add(std::shared_ptr<std::byte> piece) {
    const std::lock_guard lock(mutex_);
    auto* const at = piece.get();
    pieces_.emplace(at, std::move(piece));
  }
  // Null: it is not one of them.
  std::shared_ptr<std::byte> remove(void* at) {
    const std::lock_guard lock(mutex_);
    auto node = pieces_.extract(at);
    return node ? std::move(node.mapped()) : nullptr;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<void*, std::shared_ptr<std::byte>> pieces_;
};

// Never destroyed: tensors may live as long as the process.
Pieces& pieces() {
  static auto* const only = new Pieces;
  return *only;
}

class InFront final : public c10::Allocator {
 public:
  explicit InFront(c10::Allocator& behind) : behind_(behind) { free_behind = behind.raw_deleter(); }

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  c10::DataPtr allocate(std::size_t bytes) override { return give(bytes); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override { behind_.copy_data(to, from, bytes); }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override { return behind_.is_simple_data_ptr(data); }
#else
  c10::DataPtr allocate(std::size_t bytes) const override { return give(bytes); }
#endif
  // Fits what comes from behind as well as what comes from here.
  c10::DeleterFnPtr raw_deleter() const override { return free_behind ? &let_go : nullptr; }

 private:
  c10::DataPtr give(std::size_t bytes) const {
    auto piece = GradientMemory::take(bytes);
    if (!piece) return behind_.allocate(bytes);
    auto* const at = piece.get();
    pieces().add(std::move(piece));
    return {at, at, &let_go, c10::Device(c10::DeviceType::CPU)};
  }

  static void let_go(void* at) {
    if (!pieces().remove(at)) free_behind(at);
  }

  static inline c10::DeleterFnPtr free_behind = nullptr;
  c10::Allocator& behind_;
};

// LibTorch's table of allocators has no lock; the entry is one pointer, and either value of it is right.
void stand_in_front() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto* const ours = new InFront(*c10::GetCPUAllocator());  // stays: storages keep pointers to it
    // With the priority of the one that was there, which nobody tells: who might have replaced that may replace this.
    for (int priority = 0; c10::GetCPUAllocator() != ours && priority <= std::numeric_limits<std::uint8_t>::max();
         ++priority)
      c10::SetCPUAllocator(ours, static_cast<std::uint8_t>(priority));
  });
}

}  // namespace

GradientMemory::GradientMemory(Exchange& exchange, std::span<const std::size_t> sizes)
    : exchange_(exchange), sizes_(sizes) {
  if (sizes.empty() || !exchange.memory(sizes.back())) return;
  stand_in_front();
  next_ = std::exchange(first_on, this);
}

GradientMemory::~GradientMemory() {
  for (auto** link = &first_on; *link; link = &(*link)->next_)
    if (*link == this) {
      *link = next_;
      return;
    }
}

std::shared_ptr<std::byte> GradientMemory::take(std::size_t bytes) {
  if (bytes < kSmallestShared) return nullptr;
  for (const auto* on = first_on; on; on = on->next_)
    if (std::binary_search(on->sizes_.begin(), on->sizes_.end(), bytes)) return on->exchange_.memory(bytes);
  return nullptr;
}

}  // namespace yoke::torch_adapter
