#include "launch/surroundings.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "launch/words.h"

namespace yoke::launch {
namespace {

constexpr auto kMost = std::numeric_limits<std::uint32_t>::max();

Result<std::uint32_t> number(const char* name, const std::string& text, std::uint32_t least, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec == std::errc() && read.ptr == end && value >= least && value <= most) return value;
  return Error{Code::invalid_argument,
               fmt::format("{} is '{}': it has to be a whole number from {} to {}", name, text, least, most)};
}

Result<Surroundings> of_yoke(std::string join, const Lookup& lookup) {
  Surroundings found{.kind = Surroundings::Kind::yoke, .join = std::move(join)};
  if (const auto replica = value_of(lookup, kReplicaVariable); !replica.empty()) {
    const auto value = number(kReplicaVariable, replica, 0, kMost - 1);
    if (!value) return value.error();
    found.replica = *value;
  }
  found.listen = value_of(lookup, kListenVariable);
  found.again = !value_of(lookup, kAgainVariable).empty();
  auto flags = split_words(value_of(lookup, kFlagsVariable));
  if (!flags) return Error{flags.error().code, fmt::format("{}: {}", kFlagsVariable, flags.error().message)};
  found.flags = std::move(*flags);
  return found;
}

Result<std::string> torchrun_address(const std::string& host, const std::string& port_text, bool port_taken) {
  const auto port = number("MASTER_PORT", port_text, 1, port_taken ? 65'534 : 65'535);
  if (!port) return port.error();
  const bool bare_v6 = host.find(':') != std::string::npos && host.front() != '[';
  return fmt::format("tcp:{}{}{}:{}", bare_v6 ? "[" : "", host, bare_v6 ? "]" : "", *port + (port_taken ? 1 : 0));
}

}  // namespace

Result<Surroundings> find_surroundings(const Lookup& lookup) {
  if (auto join = value_of(lookup, kJoinVariable); !join.empty()) return of_yoke(std::move(join), lookup);

  const auto rank = value_of(lookup, "RANK"), world = value_of(lookup, "WORLD_SIZE");
  const auto host = value_of(lookup, "MASTER_ADDR"), port = value_of(lookup, "MASTER_PORT");
  // Some of these names are used by others too: alone they mean nothing.
  if (rank.empty() || world.empty()) return Surroundings{};
  const auto replicas = number("WORLD_SIZE", world, 1, kMost);
  if (!replicas) return replicas.error();
  const auto replica = number("RANK", rank, 0, *replicas - 1);
  if (!replica) return replica.error();
  if (host.empty() || port.empty()) {
    if (*replicas == 1) return Surroundings{};
    return Error{Code::invalid_argument,
                 fmt::format("RANK and WORLD_SIZE are set, {} is not: the {} replicas would not find each other",
                             host.empty() ? "MASTER_ADDR" : "MASTER_PORT", *replicas)};
  }
  const bool port_taken = value_of(lookup, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  auto join = torchrun_address(host, port, port_taken);
  if (!join) return join.error();
  return Surroundings{Surroundings::Kind::torchrun, std::move(*join), *replica, *replicas, {}};
}

std::vector<std::string> to_environment(const Surroundings& surroundings) {
  std::vector<std::string> variables{fmt::format("{}={}", kJoinVariable, surroundings.join)};
  if (surroundings.replica) variables.push_back(fmt::format("{}={}", kReplicaVariable, *surroundings.replica));
  if (!surroundings.flags.empty())
    variables.push_back(fmt::format("{}={}", kFlagsVariable, join_words(surroundings.flags)));
  // Said also where there is nothing to say: the launcher may have been started by another one's replica.
  variables.push_back(fmt::format("{}={}", kListenVariable, surroundings.listen));
  variables.push_back(fmt::format("{}={}", kAgainVariable, surroundings.again ? "1" : ""));
  return variables;
}

}  // namespace yoke::launch
