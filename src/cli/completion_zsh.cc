#include <fmt/format.h>

#include "cli/command_tree.h"
#include "cli/completion.h"

namespace yoke::cli {
namespace {

// {0} is the program's name, {1} the root's own flags, {2} the commands with their descriptions. What follows are the
// cases of the commands.
constexpr const char* kZshHead = R"(#compdef {0}
# Completion of {0} in zsh. For this shell: source <({0} completion zsh)
# For all to come: {0} completion zsh > FOLDER/_{0}, in a folder of $fpath
_{0}() {{
  local context state line
  typeset -A opt_args
  _arguments -C \
{1}    '1:command:->command' \
    '*::argument:->argument' && return
  case $state in
    command)
      local -a commands=(
{2}      )
      _describe -t commands command commands ;;
    argument)
      case $line[1] in
)";

constexpr const char* kZshTail = R"(      esac ;;
  esac
}}
if [[ $funcstack[1] == _{0} ]]; then _{0} "$@"; else compdef _{0} {0}; fi
)";

// Inside single quotes, in a description that [, ] and : would end.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == '\n') {
      result += ' ';
    } else {
      if (c == '\\' || c == '[' || c == ']' || c == ':') result += '\\';
      result += c;
    }
  }
  return result;
}

// ":what it is:how to complete it"
std::string zsh_value(const CLI::App& root, const CLI::Option& option, const std::string& name) {
  std::string action = " ";  // nothing is known: only say what it is
  if (const auto all = choices(option, root); !all.empty()) {
    action = "(" + zsh_text(CLI::detail::join(all, " ")) + ")";
  } else if (names_of(option) != Names::none) {
    action = names_of(option) == Names::folders ? "_files -/" : "_files";
  }
  return fmt::format(":{}:{}", zsh_text(name), action);
}

// One line each spelling: once one is there, none is offered again, unless it may be given several times.
std::string zsh_flags(const CLI::App& root, const CLI::App& command, const std::string& indent) {
  std::string result;
  for (const auto* option : flagged_options(command)) {
    const auto names = spellings(*option);
    const bool again = option->get_items_expected_max() > 1;
    const auto front = again ? "*" : "(" + CLI::detail::join(names, " ") + ")";
    for (const auto& name : names) {
      const auto joint = is_flag(*option) ? "" : name.starts_with("--") ? "=" : "+";
      const auto value = is_flag(*option) ? "" : zsh_value(root, *option, placeholder(*option));
      result +=
          fmt::format("{}'{}{}{}[{}]{}' \\\n", indent, front, name, joint, zsh_text(option->get_description()), value);
    }
  }
  return result;
}

std::string zsh_case(const CLI::App& root, const CLI::App& command) {
  const std::string indent(12, ' ');
  std::string text =
      fmt::format("        {})\n          _arguments \\\n{}", command.get_name(), zsh_flags(root, command, indent));
  for (const auto* option : positionals(command)) {
    const bool again = option->get_items_expected_max() > 1;
    text += fmt::format("{}'{}{}' \\\n", indent, again ? "*" : ":",
                        zsh_value(root, *option, option->get_name(true)).substr(again ? 0 : 1));
  }
  return text + indent + "&& return ;;\n";
}

}  // namespace

std::string zsh_completion(const CLI::App& root) {
  std::string names, cases;
  for (const auto* command : commands(root)) {
    names += fmt::format("        '{}:{}'\n", command->get_name(), zsh_text(summary(*command)));
    cases += zsh_case(root, *command);
  }
  return fmt::format(kZshHead, root.get_name(), zsh_flags(root, root, "    "), names) + cases +
         fmt::format(kZshTail, root.get_name());
}

}  // namespace yoke::cli
