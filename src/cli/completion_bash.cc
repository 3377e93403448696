#include <fmt/format.h>

#include "cli/command_tree.h"
#include "cli/completion.h"

namespace yoke::cli {
namespace {

// {0} is the program's name, {1} a pattern of all commands. What follows are cases.
constexpr const char* kBashHead = R"(# Completion of {0} in bash. For this shell: source <({0} completion bash)
# For all to come: {0} completion bash > ~/.local/share/bash-completion/completions/{0}
_{0}_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }}
_{0}_names() {{
  compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$word")
}}
_{0}() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="" command="" i
  ((COMP_CWORD > 0)) && before="${{COMP_WORDS[COMP_CWORD - 1]}}"
  # --flag=value comes as three words
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]] && ((COMP_CWORD > 1)); then
    before="${{COMP_WORDS[COMP_CWORD - 2]}}"
  fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      {1}) command="${{COMP_WORDS[i]}}" && break ;;
    esac
  done
  case "$command $before" in
)";

std::string quoted(const std::string& text) { return "'" + CLI::detail::find_and_replace(text, "'", "'\\''") + "'"; }

std::string bash_words(const CLI::App& root, const std::vector<std::string>& words) {
  return fmt::format("_{}_words {}", root.get_name(), quoted(CLI::detail::join(words, " ")));
}

// What to call for a value of `option`; empty where nothing is known of it.
std::string bash_values(const CLI::App& root, const CLI::Option& option) {
  if (const auto all = choices(option, root); !all.empty()) return bash_words(root, all);
  if (names_of(option) == Names::none) return "";
  return fmt::format("_{}_names {}", root.get_name(), names_of(option) == Names::folders ? "-d" : "-f");
}

// The cases of flags that take a value, of one command.
std::string bash_flag_cases(const CLI::App& root, const CLI::App& command) {
  const auto name = &command == &root ? "" : command.get_name();
  std::string result;
  for (const auto* option : flagged_options(command)) {
    if (is_flag(*option)) continue;
    std::vector<std::string> patterns;
    for (const auto& spelling : spellings(*option)) patterns.push_back(fmt::format("\"{} {}\"", name, spelling));
    const auto values = bash_values(root, *option);
    result += fmt::format("    {}) {}return ;;\n", fmt::join(patterns, " | "), values.empty() ? "" : values + "; ");
  }
  return result;
}

// What else can stand there: a flag when a dash is typed, or else a positional or a command; flags again where nothing
// is known of those.
std::string bash_word_case(const CLI::App& root, const CLI::App& command) {
  std::vector<std::string> flags, names;
  for (const auto* option : flagged_options(command)) {
    for (const auto& name : spellings(*option)) flags.push_back(name);
  }
  for (const auto* below : commands(command)) names.push_back(below->get_name());
  const auto offer_flags = bash_words(root, flags);
  auto otherwise = names.empty() ? "" : bash_words(root, names);
  for (const auto* option : positionals(command)) {
    if (otherwise.empty()) otherwise = bash_values(root, *option);
  }
  const auto name = &command == &root ? "''" : command.get_name();
  if (otherwise.empty()) return fmt::format("    {}) {} ;;\n", name, offer_flags);
  return fmt::format("    {}) if [[ $word == -* ]]; then {}; else {}; fi ;;\n", name, offer_flags, otherwise);
}

}  // namespace

std::string bash_completion(const CLI::App& root) {
  std::string pattern;
  std::string flags = bash_flag_cases(root, root), words = bash_word_case(root, root);
  for (const auto* command : commands(root)) {
    pattern += (pattern.empty() ? "" : " | ") + command->get_name();
    flags += bash_flag_cases(root, *command);
    words += bash_word_case(root, *command);
  }
  return fmt::format(kBashHead, root.get_name(), pattern.empty() ? "''" : pattern) + flags +
         "  esac\n  case \"$command\" in\n" + words +
         fmt::format("  esac\n}}\ncomplete -F _{0} {0}\n", root.get_name());
}

}  // namespace yoke::cli
