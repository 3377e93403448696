#include "wire/checksum.h"

#include <new>
#include <type_traits>

#define XXH_INLINE_ALL
#include <xxhash.h>

// Each in a file of its own, compiled for its instructions; all work on the same state.
#ifdef __x86_64__
extern "C" void yoke_checksum_add_avx2(void* state, const void* bytes, std::size_t size);
extern "C" void yoke_checksum_add_avx512(void* state, const void* bytes, std::size_t size);
#endif

namespace yoke::wire {
namespace {

static_assert(sizeof(XXH3_state_t) <= 640 && alignof(XXH3_state_t) <= 64);
static_assert(std::is_trivially_destructible_v<XXH3_state_t>);

struct Variant {
  const char* name;
  void (*add)(void* state, const void* bytes, std::size_t size);
};

void add_baseline(void* state, const void* bytes, std::size_t size) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

Variant choose() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f")) return {"avx512", yoke_checksum_add_avx512};
  if (__builtin_cpu_supports("avx2")) return {"avx2", yoke_checksum_add_avx2};
#endif
  return {"baseline", add_baseline};
}

const Variant kVariant = choose();

XXH3_state_t* state_of(const std::byte* bytes) {
  return std::launder(reinterpret_cast<XXH3_state_t*>(const_cast<std::byte*>(bytes)));
}

}  // namespace

Checksum::Checksum() {
  // Zeroed, as some versions look at the seed before they set it.
  ::new (static_cast<void*>(state_)) XXH3_state_t{};
  reset();
}

void Checksum::reset() { XXH3_64bits_reset(state_of(state_)); }

void Checksum::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) kVariant.add(state_of(state_), bytes.data(), bytes.size());
}

std::uint64_t Checksum::value() const { return XXH3_64bits_digest(state_of(state_)); }

const char* checksum_variant() { return kVariant.name; }

}  // namespace yoke::wire
