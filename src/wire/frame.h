// The frame: what every connection between processes carries. A head of fixed size, a control part, a payload, and (on
// sockets) a checksum of the latter two. All numbers are little endian. docs/protocol.md has the table.
//
// The payload lies behind the control part, or (shared memory) in a region that the sender has announced: then the head
// says where, and nothing of it is on the socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "yoke/error.h"

namespace yoke::wire {

inline constexpr std::uint32_t kMagic = 0x454b4f59;  // "YOKE"
inline constexpr std::uint16_t kFrameVersion = 2;
inline constexpr std::size_t kHeadSize = 64;
inline constexpr std::size_t kCheckSize = 8;
inline constexpr std::size_t kMaxControl = 16u << 20;
inline constexpr std::size_t kMaxPayload = 64u << 20;
// Before the other side has proven who it is, it may send a kilobyte in all: its introduction, and the proof.
inline constexpr std::size_t kNonceSize = 32;
inline constexpr std::size_t kProofSize = 32;
inline constexpr std::size_t kMaxFirstControl = 1024 - 2 * (kHeadSize + kCheckSize) - kProofSize;
inline constexpr std::size_t kMaxIntroduction = kMaxFirstControl - kNonceSize;
inline constexpr std::size_t kMaxRefusal = 256;

enum class FrameKind : std::uint8_t {
  introduce = 1,  // control: of whoever dials, a nonce and an Identity; of the other side, its proof and its Identity
  message = 2,    // control: a JobMessage; may have a payload
  release = 3,    // control: the sequence numbers of payloads that are no longer needed, 8 bytes each; offset: bytes of
                  // credit granted besides
  heartbeat = 4,  // sequence: the sender's progress counter
  region = 5,     // shared memory: a descriptor travels with it; region: its number, payload (not there): its size
  challenge = 6,  // control: a nonce; the answer to whoever dials
  prove = 7,      // control: the proof that whoever dials has the secret
  refuse = 8,     // control: why; instead of a challenge or an introduction, and the last thing
};
inline constexpr std::uint8_t kLastKind = 8;

struct FrameHead {
  FrameKind kind = FrameKind::message;
  bool in_region = false;         // the payload lies in region `region` at `offset`, not on the socket
  std::uint64_t incarnation = 0;  // of the sender
  std::uint64_t sequence = 0;     // of a payload: from 1 on each connection; 0: there is none
  std::uint64_t clock = 0;        // the sender's, when it was made, in nanoseconds; never behind what it has seen
  std::uint32_t control = 0;      // bytes
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t payload = 0;  // bytes
  bool operator==(const FrameHead&) const = default;
};

using HeadBytes = std::array<std::byte, kHeadSize>;

HeadBytes encode_head(const FrameHead& head);
// Checks magic, version, checksum, kind and bounds.
Result<FrameHead> decode_head(std::span<const std::byte, kHeadSize> bytes);
// Ours, but of another version than this program's.
bool is_other_version(std::span<const std::byte, kHeadSize> bytes);

}  // namespace yoke::wire
