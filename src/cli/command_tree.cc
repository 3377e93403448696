#include "cli/command_tree.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

namespace yoke::cli {
namespace {

bool is_help(const CLI::App& command, const CLI::Option* option) {
  return option == command.get_help_ptr() || option == command.get_help_all_ptr();
}

// CLI11 appends what validators say of themselves to the type's name: "TEXT:FILE", "UINT:POSITIVE", "TEXT:{a,b}".
struct TypeName {
  std::string base;
  std::string validator;  // the last one
};

TypeName split_type(const CLI::Option& option) {
  static const std::regex pattern(
      R"((.*?)(?::(POSITIVE|NONNEGATIVE|NUMBER|FILE|DIR|PATH\([a-z-]+\)|\{.*\}|(?:INT|UINT|FLOAT) in \[.*\]))*)");
  const auto name = option.get_type_name();
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return {name, ""};
  return {match[1], match[2]};
}

bool is_capital(unsigned char c) { return std::isupper(c) != 0; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void trim(std::vector<std::string>& lines) {
  const auto filled = [](const std::string& line) { return line.find_first_not_of(" \t") != std::string::npos; };
  lines.erase(std::find_if(lines.rbegin(), lines.rend(), filled).base(), lines.end());
  lines.erase(lines.begin(), std::find_if(lines.begin(), lines.end(), filled));
}

}  // namespace

std::vector<OptionGroup> option_groups(const CLI::App& command) {
  std::vector<OptionGroup> groups;
  for (const auto& name : command.get_groups()) {
    auto options = command.get_options(
        [&](const CLI::Option* option) { return option->get_group() == name && option->nonpositional(); });
    if (!name.empty() && !options.empty()) groups.push_back({name, std::move(options)});
  }
  std::stable_partition(groups.begin(), groups.end(), [&](const OptionGroup& group) {
    return !std::all_of(group.options.begin(), group.options.end(),
                        [&](const CLI::Option* option) { return is_help(command, option); });
  });
  return groups;
}

std::vector<const CLI::Option*> flagged_options(const CLI::App& command) {
  std::vector<const CLI::Option*> all;
  for (const auto& group : option_groups(command)) all.insert(all.end(), group.options.begin(), group.options.end());
  return all;
}

std::vector<const CLI::Option*> positionals(const CLI::App& command) {
  return command.get_options(
      [](const CLI::Option* option) { return option->get_positional() && !option->get_group().empty(); });
}

std::vector<const CLI::App*> commands(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App* command) {
    return !command->get_name().empty() && !command->get_group().empty() && !command->get_disabled();
  });
}

std::string full_name(const CLI::App& command) {
  const auto* parent = command.get_parent();
  return (parent ? full_name(*parent) + " " : "") + command.get_name();
}

std::string summary(const CLI::App& command) {
  auto text = command.get_description();
  text = text.substr(0, text.find('\n'));
  for (auto end = text.find(". "); end != std::string::npos; end = text.find(". ", end + 1)) {
    if (end + 2 < text.size() && is_capital(static_cast<unsigned char>(text[end + 2]))) text.resize(end);
  }
  return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
}

std::string usage_of(const CLI::App& command) {
  std::string usage = option_groups(command).empty() ? "" : "[OPTIONS] ";
  for (const auto* option : positionals(command)) {
    const auto name = option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
    usage += option->get_required() ? name + " " : "[" + name + "] ";
  }
  if (!commands(command).empty()) usage += command.get_require_subcommand_min() == 0 ? "[COMMAND] " : "COMMAND ";
  return usage.substr(0, usage.find_last_not_of(' ') + 1);
}

bool is_flag(const CLI::Option& option) { return option.get_expected_max() == 0; }

std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> result;
  for (const auto& name : option.get_snames()) result.push_back("-" + name);
  for (const auto& name : option.get_lnames()) result.push_back("--" + name);
  return result;
}

std::string base_type(const CLI::Option& option) { return split_type(option).base; }

std::string placeholder(const CLI::Option& option) {
  static const std::map<std::string, std::string> plain_words = {
      {"INT", "N"}, {"UINT", "N"}, {"FLOAT", "NUMBER"}, {"BOOLEAN", "true|false"}};
  if (is_flag(option)) return "";
  if (!option.get_option_text().empty()) return option.get_option_text();
  const auto [base, validator] = split_type(option);
  if (const auto word = plain_words.find(base); word != plain_words.end()) return word->second;
  if (base != "TEXT" && !base.empty()) return base;
  if (validator.starts_with("PATH")) return "PATH";
  if (validator == "FILE" || validator == "DIR") return validator;
  if (validator.size() > 2 && validator[0] == '{' && validator.find("->") == std::string::npos)
    return CLI::detail::join(CLI::detail::split(validator.substr(1, validator.size() - 2), ','), "|");
  return "TEXT";
}

std::vector<std::string> choices(const CLI::Option& option, const CLI::App& root) {
  const auto all = placeholder(option);
  std::vector<std::string> result;
  if (all == "COMMAND") {
    for (const auto* command : commands(root)) result.push_back(command->get_name());
  }
  if (all.find('|') == std::string::npos) return result;
  for (const auto& choice : CLI::detail::split(all, '|')) {
    const bool word = !choice.empty() && choice.find(' ') == std::string::npos;
    if (word && std::none_of(choice.begin(), choice.end(), is_capital)) result.push_back(choice);
  }
  return result;
}

Names names_of(const CLI::Option& option) {
  const auto word = placeholder(option);
  if (word.find("FILE") != std::string::npos || word.find("PATH") != std::string::npos) return Names::files;
  return word.find("DIR") != std::string::npos ? Names::folders : Names::none;
}

std::string shown_default(const CLI::Option& option) {
  const auto text = option.get_default_str();
  const bool list = option.get_items_expected_max() > 1 && text.size() >= 2 && text.front() == '[';
  return list ? text.substr(1, text.size() - 2) : text;
}

std::vector<FooterSection> footer_sections(const CLI::App& command) {
  std::vector<FooterSection> sections(1);
  for (const auto& line : lines_of(command.get_footer())) {
    if (line.ends_with(':') && line[0] != ' ') {
      sections.push_back({line.substr(0, line.size() - 1), {}});
    } else {
      sections.back().lines.push_back(line);
    }
  }
  for (auto& section : sections) trim(section.lines);
  std::erase_if(sections, [](const FooterSection& section) { return section.lines.empty(); });
  return sections;
}

}  // namespace yoke::cli
