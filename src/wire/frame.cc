#include "wire/frame.h"

#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace yoke::wire {
namespace {

// Where each number of the head begins.
enum At : std::size_t {
  kAtMagic = 0,
  kAtVersion = 4,
  kAtKind = 6,
  kAtFlags = 7,
  kAtIncarnation = 8,
  kAtSequence = 16,
  kAtClock = 24,
  kAtControl = 32,
  kAtRegion = 36,
  kAtOffset = 40,
  kAtPayload = 48,
  kAtReserved = 56,
  kAtCheck = 60,
};

constexpr std::uint8_t kInRegion = 1;  // the only flag there is

template <class Number>
void put(HeadBytes& bytes, At at, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    bytes[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(number) >> (8 * i));
}

template <class Number>
Number get(std::span<const std::byte, kHeadSize> bytes, At at) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) number |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  return static_cast<Number>(number);
}

std::uint32_t check_of(std::span<const std::byte, kHeadSize> bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), kAtCheck));
}

Error corrupt(std::string what) { return {Code::corrupt, std::move(what)}; }

std::string too_long(const char* part, std::uint64_t bytes, std::size_t limit) {
  return std::string(part) + " of " + std::to_string(bytes) + " bytes is announced, the limit is " +
         std::to_string(limit);
}

// What the numbers of one head must be to each other; a head with the right checksum that fails here was made wrong.
Status check(const FrameHead& head) {
  if (head.control > kMaxControl) return corrupt(too_long("a control part", head.control, kMaxControl));
  if (head.kind != FrameKind::region && head.payload > kMaxPayload)
    return corrupt(too_long("a payload", head.payload, kMaxPayload));
  if (head.kind == FrameKind::message && head.payload > 0 && head.sequence == 0)
    return corrupt("a message has a payload without a sequence number");
  return {};
}

}  // namespace

HeadBytes encode_head(const FrameHead& head) {
  HeadBytes bytes{};
  put(bytes, kAtMagic, kMagic);
  put(bytes, kAtVersion, kFrameVersion);
  put(bytes, kAtKind, static_cast<std::uint8_t>(head.kind));
  put(bytes, kAtFlags, head.in_region ? kInRegion : std::uint8_t{0});
  put(bytes, kAtIncarnation, head.incarnation);
  put(bytes, kAtSequence, head.sequence);
  put(bytes, kAtClock, head.clock);
  put(bytes, kAtControl, head.control);
  put(bytes, kAtRegion, head.region);
  put(bytes, kAtOffset, head.offset);
  put(bytes, kAtPayload, head.payload);
  put(bytes, kAtCheck, check_of(bytes));
  return bytes;
}

Result<FrameHead> decode_head(std::span<const std::byte, kHeadSize> bytes) {
  // Magic and version come before the checksum: other versions may compute another one, strangers none.
  if (get<std::uint32_t>(bytes, kAtMagic) != kMagic) return corrupt("this is no Yoke peer");
  if (const auto version = get<std::uint16_t>(bytes, kAtVersion); version != kFrameVersion)
    return corrupt("speaks frame version " + std::to_string(version) + ", this program " +
                   std::to_string(kFrameVersion));
  if (get<std::uint32_t>(bytes, kAtCheck) != check_of(bytes)) return corrupt("the checksum of a frame's head is wrong");

  const auto kind = get<std::uint8_t>(bytes, kAtKind);
  if (kind == 0 || kind > kLastKind) return corrupt("there is no frame of kind " + std::to_string(kind));
  const auto flags = get<std::uint8_t>(bytes, kAtFlags);
  if ((flags & ~kInRegion) != 0) return corrupt("a frame has unknown flags: " + std::to_string(flags));
  if (get<std::uint32_t>(bytes, kAtReserved) != 0) return corrupt("the reserved bytes of a frame's head are not zero");

  FrameHead head;
  head.kind = static_cast<FrameKind>(kind);
  head.in_region = (flags & kInRegion) != 0;
  head.incarnation = get<std::uint64_t>(bytes, kAtIncarnation);
  head.sequence = get<std::uint64_t>(bytes, kAtSequence);
  head.clock = get<std::uint64_t>(bytes, kAtClock);
  head.control = get<std::uint32_t>(bytes, kAtControl);
  head.region = get<std::uint32_t>(bytes, kAtRegion);
  head.offset = get<std::uint64_t>(bytes, kAtOffset);
  head.payload = get<std::uint64_t>(bytes, kAtPayload);
  if (auto fine = check(head); !fine) return fine.error();
  return head;
}

bool is_other_version(std::span<const std::byte, kHeadSize> bytes) {
  return get<std::uint32_t>(bytes, kAtMagic) == kMagic && get<std::uint16_t>(bytes, kAtVersion) != kFrameVersion;
}

}  // namespace yoke::wire
