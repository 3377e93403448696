// A stream through TLS 1.3. Records are put together and taken apart in memory of our own, many at a time, so that the
// socket sees few and large reads and writes.
#pragma once

#include <memory>
#include <string>

#include "security/tls.h"
#include "transport/stream.h"

namespace yoke::transport {

// Takes the descriptor over. Who dials gives the name that the other side's certificate must have.
std::unique_ptr<Stream> dial_tls(int fd, const security::Tls& tls, const std::string& name);
std::unique_ptr<Stream> answer_tls(int fd, const security::Tls& tls);

}  // namespace yoke::transport
