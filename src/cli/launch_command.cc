#include "cli/launch_command.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/config_file.h"
#include "cli/exit_status.h"
#include "cli/job_flags.h"
#include "cli/launching.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "launch/place.h"
#include "launch/words.h"

namespace yoke::cli {
namespace {

struct LaunchFlags {
  TrainFlags train;
  std::optional<std::uint32_t> servers, servers_per_node;
  std::uint32_t server_nodes = 0;
  std::optional<std::uint32_t> backups;
  std::string transport = "shm", bind = "auto", rank, meet, host, join, store;
};

const char* variable(const char* name) { return std::getenv(name); }

launch::RolesAsked roles_of(const LaunchFlags& flags, bool replicas_given) {
  const auto& options = flags.train.options;
  launch::RolesAsked roles;
  roles.mirrored = options.strategy == Strategy::mirrored;
  roles.served = !options.processes.container.empty();
  if (replicas_given) roles.replicas = options.replicas;
  roles.servers = flags.servers;
  roles.servers_per_node = flags.servers_per_node;
  roles.server_nodes = flags.server_nodes;
  const bool said = flags.servers || flags.servers_per_node || flags.server_nodes > 0;
  if (!roles.mirrored && !roles.served && !said) roles.servers = options.shards;
  return roles;
}

// A job of one machine has all parts of its history at hand at the end.
Status check_in_cluster(const TrainFlags& flags) {
  if (!flags.options.processes.container.empty())
    return Error{Code::invalid_argument,
                 "--container: its servers run already, so there is nothing to launch together: let every rank run "
                 "`yoke replica` with the same --container and --join"};
  if (!flags.check) return {};
  return Error{Code::invalid_argument,
               "--check needs the histories of all processes, and they are on several ranks: say --history FILE, and "
               "hold `yoke check FILE.*` against what the ranks have written"};
}

Status check_backups(const LaunchPlan& plan, bool alone) {
  if (!plan.backups) {
    if (plan.store.empty()) return {};
    return Error{Code::invalid_argument,
                 "--store is where a coordinator keeps its views: say --backups 1 (or 0) as well"};
  }
  if (plan.roles.mirrored)
    return Error{Code::invalid_argument,
                 "--backups is of sync and async: under mirrored every slice of the parameters is held twice anyway"};
  if (plan.roles.served)
    return Error{Code::invalid_argument, "--backups: the servers of a container run already, and have none"};
  if (!alone)
    return Error{Code::unsupported,
                 "--backups on several ranks: start `yoke coordinator`, `yoke server --coordinator` and `yoke replica "
                 "--coordinator` by themselves (docs/failover.md shows how)"};
  if (*plan.backups == 0 && plan.flags.options.checkpoints.folder.empty())
    return Error{
        Code::invalid_argument,
        "--backups 0: where no replica has what is lost with a server it comes from a checkpoint: say --checkpoint DIR "
        "as well"};
  return {};
}

// A program of the user's own takes the flags of the job, and no others: what it trains is its own business.
Status check_for_program(const std::vector<std::string>& words, const std::string& container) {
  Options options;
  options.processes.container = container;
  CLI::App app;
  add_program_flags(app, options);
  auto reversed = words;
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::ExtrasError&) {
    return Error{Code::invalid_argument,
                 fmt::format("'{}' is no flag that a program of your own takes from the launcher (those of data, model "
                             "and files are the program's business): give it behind the program's name",
                             app.remaining().empty() ? "?" : app.remaining().front())};
  } catch (const CLI::ParseError& problem) {
    return Error{Code::invalid_argument, problem.what()};
  }
  return check_job(options);
}

int run(LaunchFlags& flags, CLI::App& command, const std::vector<std::string>& typed,
        const std::vector<std::string>& words, const std::vector<std::string>& program) {
  LaunchPlan plan;
  std::vector<std::string> own{"--servers", "--servers-per-node", "--server-nodes", "--rank",   "--meet",
                               "--host",    "--transport",        "--history",      "--config", "--container",
                               "--join",    "--restarts",         "--backups",      "--store",  "--bind"};
  own.insert(own.end(), std::begin(kSecurityFlags), std::end(kSecurityFlags));
  plan.words = without_flags(words, own, {"--check", "--print-config", kInsecureFlag});
  const auto place = launch::find_place(variable, {launch::this_node(), flags.rank, flags.meet});
  if (!place) return fail(place.error());
  plan.place = *place;
  const bool alone = place->kind == launch::Place::Kind::none;
  const bool replicas_given = command.get_option("--replicas")->count() > 0;
  // Once the ranks have met it is known which of them have servers only.
  if (!alone && !replicas_given) flags.train.options.replicas = place->ranks;
  if (program.empty()) {
    if (auto checked = complete(flags.train, command); !checked) return fail(checked.error());
  } else if (auto checked = check_for_program(plan.words, flags.train.options.processes.container); !checked) {
    return fail(checked.error());
  }
  if (flags.train.print_config) {
    fmt::print("{}", to_config(command));
    return kDone;
  }
  if (!alone)
    if (auto checked = check_in_cluster(flags.train); !checked) return fail(checked.error());
  plan.roles = roles_of(flags, replicas_given || alone);
  plan.meet = flags.meet;
  plan.host = flags.host;
  if (auto checked = check_container(flags.train, flags.join); !checked) return fail(checked.error());
  plan.flags = flags.train;
  plan.join = flags.join;
  plan.transport = flags.transport;
  plan.bind = flags.bind == "auto";
  plan.backups = flags.backups;
  plan.store = flags.store;
  if (auto checked = check_backups(plan, alone); !checked) return fail(checked.error());
  plan.program = program;
  plan.typed = {"launch"};
  plan.typed.insert(plan.typed.end(), typed.begin(), typed.end());
  if (!program.empty()) {
    plan.typed.push_back("--");
    plan.typed.insert(plan.typed.end(), program.begin(), program.end());
  }
  return run_launch(plan);
}

}  // namespace

