// Any bytes as what comes from somebody who is not known yet, and who has not the secret: he is never let in, never
// takes more than a kilobyte, and hears nothing before he has said something of ours.
#include <cstdint>
#include <span>
#include <vector>

#include "transport/handshake.h"
#include "wire/checksum.h"

namespace {

using namespace yoke;
using transport::Handshake;

constexpr std::size_t kKilobyte = 1024;

const security::Secret::Ptr& secret() {
  static const auto made = security::Secret::make().or_throw();
  return made;
}

// The bytes cut into frames whose heads and checksums are right, or few would come further than these: each begins with
// a byte for its kind and one for its length.
std::vector<std::byte> framed(std::span<const std::byte> bytes) {
  std::vector<std::byte> all;
  while (bytes.size() >= 2) {
    wire::FrameHead head;
    head.kind = static_cast<wire::FrameKind>(1 + std::to_integer<unsigned>(bytes[0]) % wire::kLastKind);
    head.incarnation = std::to_integer<unsigned>(bytes[0]) / 128;
    const auto size = std::min<std::size_t>(bytes.size() - 2, std::to_integer<std::size_t>(bytes[1]));
    head.control = static_cast<std::uint32_t>(size);
    const auto control = bytes.subspan(2, size);
    const auto encoded = wire::encode_head(head);
    all.insert(all.end(), encoded.begin(), encoded.end());
    all.insert(all.end(), control.begin(), control.end());
    wire::Checksum sum;
    sum.add(control);
    for (unsigned i = 0; i < 8; ++i) all.push_back(static_cast<std::byte>(sum.value() >> (8 * i)));
    bytes = bytes.subspan(2 + size);
  }
  return all;
}

void feed(Handshake handshake, std::span<const std::byte> bytes, bool dials) {
  if (handshake.take_output().empty() == dials) __builtin_trap();
  std::size_t taken = 0;
  while (handshake.state() == Handshake::State::going && !bytes.empty()) {
    const auto place = handshake.want();
    if (place.empty() || place.size() > kKilobyte) __builtin_trap();
    const auto here = std::min(place.size(), bytes.size());
    std::copy_n(bytes.begin(), here, place.begin());
    handshake.filled(here);
    bytes = bytes.subspan(here);
    taken += here;
    if (!dials && taken < wire::kHeadSize && !handshake.take_output().empty()) __builtin_trap();
  }
  if (!dials && taken > kKilobyte) __builtin_trap();
  if (handshake.state() == Handshake::State::done) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto raw = std::as_bytes(std::span(data, size));
  const auto frames = framed(raw);
  for (const auto bytes : {raw, std::span<const std::byte>(frames)}) {
    feed(Handshake::answering({"server", 1, ""}, [](const auto&) { return Result<security::Secret::Ptr>(secret()); }),
         bytes, false);
    feed(Handshake::dialling({"client", 1, ""}, secret()), bytes, true);
  }
  return 0;
}
