// Where a process listens, in words: shm:/run/job/s0 (this host, payload in shared memory), unix:/run/job/s0,
// tcp:10.0.0.1:7000 or plain 10.0.0.1:7000, tcp:[::1]:7000.
#pragma once

#include <string>

#include "yoke/error.h"

namespace yoke::transport {

struct Address {
  enum class Kind { shm, unix_socket, tcp };
  Kind kind = Kind::tcp;
  std::string host;  // tcp
  std::string port;  // tcp; "0": whichever is free (to listen)
  std::string path;  // the others
  bool operator==(const Address&) const = default;
};

Result<Address> parse_address(const std::string& text);
std::string to_string(const Address& address);

}  // namespace yoke::transport
