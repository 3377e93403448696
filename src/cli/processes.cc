#include "cli/processes.h"

#include <fmt/format.h>

#include <cstdlib>

#include "launch/own_address.h"

namespace yoke::cli {

Result<launch::Surroundings> surroundings() {
  return launch::find_surroundings([](const char* name) { return static_cast<const char*>(std::getenv(name)); });
}

void add_container_flags(CLI::App& command, Options& options, std::string* join) {
  const std::string group = "Processes";
  command
      .add_option("--container", options.processes.container,
                  "train in this container on servers of `yoke serve`: what it has is gone on with, what comes out "
                  "stays there")
      ->type_name("NAME")
      ->envname(kContainerVariable)
      ->group(group);
  if (!join) return;
  command.add_option("--join", *join, "with --container: where the first of these servers listens")
      ->type_name("ADDRESS")
      ->group(group);
}

Status check_one_of_many(const TrainFlags& flags) {
  const auto validation = data::parse_validation(flags.validation);
  if (validation && validation->folds > 0)
    return Error{Code::invalid_argument,
                 "k-fold validation trains several times, and this is one job of many processes: use `yoke train`"};
  if (flags.check)
    return Error{Code::invalid_argument,
                 "--check needs every process's part: say --history FILE to each, and `yoke check FILE...` at the end"};
  return {};
}

namespace {

// A newcomer of a mirrored job, which takes its state from those that it finds.
Status come_to_members(Options& options) {
  auto& processes = options.processes;
  auto members = launch::split_addresses(processes.join);
  if (!members) return members.error();
  processes.members = std::move(*members);
  processes.join = processes.members.front();
  processes.hosts_of = options.replicas;
  processes.hosts_shard = processes.replica.value_or(0);  // without a number: the members say which
  if (!processes.listen.empty()) return {};
  auto listen = launch::newcomers_address(processes.members, processes.replica);
  if (!listen) return listen.error();
  processes.listen = *listen;
  return {};
}

// A mirrored job begins where replica 0 listens.
Status check_one_address(const Processes& processes) {
  const auto addresses = launch::split_addresses(processes.join);
  if (!addresses) return addresses.error();
  if (addresses->size() == 1) return {};
  return Error{Code::invalid_argument,
               fmt::format("--join {}: a mirrored job begins at one address, where replica 0 listens. In one that runs "
                           "already take a free seat (leave out --replica {}), or the former one (--again)",
                           processes.join, *processes.replica)};
}

}  // namespace

Status host_what_is_needed(bool servers_elsewhere, bool again, Options& options) {
  auto& processes = options.processes;
  const bool mirrored = options.strategy == Strategy::mirrored;
  if (!mirrored && servers_elsewhere && !processes.listen.empty())
    return Error{
        Code::invalid_argument,
        "--listen is of mirrored, where every replica hosts a slice; under sync and async servers do: leave it "
        "out"};
  if (processes.join.empty() || (!mirrored && servers_elsewhere)) return {};
  if (mirrored && (again || !processes.replica)) return come_to_members(options);
  if (mirrored)
    if (auto one = check_one_address(processes); !one) return one;
  processes.hosts_of = mirrored ? options.replicas : std::min(options.shards, options.replicas);
  processes.hosts_shard = *processes.replica;
  if (processes.hosts_shard >= processes.hosts_of) return {};
  if (!processes.listen.empty()) return {};
  auto listen = launch::own_address(processes.join, *processes.replica);
  if (!listen) return listen.error();
  processes.listen = *listen;
  return {};
}

Status take_place(const launch::Surroundings& found, bool replicas_given, Options& options) {
  using Kind = launch::Surroundings::Kind;
  if (found.kind == Kind::none || (found.kind == Kind::torchrun && found.replicas == 1)) return {};
  options.processes.join = found.join;
  options.processes.replica = found.replica;
  if (options.processes.listen.empty()) options.processes.listen = found.listen;
  // A program of the user's own has no flags for these.
  if (const char* coordinator = std::getenv(kCoordinatorVariable); coordinator && found.kind == Kind::yoke)
    options.processes.coordinator = coordinator;
  if (const char* container = std::getenv(kContainerVariable); container && found.kind == Kind::yoke)
    options.processes.container = container;
  if (found.replicas) {
    if (replicas_given && options.replicas != *found.replicas)
      return Error{Code::invalid_argument, fmt::format("--replicas {}, but WORLD_SIZE says {}: leave out --replicas",
                                                       options.replicas, *found.replicas)};
    options.replicas = *found.replicas;
  }
  return host_what_is_needed(found.kind == Kind::yoke, found.again, options);
}

}  // namespace yoke::cli
