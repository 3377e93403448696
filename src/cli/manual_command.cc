#include "cli/manual_command.h"

#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/nearest.h"
#include "cli/command_tree.h"
#include "cli/completion.h"
#include "cli/exit_status.h"
#include "cli/manual.h"

namespace yoke::cli {
namespace {

constexpr const char* kExitStatus =
    "\n\n"
    "Exit status:\n"
    "  0    done\n"
    "  2    there is no such command, shell or flag\n"
    "  3    a file cannot be written";

Result<const CLI::App*> find_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const auto* command : commands(app)) {
    if (command->get_name() == name) return command;
    names.push_back(command->get_name());
  }
  const auto near = nearest(name, names);
  return Error{Code::invalid_argument, fmt::format("there is no command '{}': {}", name,
                                                   near.empty() ? "there are " + CLI::detail::join(names, ", ")
                                                                : "did you mean '" + near + "'?")};
}

struct ManualFlags {
  std::string command;
  std::string folder;
};

int show_manual(const CLI::App& app, const ManualFlags& flags) {
  const auto version = app.version().empty() ? app.get_name() : app.version();
  if (!flags.folder.empty()) {
    const auto names = write_man_pages(app, flags.folder, version);
    if (!names) return fail(names.error());
    for (const auto& name : *names) fmt::print("{}\n", name);
    return 0;
  }
  const CLI::App* command = nullptr;
  if (!flags.command.empty()) {
    const auto found = find_command(app, flags.command);
    if (!found) return fail(found.error());
    command = *found;
  }
  fmt::print("{}", man_page(app, command, version));
  return 0;
}

void add_manual_command(CLI::App& app, int& status) {
  auto flags = std::make_shared<ManualFlags>();
  auto* command = app.add_subcommand(
      "manual", "Print a manual page.\nIt is the page of the program itself, or of one of its commands, for man(1).");
  auto* which = command->add_option("COMMAND", flags->command, "whose page; without it, that of the program itself");
  which->type_name("COMMAND");
  command->add_option("--folder", flags->folder, "write the pages of all commands there instead")
      ->type_name("DIR")
      ->excludes(which);
  command->footer(
      fmt::format("Examples:\n"
                  "  {0} manual train | man -l -          read one\n"
                  "  {0} manual --folder ~/.local/share/man/man1    install all, such that `man {0}` finds them"
                  "{1}",
                  app.get_name(), kExitStatus));
  command->callback([&app, flags, &status] { status = show_manual(app, *flags); });
}

void add_completion_command(CLI::App& app, int& status) {
  auto shell = std::make_shared<std::string>();
  auto* command = app.add_subcommand(
      "completion", "Print the script that makes a shell complete commands, flags, values and file names.");
  command->add_option("SHELL", *shell, "bash, zsh or fish")->type_name("bash|zsh|fish")->required();
  command->footer(
      fmt::format("Examples:\n"
                  "  source <({0} completion bash)        for this shell\n"
                  "  {0} completion bash > ~/.local/share/bash-completion/completions/{0}    for all to come\n"
                  "  {0} completion fish > ~/.config/fish/completions/{0}.fish"
                  "{1}",
                  app.get_name(), kExitStatus));
  command->callback([&app, shell, &status] {
    const auto script = completion(app, *shell);
    if (script) fmt::print("{}", *script);
    status = script ? 0 : fail(script.error());
  });
}

}  // namespace

void add_manual(CLI::App& app, int& status) {
  add_manual_command(app, status);
  add_completion_command(app, status);
}

}  // namespace yoke::cli
