// Nothing of the standard library here but C: what its headers define inline would be compiled for these instructions
// too, and could be the copy that the linker keeps for everybody.
#ifdef __x86_64__
#pragma GCC target("avx2")
#include <immintrin.h>
#define XXH_VECTOR 2  // XXH_AVX2
#define XXH_INLINE_ALL
#include <xxhash.h>

extern "C" void yoke_checksum_add_avx2(void* state, const void* bytes, size_t size);

void yoke_checksum_add_avx2(void* state, const void* bytes, size_t size) {
  XXH3_64bits_update((XXH3_state_t*)state, bytes, size);
}
#endif
