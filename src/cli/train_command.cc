#include "cli/train_command.h"

#include <fmt/format.h>

#include <memory>

#include "cli/config_file.h"
#include "cli/exit_status.h"
#include "cli/launching.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "cli/train_flags.h"
#include "cli/training.h"

namespace yoke::cli {
namespace {

constexpr char kExamples[] =
    "Examples:\n"
    "  yoke train  Fashion-MNIST, a CNN, 4 replicas, sync with 1 spare\n"
    "  yoke train --data prices.csv --target price --save prices.safetensors  a table, a number to predict\n"
    "  yoke train --data moby-dick --optimizer adam --lr 0.003  characters of a novel, an LSTM\n"
    "  yoke train --data photos/ --image-size 32x32 --model resnet  a folder of images, a folder a class\n"
    "  yoke train --model net.pt --save trained.pt  a TorchScript file from Python\n"
    "  yoke train --data digits --strategy async --max-staleness 4  nobody waits, old gradients are dropped\n"
    "  yoke train --container fashion --join 10.0.0.1:7000  on servers of `yoke serve`, which keep what comes out\n"
    "  yoke train --processes --shards 2  the same as processes of this machine, over shared memory\n"
    "  yoke train --model synthetic:1M:20ms --steps 200 --replicas 8 --spares 1 --slow 0:10  no model: what a slow "
    "replica costs\n"
    "  yoke train --replicas 8 --print-config > job.toml; yoke train --config job.toml --seed 2  settings in a file\n"
    "\n";

// Whoever runs `yoke train` under torchrun means one replica a process.
Status place(TrainFlags& flags, const CLI::App& command) {
  const auto found = surroundings();
  if (!found) return found.error();
  if (found->kind != launch::Surroundings::Kind::torchrun) return {};
  if (found->replicas != 1u)
    if (auto checked = check_one_of_many(flags); !checked) return checked;
  return take_place(*found, command.get_option("--replicas")->count() > 0, flags.options);
}

// Threads of one process are lost together.
Status check_restarts_here(const TrainFlags& flags, const std::string& join) {
  if (flags.restarts > 0 && !flags.processes && join.empty())
    return Error{Code::invalid_argument,
                 fmt::format("--restarts {}: these replicas are threads of one process, which are lost with it: say "
                             "--processes, or leave it out",
                             flags.restarts)};
  return {};
}

int run(const TrainFlags& flags, const std::string& join, const std::vector<std::string>& words,
        const std::vector<std::string>& settled) {
  std::vector<std::string> typed{"train"};
  typed.insert(typed.end(), words.begin(), words.end());
  if (!flags.processes && join.empty()) return run_training(flags, typed);
  LaunchPlan plan;
  plan.flags = flags;
  plan.roles.mirrored = flags.options.strategy == Strategy::mirrored;
  plan.roles.replicas = flags.options.replicas;
  plan.roles.served = !join.empty();
  if (!plan.roles.mirrored && !plan.roles.served) plan.roles.servers = flags.options.shards;
  plan.join = join;
  std::vector<std::string> own{"--history", "--container", "--join", "--restarts"};
  own.insert(own.end(), std::begin(kSecurityFlags), std::end(kSecurityFlags));
  plan.words = without_flags(settled, own, {"--check", "--processes", kInsecureFlag});
  plan.typed = typed;
  return run_launch(plan);
}

}  // namespace

void add_train(CLI::App& app, const std::vector<std::string>& words, const std::vector<std::string>& settled,
               int& status) {
  auto flags = std::make_shared<TrainFlags>();
  auto join = std::make_shared<std::string>();
  auto* command = app.add_subcommand(
      "train",
      "Train a network on many replicas. Each replica computes gradients on samples of its own; the strategy says how "
      "they pull together. Without flags: a small CNN on Fashion-MNIST.");
  command->footer(std::string(kExamples) + kExitStatusHelp);
  add_train_flags(*command, *flags);
  add_container_flags(*command, flags->options, join.get());
  add_security_flags(*command, flags->options.processes.security);
  command
      ->add_flag("--processes", flags->processes,
                 "each replica and each shard a process of its own, as `yoke launch` starts them")
      ->group("How the replicas pull together");
  add_restarts_flag(*command, *flags);
  command->callback([flags, join, command, &words, &settled, &status] {
    if (const auto checked = complete(*flags, *command); !checked) {
      status = fail(checked.error());
    } else if (auto contained = check_container(*flags, *join); !contained) {
      status = fail(contained.error());
    } else if (auto restarts = check_restarts_here(*flags, *join); !restarts) {
      status = fail(restarts.error());
    } else if (auto placed = place(*flags, *command); !placed) {
      status = fail(placed.error());
    } else if (flags->print_config) {
      fmt::print("{}", to_config(*command));
    } else {
      status = run(*flags, *join, words, settled);
    }
  });
}

}  // namespace yoke::cli
