#include <fmt/format.h>

#include "cli/command_tree.h"
#include "cli/completion.h"

namespace yoke::cli {
namespace {

std::string fish_quoted(std::string text) {
  text = text.substr(0, text.find('\n'));
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// How a value is completed; files are off unless they are asked for.
std::string fish_values(const CLI::App& root, const CLI::Option& option) {
  if (const auto all = choices(option, root); !all.empty()) return " -x -a " + fish_quoted(CLI::detail::join(all, " "));
  switch (names_of(option)) {
    case Names::files:
      return " -r -F";
    case Names::folders:
      return " -x -a '(__fish_complete_directories)'";
    case Names::none:
      break;
  }
  return " -x";
}

// `when`: the beginning of the line, with the condition.
std::string fish_flags(const CLI::App& root, const CLI::App& command, const std::string& when) {
  std::string result;
  for (const auto* option : flagged_options(command)) {
    result += when;
    for (const auto& name : option->get_snames()) result += " -s " + name;
    for (const auto& name : option->get_lnames()) result += " -l " + name;
    if (!is_flag(*option)) result += fish_values(root, *option);
    if (option->has_description()) result += " -d " + fish_quoted(option->get_description());
    result += "\n";
  }
  return result;
}

}  // namespace

std::string fish_completion(const CLI::App& root) {
  const auto& program = root.get_name();
  const auto fresh = fmt::format("complete -c {} -n __fish_use_subcommand", program);
  std::string text = fmt::format(
      "# Completion of {0} in fish. For this shell: {0} completion fish | source\n"
      "# For all to come: {0} completion fish > ~/.config/fish/completions/{0}.fish\n"
      "complete -c {0} -f\n",
      program);
  text += fish_flags(root, root, fresh);
  for (const auto* command : commands(root)) {
    text += fmt::format("{} -a {} -d {}\n", fresh, command->get_name(), fish_quoted(summary(*command)));
    const auto when = fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", program, command->get_name());
    text += fish_flags(root, *command, when);
    for (const auto* option : positionals(*command)) {
      const auto values = fish_values(root, *option);
      if (values != " -x") text += when + (names_of(*option) == Names::files ? " -F" : values) + "\n";
    }
  }
  return text;
}

}  // namespace yoke::cli
