#include "launch/own_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "transport/address.h"

namespace yoke::launch {
namespace {

// The address that the kernel would send from: a datagram socket that is connected sends nothing.
Result<std::string> host_towards(const transport::Address& join) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (const int why = getaddrinfo(join.host.c_str(), join.port.c_str(), &hints, &found); why != 0)
    return Error{Code::missing, fmt::format("{}: the host is not known: {}", to_string(join), gai_strerror(why))};
  std::string host;
  int why = 0;
  for (const auto* one = found; one && host.empty(); one = one->ai_next) {
    const int fd = socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[INET6_ADDRSTRLEN] = "";
    if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0) {
      const void* at = own.ss_family == AF_INET6
                           ? static_cast<const void*>(&reinterpret_cast<sockaddr_in6&>(own).sin6_addr)
                           : static_cast<const void*>(&reinterpret_cast<sockaddr_in&>(own).sin_addr);
      if (inet_ntop(own.ss_family, at, text, sizeof text)) host = text;
    } else {
      why = errno;
    }
    if (fd >= 0) close(fd);
  }
  freeaddrinfo(found);
  if (host.empty())
    return Error{Code::missing, fmt::format("{} cannot be reached from here: {}", to_string(join), std::strerror(why))};
  return host;
}

}  // namespace

Result<std::string> own_address(const std::string& join, std::uint32_t replica) {
  auto address = transport::parse_address(join);
  if (!address) return address.error();
  if (replica == 0) return join;
  if (address->kind == transport::Address::Kind::tcp) {
    auto host = host_towards(*address);
    if (!host) return host.error();
    address->host = *host;
    address->port = "0";
  } else {
    address->path += fmt::format(".{}", replica);
  }
  return to_string(*address);
}

Result<std::string> free_loopback_address() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in own{};
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof own;
  const bool bound = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&own), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0;
  const int why = errno;
  if (fd >= 0) close(fd);
  if (!bound) return Error{Code::unsupported, fmt::format("no port can be had on 127.0.0.1: {}", std::strerror(why))};
  return fmt::format("tcp:127.0.0.1:{}", ntohs(own.sin_port));
}

}  // namespace yoke::launch