void add_launch(CLI::App& app, const std::vector<std::string>& typed, const std::vector<std::string>& words,
                const std::vector<std::string>& program, int& status) {
  auto flags = std::make_shared<LaunchFlags>();
  auto* command = app.add_subcommand(
      "launch",
      "Train with every replica a process of its own, and servers that host the parameters: all on this machine, or, "
      "where mpirun, srun or a Kubernetes Job has started this command many times, each time a part of the job. Takes "
      "the flags of `yoke train`. Behind `--` stands a program of your own, built with the library: then that is each "
      "replica.");
  command->footer(
      std::string(
          "Examples:\n"
          "  yoke launch --servers 2 --replicas 4 --strategy sync --spares 1  Fashion-MNIST over shared memory\n"
          "  yoke launch --strategy mirrored --replicas 2  all-reduce, no servers\n"
          "  yoke launch --container fashion --join 10.0.0.1:7000  in a container of servers that run already\n"
          "  yoke launch --servers 2 --replicas 4 -- ./digits --epochs 3  a program of your own\n"
          "  yoke launch --replicas 8 --spares 1 --model synthetic:1M:20ms --steps 500 --slow 0:10 --check\n"
          "  mpirun -n 6 yoke launch  a replica a rank, wherever mpirun puts them\n"
          "  srun -n 6 yoke launch --servers-per-node 1  the same under Slurm, with a server on every node\n"
          "\n") +
      kExitStatusHelp);
  const std::string group = "Processes";
  command
      ->add_option("--servers", flags->servers,
                   "processes that host the parameters; by default as --shards says, none under mirrored")
      ->check(CLI::Range(0u, 4096u))
      ->group(group);
  command
      ->add_option("--backups", flags->backups,
                   "1: every server has a backup, which takes its place when it is lost; 0: what is lost with a server "
                   "comes from a replica that has it, or all go back to the newest checkpoint. Both start what is lost "
                   "again. By default a lost server ends the job")
      ->check(CLI::Range(0u, 1u))
      ->group(group);
  command
      ->add_option("--store", flags->store,
                   "with --backups: where the coordinator keeps what it has decided, a folder or "
                   "etcd://HOST:PORT[,HOST:PORT...]/NAME; by default in a temporary folder")
      ->type_name("WHERE")
      ->group(group);
  command
      ->add_option("--transport", flags->transport,
                   "how processes of one node talk: shared memory, Unix sockets, TCP on 127.0.0.1. Several nodes: TCP")
      ->check(CLI::IsMember({"shm", "unix", "tcp"}))
      ->type_name("shm|unix|tcp")
      ->capture_default_str()
      ->group(group);
  command
      ->add_option("--bind", flags->bind,
                   "auto: under mirrored, where there are just as many cores as replicas, each replica runs on one of "
                   "them alone; no: wherever there is room")
      ->check(CLI::IsMember({"auto", "no"}))
      ->type_name("auto|no")
      ->capture_default_str()
      ->group(group);
  const std::string nodes = "Many nodes";
  command
      ->add_option("--servers-per-node", flags->servers_per_node,
                   "so many servers on every node, instead of --servers in all")
      ->check(CLI::Range(0u, 4096u))
      ->group(nodes);
  command->add_option("--server-nodes", flags->server_nodes, "so many nodes, the first, have servers and no replicas")
      ->check(CLI::Range(0u, 65536u))
      ->group(nodes);
  command
      ->add_option("--host", flags->host,
                   "the address of this host at which the others reach it; by default that of its name or its first "
                   "interface")
      ->type_name("ADDRESS")
      ->group(nodes);
  command
      ->add_option("--rank", flags->rank,
                   "which of the launchers this is, of how many, as in 0/2; mpirun, srun and Kubernetes say it "
                   "themselves")
      ->type_name("I/N")
      ->group(nodes);
  command->add_option("--meet", flags->meet, "a folder that all launchers see, where they find each other")
      ->type_name("DIR")
      ->group(nodes);
  add_restarts_flag(*command, flags->train);
  add_container_flags(*command, flags->train.options, &flags->join);
  add_security_flags(*command, flags->train.options.processes.security);
  add_train_flags(*command, flags->train);
  command->callback(
      [flags, command, &typed, &words, &program, &status] { status = run(*flags, *command, typed, words, program); });
}

}  // namespace yoke::cli
