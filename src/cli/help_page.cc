#include "cli/help_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "cli/command_tree.h"

namespace yoke::cli {
namespace {

constexpr std::size_t kPageWidth = 100;

// Words of `text`, in lines of at most `width`, joined by a line's end and `indent`. Words wider than that stay whole.
std::string wrapped(const std::string& text, std::size_t width, const std::string& indent) {
  std::istringstream words(text);
  std::string result;
  std::size_t used = 0;
  for (std::string word; words >> word;) {
    if (used > 0 && used + 1 + word.size() > width) {
      result += "\n" + indent;
      used = 0;
    }
    if (used > 0) result += " ";
    result += word;
    used += word.size() + (used > 0 ? 1 : 0);
  }
  return result;
}

}  // namespace

std::string HelpPage::in_columns(const std::string& left, const std::string& right) const {
  std::string line = "  " + left;
  if (right.empty()) return line + "\n";
  const std::string indent(column_width_, ' ');
  line += line.size() + 2 > column_width_ ? "\n" + indent : std::string(column_width_ - line.size(), ' ');
  return line + wrapped(right, kPageWidth - column_width_, indent) + "\n";
}

std::string HelpPage::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (mode == CLI::AppFormatMode::Sub) return make_expanded(app);
  std::string page = make_description(app) + "\n" + make_usage(app, name) + make_positionals(app);
  for (const auto& group : option_groups(*app)) page += make_group(group.heading, false, group.options);
  page += make_subcommands(app, mode);
  const auto footer = make_footer(app);
  return page + (footer.empty() ? "" : "\n" + footer);
}

// Line by line: what is indented stays as it is.
std::string HelpPage::make_description(const CLI::App* app) const {
  std::istringstream lines(app->get_description());
  std::string result;
  for (std::string line; std::getline(lines, line);)
    result += (line.starts_with(' ') ? line : wrapped(line, kPageWidth, "")) + "\n";
  return result;
}

std::string HelpPage::make_usage(const CLI::App* app, std::string name) const {
  return fmt::format("Usage: {} {}\n", name.empty() ? full_name(*app) : name, usage_of(*app));
}

std::string HelpPage::make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const {
  std::vector<std::pair<std::string, std::string>> groups;  // headings, and what stands below
  for (const auto* command : commands(*app)) {
    const auto heading = command->get_group() == "Subcommands" ? "Commands" : command->get_group();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.first == heading; });
    if (group == groups.end()) group = groups.insert(group, {heading, ""});
    group->second += mode == CLI::AppFormatMode::All ? command->help(command->get_name(), CLI::AppFormatMode::Sub)
                                                     : make_subcommand(command);
  }
  std::string result;
  for (const auto& [heading, list] : groups) result += "\n" + heading + ":\n" + list;
  return result;
}

std::string HelpPage::make_subcommand(const CLI::App* command) const {
  return in_columns(command->get_display_name(), summary(*command));
}

std::string HelpPage::make_option(const CLI::Option* option, bool positional) const {
  return in_columns(make_option_name(option, positional) + (positional ? "" : make_option_opts(option)),
                    make_option_desc(option));
}

std::string HelpPage::make_option_name(const CLI::Option* option, bool positional) const {
  return positional ? option->get_name(true) : CLI::detail::join(spellings(*option), ", ");
}

std::string HelpPage::make_option_opts(const CLI::Option* option) const {
  const auto value = placeholder(*option);
  const bool several = option->get_expected_max() == CLI::detail::expected_max_vector_size;
  return (value.empty() ? "" : " " + value) + (several ? " ..." : "");
}

std::string HelpPage::make_option_desc(const CLI::Option* option) const {
  auto text = option->get_description();
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
  if (option->get_required() && !option->get_positional()) add("(required)");
  if (!option->get_envname().empty()) add(fmt::format("(or set {} in the environment)", option->get_envname()));
  if (const auto standard = shown_default(*option); !standard.empty()) add("[" + standard + "]");
  return text;
}

}  // namespace yoke::cli
