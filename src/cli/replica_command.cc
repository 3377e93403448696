#include "cli/replica_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/checkpoint_flags.h"
#include "cli/config_file.h"
#include "cli/exit_status.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "cli/train_flags.h"
#include "cli/training.h"

namespace yoke::cli {
namespace {

struct ReplicaFlags {
  TrainFlags train;
  std::string join, listen, coordinator;
  std::optional<std::uint32_t> replica;
  bool again = false;
};

Status check_again(const ReplicaFlags& flags) {
  if (!flags.again) return {};
  if (flags.train.options.strategy != Strategy::mirrored)
    return Error{Code::invalid_argument,
                 "--again is of mirrored; under sync and async the servers know who was there before: leave it out"};
  if (flags.join.empty() || !flags.replica)
    return Error{Code::invalid_argument,
                 "--again: say with --join ADDRESS,... where other replicas of the job listen, and with --replica I "
                 "which one this was; one that was never there takes a free seat without both --again and --replica"};
  return {};
}

Status place(const ReplicaFlags& flags, bool replicas_given, Options& options) {
  if (auto checked = check_again(flags); !checked) return checked;
  options.processes.listen = flags.listen;
  if (!flags.coordinator.empty()) {
    if (options.strategy == Strategy::mirrored)
      return Error{
          Code::invalid_argument,
          "--coordinator is of sync and async: under mirrored the replicas host the parameters, and need none"};
    options.processes.coordinator = options.processes.join = flags.coordinator;
    options.processes.replica = flags.replica;
  } else if (flags.join.empty()) {
    const auto found = surroundings();
    if (!found) return found.error();
    if (found->kind == launch::Surroundings::Kind::none)
      return Error{
          Code::invalid_argument,
          "say with --join ADDRESS where the job's first server listens (or have RANK, WORLD_SIZE, MASTER_ADDR "
          "and MASTER_PORT set)"};
    if (auto placed = take_place(*found, replicas_given, options); !placed) return placed;
  } else {
    options.processes.join = flags.join;
    options.processes.replica = flags.replica;
    if (auto hosted = host_what_is_needed(true, flags.again, options); !hosted) return hosted;
  }
  if (const auto replica = options.processes.replica; replica && *replica >= options.replicas)
    return Error{Code::invalid_argument,
                 fmt::format("--replica {}: there are {} replicas, numbered from 0", *replica, options.replicas)};
  return {};
}

int run(ReplicaFlags& flags, CLI::App& command, const std::vector<std::string>& words) {
  auto& train = flags.train;
  if (const auto checked = complete(train, command); !checked) return fail(checked.error());
  if (train.print_config) {
    fmt::print("{}", to_config(command));
    return kDone;
  }
  if (auto checked = check_one_of_many(train); !checked) return fail(checked.error());
  if (auto placed = place(flags, command.get_option("--replicas")->count() > 0, train.options); !placed)
    return fail(placed.error());
  std::vector<std::string> own{"replica"};
  own.insert(own.end(), words.begin(), words.end());
  return run_training(train, words_typed(own));
}

}  // namespace

void add_replica(CLI::App& app, const std::vector<std::string>& words, int& status) {
  auto flags = std::make_shared<ReplicaFlags>();
  auto* command = app.add_subcommand(
      "replica",
      "Be one replica of a job whose servers run already. Takes the flags of `yoke train`, the same for every replica; "
      "the chief (number 0) shows the progress and writes the files. (`yoke launch` starts replicas by itself.)");
  command->footer(
      "Examples:\n"
      "  yoke replica --join 10.0.0.1:7000 --replicas 4 --data fashion-mnist  beside servers, on any host\n"
      "  yoke replica --join 10.0.0.1:7000 --strategy mirrored --replicas 2 --replica 0  no servers: number 0 listens "
      "there\n"
      "  yoke replica --join 10.0.0.1:7000,10.0.0.2:7001 --strategy mirrored --replicas 2  takes a free seat in a job "
      "that runs\n"
      "  torchrun --no_python --nproc_per_node 2 yoke replica --strategy mirrored  its variables say where and which");
  const std::string group = "Processes";
  command
      ->add_option("--join", flags->join,
                   "where the first server listens; mirrored: where replica 0 does, or, to come to a job that runs "
                   "already, where some of its replicas do, with commas between them")
      ->type_name("ADDRESS")
      ->group(group);
  command
      ->add_option("--coordinator", flags->coordinator,
                   "where the job's coordinator listens, who knows where the servers are, also when they change")
      ->type_name("ADDRESS")
      ->group(group);
  command
      ->add_option(
          "--replica", flags->replica,
          "which one this is, from 0; by default the first server says. Mirrored without it: come to a job that "
          "runs already, and take a free seat")
      ->group(group);
  command
      ->add_flag("--again", flags->again,
                 "mirrored: this is not the first life of --replica in this job; the others have its state")
      ->group(group);
  add_container_flags(*command, flags->train.options, nullptr);
  command
      ->add_option("--listen", flags->listen, "mirrored: where this replica's slice is found; by default beside --join")
      ->type_name("ADDRESS")
      ->group(group);
  add_security_flags(*command, flags->train.options.processes.security);
  add_train_flags(*command, flags->train);
  command->callback([flags, command, &words, &status] { status = run(*flags, *command, words); });
}

}  // namespace yoke::cli
