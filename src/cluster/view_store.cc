#include "cluster/view_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/etcd_store.h"
#include "cluster/view_journal.h"
#include "transport/address.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

constexpr std::string_view kEtcd = "etcd://", kDefaultName = "yoke";
constexpr std::size_t kMaxEndpoints = 16;

Error wrong(std::string_view where, const std::string& why) {
  return {Code::invalid_argument, fmt::format("'{}' is no place for views: {}; name a folder, or "
                                              "etcd://HOST:PORT[,HOST:PORT...]/NAME with the name of the job",
                                              where, why)};
}

Result<std::vector<transport::Address>> parse_endpoints(std::string_view where, std::string_view list) {
  std::vector<transport::Address> endpoints;
  for (std::size_t begin = 0; begin <= list.size();) {
    const auto end = std::min(list.find(',', begin), list.size());
    const std::string text(list.substr(begin, end - begin));
    begin = end + 1;
    if (text.empty()) return wrong(where, "an address of etcd is empty");
    auto address = transport::parse_address("tcp:" + text);  // and so never a path
    if (!address || address->port == "0")
      return wrong(where, fmt::format("'{}' is no HOST:PORT (etcd's own port is 2379; an IPv6 address stands in "
                                      "brackets)",
                                      text));
    endpoints.push_back(std::move(*address));
  }
  if (endpoints.size() > kMaxEndpoints)
    return wrong(where, fmt::format("it has {} addresses, and {} are the most", endpoints.size(), kMaxEndpoints));
  return endpoints;
}

}  // namespace

Result<std::unique_ptr<ViewStore>> open_view_store(const std::string& where) {
  if (where.empty()) return wrong(where, "it is empty");
  if (!where.starts_with(kEtcd)) {
    if (where.find("://") != where.npos || where.starts_with("etcd:"))
      return wrong(where, "etcd:// is the only kind of address there is");
    return open_view_journal(where);
  }
  const auto rest = std::string_view(where).substr(kEtcd.size());
  const auto slash = std::min(rest.find('/'), rest.size());
  auto endpoints = parse_endpoints(where, rest.substr(0, slash));
  if (!endpoints) return endpoints.error();
  auto name = rest.substr(std::min(slash + 1, rest.size()));
  if (name.empty()) name = kDefaultName;
  if (!wire::is_job_name(name))
    return wrong(where, fmt::format("'{}' is no name of a job: up to {} letters, digits and . _ -, of which neither "
                                    "a dot nor a dash comes first",
                                    name, wire::kMaxJobName));
  return open_etcd_store(std::move(*endpoints), std::string(name));
}

}  // namespace yoke::cluster
