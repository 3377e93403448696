#include "cluster/watch.h"

#include <fmt/format.h>

#include "cluster/identity.h"
#include "cluster/inquiry.h"

namespace yoke::cluster {

Result<wire::Account> ask_account(const std::string& address, const std::string& container,
                                  const security::Credentials& credentials, Duration deadline) {
  auto identity = this_process(wire::Role::watcher, 0);
  identity.job = container;
  auto answer = inquire(address, identity, wire::AskAccount{}, credentials, deadline);
  // A coordinator: its first server has the account.
  if (const auto* first = answer ? std::get_if<wire::Elsewhere>(&*answer) : nullptr)
    answer = inquire(std::string(first->address), identity, wire::AskAccount{}, credentials, deadline);
  if (!answer) return answer.error();
  if (auto* account = std::get_if<wire::Account>(&*answer)) return std::move(*account);
  return Error{Code::corrupt, fmt::format("{} answers something else than how it goes", address)};
}

}  // namespace yoke::cluster
