// The program `yoke`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/cert_command.h"
#include "cli/check_command.h"
#include "cli/config_file.h"
#include "cli/containers_command.h"
#include "cli/coordinator_command.h"
#include "cli/data_command.h"
#include "cli/doctor_command.h"
#include "cli/eval_command.h"
#include "cli/exit_status.h"
#include "cli/help_page.h"
#include "cli/inspect_command.h"
#include "cli/launch_command.h"
#include "cli/manual_command.h"
#include "cli/order_commands.h"
#include "cli/replica_command.h"
#include "cli/secret_command.h"
#include "cli/serve_command.h"
#include "cli/server_command.h"
#include "cli/status_command.h"
#include "cli/train_command.h"
#include "train/huge_pages.h"
#include "yoke/version.h"

namespace {

using namespace yoke;
using Words = std::vector<std::string>;

std::string did_you_mean(const std::string& word, const Words& known) {
  const auto close = nearest(word, known);
  return close.empty() ? "" : " (did you mean " + close + "?)";
}

int wrong_usage(const std::string& message) { return cli::fail({Code::invalid_argument, message}); }

// What CLI11 says of words that fit nothing does not say what would.
int unknown_words(const CLI::App& command, const std::string& path) {
  Words flags;
  for (const auto* option : command.get_options())
    for (const auto& name : option->get_lnames()) flags.push_back("--" + name);
  for (const auto& word : command.remaining())
    return wrong_usage((word.starts_with("-") ? "there is no flag " + word.substr(0, word.find('='))
                                              : "'" + word + "' is one word too many") +
                       did_you_mean(word.substr(0, word.find('=')), flags) + "; `" + path + " --help` lists them");
  return cli::kWrongUsage;
}

int parse(CLI::App& app, Words words, int& status) {
  CLI::App* command = nullptr;
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::ExtrasError& problem) {
    for (auto* chosen : app.get_subcommands()) command = chosen;
    return command ? unknown_words(*command, "yoke " + command->get_name()) : app.exit(problem);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& problem) {
    return wrong_usage(std::string(problem.what()) + "; --help tells more");
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (train::ask_for_huge_pages()) train::start_again();
  CLI::App app("Yoke trains one neural network on many replicas at once.", "yoke");
  app.formatter(std::make_shared<cli::HelpPage>());
  app.set_version_flag("--version", std::string("yoke ") + kVersion);
  app.require_subcommand(1);
  app.footer("`yoke COMMAND --help` tells more. To begin with: yoke train");
  int status = 0;
  Words words(argv + std::min(argc, 2), argv + argc);
  // Behind `--` stands a program of the user's own.
  Words program;
  if (argc > 1 && std::string(argv[1]) == "launch")
    if (const auto dashes = std::find(words.begin(), words.end(), "--"); dashes != words.end()) {
      program.assign(dashes + 1, words.end());
      words.erase(dashes, words.end());
    }
  const Words typed = words;
  Words settled;  // with the settings of a file put in
  cli::add_train(app, typed, settled, status);
  cli::add_launch(app, typed, settled, program, status);
  cli::add_server(app, typed, status);
  cli::add_coordinator(app, status);
  cli::add_replica(app, typed, status);
  cli::add_serve(app, status);
  cli::add_containers(app, status);
  cli::add_snapshot(app, status);
  cli::add_status(app, status);
  cli::add_checkpoint(app, status);
  cli::add_drain(app, status);
  cli::add_check(app, status);
  cli::add_eval(app, status);
  cli::add_inspect(app, status);
  cli::add_data(app, status);
  cli::add_secret(app, status);
  cli::add_cert(app, status);
  cli::add_doctor(app, status);
  cli::add_manual(app, status);

  if (argc < 2) {
    std::fputs(app.help().c_str(), stderr);
    return cli::kWrongUsage;
  }
  const std::string name = argv[1];
  if (!name.starts_with("-")) {
    Words commands;
    for (const auto* command : app.get_subcommands({})) commands.push_back(command->get_name());
    if (std::find(commands.begin(), commands.end(), name) == commands.end())
      return wrong_usage("there is no command '" + name + "'" + did_you_mean(name, commands) +
                         "; `yoke --help` lists them");
    auto configured = cli::with_config(*app.get_subcommand(name), std::move(words));
    if (!configured) return cli::fail(configured.error());
    words = std::move(*configured);
    settled = words;
  }
  words.insert(words.begin(), name);
  return parse(app, std::move(words), status);
}
