// Control messages as bytes and back (protobuf; yoke.proto has the format, docs/protocol.md the story). Nothing that is
// received is trusted: numbers out of range, missing parts and unknown kinds are errors, never surprises.
#pragma once

#include <string>
#include <string_view>

#include "wire/job.h"
#include "yoke/error.h"

namespace yoke::wire {

std::string encode(const JobMessage& message);
Result<JobMessage> decode(std::string_view bytes);

std::string encode_identity(const Identity& identity);
Result<Identity> decode_identity(std::string_view bytes);

}  // namespace yoke::wire
