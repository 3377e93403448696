#include "cli/launch_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/config_file.h"
#include "cli/exit_status.h"
#include "cli/job_flags.h"
#include "cli/launching.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "launch/words.h"

namespace yoke::cli {
namespace {

struct LaunchFlags {
  TrainFlags train;
  std::optional<std::uint32_t> servers;
  std::string transport = "shm", join;
};

Result<std::uint32_t> servers_of(const LaunchFlags& flags) {
  const auto& options = flags.train.options;
  if (options.strategy == Strategy::mirrored) {
    if (flags.servers.value_or(0) > 0)
      return Error{Code::invalid_argument,
                   fmt::format("--servers {}: mirrored has no servers, every replica hosts a slice of the parameters; "
                               "leave it out, or use --strategy sync",
                               *flags.servers)};
    return 0u;
  }
  if (!options.processes.container.empty()) {
    if (flags.servers)
      return Error{Code::invalid_argument, "--servers: the servers of a container run already: leave it out"};
    return 0u;
  }
  const auto servers = flags.servers.value_or(options.shards);
  if (servers == 0)
    return Error{Code::invalid_argument, "--servers 0: sync and async need at least 1; --strategy mirrored needs none"};
  return servers;
}

// A program of the user's own takes the flags of the job, and no others: what it trains is its own business.
Status check_for_program(const std::vector<std::string>& words) {
  Options options;
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
  std::vector<std::string> own{"--servers", "--transport", "--history", "--config", "--container", "--join"};
  own.insert(own.end(), std::begin(kSecurityFlags), std::end(kSecurityFlags));
  plan.words = without_flags(words, own, {"--check", "--print-config", kInsecureFlag});
  if (program.empty()) {
    if (auto checked = complete(flags.train, command); !checked) return fail(checked.error());
  } else if (auto checked = check_for_program(plan.words); !checked) {
    return fail(checked.error());
  }
  if (flags.train.print_config) {
    fmt::print("{}", to_config(command));
    return kDone;
  }
  if (auto checked = check_container(flags.train, flags.join); !checked) return fail(checked.error());
  const auto servers = servers_of(flags);
  if (!servers) return fail(servers.error());
  plan.servers = *servers;
  plan.flags = flags.train;
  plan.join = flags.join;
  plan.transport = flags.transport;
  plan.program = program;
  plan.typed = {"launch"};
  plan.typed.insert(plan.typed.end(), typed.begin(), typed.end());
  return run_launch(plan);
}

}  // namespace

void add_launch(CLI::App& app, const std::vector<std::string>& typed, const std::vector<std::string>& words,
                const std::vector<std::string>& program, int& status) {
  auto flags = std::make_shared<LaunchFlags>();
  auto* command = app.add_subcommand(
      "launch",
      "Train with every replica a process of its own, and servers that host the parameters, all on this machine. Takes "
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
          "\n") +
      kExitStatusHelp);
  const std::string group = "Processes";
  command
      ->add_option("--servers", flags->servers,
                   "processes that host the parameters; by default as --shards says, none under mirrored")
      ->check(CLI::Range(0u, 4096u))
      ->group(group);
  command->add_option("--transport", flags->transport, "how they talk: shared memory, Unix sockets, TCP on 127.0.0.1")
      ->check(CLI::IsMember({"shm", "unix", "tcp"}))
      ->type_name("shm|unix|tcp")
      ->capture_default_str()
      ->group(group);
  add_container_flags(*command, flags->train.options, &flags->join);
  add_security_flags(*command, flags->train.options.processes.security);
  add_train_flags(*command, flags->train);
  command->callback(
      [flags, command, &typed, &words, &program, &status] { status = run(*flags, *command, typed, words, program); });
}

}  // namespace yoke::cli
