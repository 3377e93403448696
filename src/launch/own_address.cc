#include "launch/own_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "launch/descriptor.h"
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

// The address in words; "" for one of the loopback, or one that holds on a single link only.
std::string routable(const sockaddr* address) {
  const auto& four = reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  const auto number = ntohl(four.s_addr);
  char text[INET_ADDRSTRLEN] = "";
  if (number >> 24 == 127 || number >> 16 == 0xa9fe || number == 0) return "";
  return inet_ntop(AF_INET, &four, text, sizeof text) ? text : "";
}

// A socket next to that address, or any free port of the host's address with which it reaches that.
Result<std::string> beside(transport::Address address, const std::string& name) {
  if (address.kind == transport::Address::Kind::tcp) {
    auto host = host_towards(address);
    if (!host) return host.error();
    address.host = *host;
    address.port = "0";
  } else {
    address.path += "." + name;
  }
  return to_string(address);
}

}  // namespace

Result<std::string> own_address(const std::string& join, std::uint32_t replica) {
  auto address = transport::parse_address(join);
  if (!address) return address.error();
  return replica == 0 ? join : beside(std::move(*address), std::to_string(replica));
}

Result<std::string> newcomers_address(const std::vector<std::string>& members, std::optional<std::uint32_t> replica) {
  // Nobody else has the number of a process that lives.
  const auto name = replica ? std::to_string(*replica) : fmt::format("p{}", getpid());
  Result<std::string> found = Error{Code::invalid_argument, "no member of the job is named"};
  for (const auto& member : members) {
    auto address = transport::parse_address(member);
    if (!address) return address.error();
    found = beside(std::move(*address), name);
    if (found) break;
  }
  return found;
}

Result<std::vector<std::string>> split_addresses(const std::string& list) {
  std::vector<std::string> found;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    auto one = list.substr(begin, end - begin);
    begin = end + 1;
    const auto address = transport::parse_address(one);
    if (address) {
      found.push_back(std::move(one));
    } else if (!found.empty() && !transport::parse_address(found.back())->path.empty()) {
      found.back() += "," + one;
    } else {
      return address.error();
    }
  }
  return found;
}

Result<std::vector<std::string>> free_addresses(const std::string& host, std::size_t count) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  if (const int why = getaddrinfo(host.c_str(), "0", &hints, &found); why != 0)
    return Error{Code::missing, fmt::format("{} is no address of a host: {}", host, gai_strerror(why))};
  std::vector<std::string> addresses;
  std::vector<Descriptor> held;  // until all are found: no two get the same
  int why = 0;
  while (addresses.size() < count && why == 0) {
    Descriptor fd(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (fd && bind(fd.get(), found->ai_addr, found->ai_addrlen) == 0 &&
        getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0) {
      // Both kinds have it in the same place.
      const auto port = ntohs(reinterpret_cast<const sockaddr_in&>(own).sin_port);
      addresses.push_back(to_string(transport::Address{
          .kind = transport::Address::Kind::tcp, .host = host, .port = std::to_string(port), .path = ""}));
      held.push_back(std::move(fd));
    } else {
      why = errno;
    }
  }
  freeaddrinfo(found);
  if (why != 0) return Error{Code::unsupported, fmt::format("no port can be had on {}: {}", host, std::strerror(why))};
  return addresses;
}

bool is_known(const std::string& address) {
  const auto parsed = transport::parse_address(address);
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (!parsed || getaddrinfo(parsed->host.c_str(), parsed->port.c_str(), &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

std::string reachable_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  addrinfo hints{}, *found = nullptr;
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  std::string host;
  if (getaddrinfo(name, nullptr, &hints, &found) == 0) {
    for (const auto* one = found; one && host.empty(); one = one->ai_next) host = routable(one->ai_addr);
    freeaddrinfo(found);
  }
  ifaddrs* interfaces = nullptr;
  if (host.empty() && getifaddrs(&interfaces) == 0) {
    for (const auto* one = interfaces; one && host.empty(); one = one->ifa_next)
      if (one->ifa_addr && one->ifa_addr->sa_family == AF_INET && (one->ifa_flags & IFF_UP) != 0)
        host = routable(one->ifa_addr);
    freeifaddrs(interfaces);
  }
  return host.empty() ? "127.0.0.1" : host;
}

}  // namespace yoke::launch
