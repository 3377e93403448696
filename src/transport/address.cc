#include "transport/address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>

namespace yoke::transport {
namespace {

Error wrong(const std::string& text, const std::string& why) {
  return {Code::invalid_argument,
          fmt::format("'{}' is no address: {}; it is HOST:PORT (or tcp:HOST:PORT), unix:PATH or shm:PATH", text, why)};
}

bool is_port(const std::string& text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         std::atoi(text.c_str()) <= 65535;
}

}  // namespace

Result<Address> parse_address(const std::string& text) {
  for (const auto& [name, kind] :
       {std::pair{"shm:", Address::Kind::shm}, std::pair{"unix:", Address::Kind::unix_socket}}) {
    if (!text.starts_with(name)) continue;
    Address address{kind, "", "", text.substr(std::string(name).size())};
    if (address.path.empty()) return wrong(text, "the path is missing");
    if (address.path.size() >= sizeof(sockaddr_un::sun_path))
      return wrong(text, fmt::format("the path of a Unix socket has at most {} characters, this one {}",
                                     sizeof(sockaddr_un::sun_path) - 1, address.path.size()));
    return address;
  }
  auto rest = text.starts_with("tcp:") ? text.substr(4) : text;
  const auto colon = rest.rfind(':');
  if (colon == std::string::npos) return wrong(text, "the port is missing");
  Address address{Address::Kind::tcp, rest.substr(0, colon), rest.substr(colon + 1), ""};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  else if (address.host.find(':') != std::string::npos)
    return wrong(text, "an IPv6 address stands in brackets");
  if (address.host.empty()) return wrong(text, "the host is missing");
  if (!is_port(address.port)) return wrong(text, fmt::format("'{}' is no port", address.port));
  return address;
}

std::string to_string(const Address& address) {
  if (address.kind == Address::Kind::tcp)
    return address.host.find(':') == std::string::npos ? fmt::format("tcp:{}:{}", address.host, address.port)
                                                       : fmt::format("tcp:[{}]:{}", address.host, address.port);
  return (address.kind == Address::Kind::shm ? "shm:" : "unix:") + address.path;
}

}  // namespace yoke::transport
