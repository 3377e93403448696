#include "cli/completion.h"

#include <fmt/format.h>

#include <map>

namespace yoke::cli {

Result<std::string> completion(const CLI::App& root, const std::string& shell) {
  static const std::map<std::string, std::string (*)(const CLI::App&)> shells = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
  const auto found = shells.find(shell);
  if (found == shells.end())
    return Error{Code::invalid_argument, fmt::format("there is no completion for '{}': take bash, zsh or fish", shell)};
  return found->second(root);
}

}  // namespace yoke::cli
