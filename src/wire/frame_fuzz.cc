// Any bytes as what comes out of a connection, frame by frame: a head that is accepted keeps to the limits and is
// encoded to the same bytes again.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "wire/checksum.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace {

using namespace yoke::wire;
using Head = std::span<std::byte, kHeadSize>;

void check_promises(const FrameHead& head, Head bytes) {
  if (!std::ranges::equal(encode_head(head), bytes)) __builtin_trap();
  if (head.control > kMaxControl) __builtin_trap();
  if (head.kind == FrameKind::region) return;
  if (head.payload > kMaxPayload) __builtin_trap();
  if (head.kind == FrameKind::message && head.payload > 0 && head.sequence == 0) __builtin_trap();
}

// Magic, version and checksum as they have to be, or few heads would come further than these.
void mend(Head bytes) {
  std::copy_n(encode_head({}).begin(), 6, bytes.begin());
  Checksum checksum;
  checksum.add(bytes.first<kHeadSize - 4>());
  for (std::size_t i = 0; i < 4; ++i) bytes[kHeadSize - 4 + i] = static_cast<std::byte>(checksum.value() >> (8 * i));
}

void read_control(FrameKind kind, std::span<const std::byte> control) {
  const std::string_view text(reinterpret_cast<const char*>(control.data()), control.size());
  if (kind == FrameKind::introduce) static_cast<void>(decode_identity(text));
  if (kind == FrameKind::message) static_cast<void>(decode(text));
}

std::uint64_t number(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) value |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  return value;
}

void walk(std::span<std::byte> bytes, bool mended) {
  while (bytes.size() >= kHeadSize) {
    const auto head_bytes = bytes.first<kHeadSize>();
    if (mended) mend(head_bytes);
    const auto head = decode_head(head_bytes);
    if (!head) return;
    check_promises(*head, head_bytes);

    const bool elsewhere = head->in_region || head->kind == FrameKind::region;
    const std::size_t size = head->control + (elsewhere ? 0 : head->payload);
    bytes = bytes.subspan(kHeadSize);
    if (bytes.size() < size + kCheckSize) return;
    Checksum checksum;
    checksum.add(bytes.first(head->control));
    checksum.add(bytes.first(size).subspan(head->control));
    if (!mended && checksum.value() != number(bytes.subspan(size, kCheckSize))) return;
    read_control(head->kind, bytes.first(head->control));
    bytes = bytes.subspan(size + kCheckSize);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  for (const bool mended : {false, true}) {
    std::vector<std::byte> copy(bytes.begin(), bytes.end());
    walk(copy, mended);
  }
  return 0;
}
