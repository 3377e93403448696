// Any bytes as a control message: what is accepted can be sent, and says the same when it comes back.
#include <cstdint>
#include <string_view>

#include "wire/codec.h"

namespace {

using namespace yoke::wire;

void read_message(std::string_view bytes) {
  const auto message = decode(bytes);
  if (!message) return;
  const auto once = encode(*message);
  const auto again = decode(once);
  if (!again || encode(*again) != once) __builtin_trap();
}

void read_identity(std::string_view bytes) {
  const auto identity = decode_identity(bytes);
  if (!identity) return;
  const auto again = decode_identity(encode_identity(*identity));
  if (!again || !(*again == *identity)) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_message(bytes);
  read_identity(bytes);
  return 0;
}
