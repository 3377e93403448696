#include "cli/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "cli/command_tree.h"
#include "cli/roff.h"

namespace yoke::cli {
namespace {

std::string dashed_name(const CLI::App& command) {
  auto name = full_name(command);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::vector<std::string> lines_of(const std::string& text) { return CLI::detail::split(text, '\n'); }

std::string bold(const std::string& text) { return "\\fB" + roff_escaped(text) + "\\fR"; }

std::string term_of(const CLI::Option& option) {
  std::string term;
  for (const auto& name : spellings(option)) term += (term.empty() ? "" : ", ") + bold(name);
  const auto value = placeholder(option);
  if (!value.empty()) term += " \\fI" + roff_escaped(value) + "\\fR";
  return term;
}

std::string text_of(const CLI::Option& option) {
  auto text = option.get_description();
  std::replace(text.begin(), text.end(), '\n', ' ');
  const auto standard = shown_default(option);
  if (standard.empty()) return text;
  return text + (text.empty() ? "" : " ") + "[" + standard + "]";
}

void add_options(RoffPage& page, const CLI::App& command) {
  const auto groups = option_groups(command);
  const auto places = positionals(command);
  if (groups.empty() && places.empty()) return;
  page.section("Options");
  if (!places.empty()) page.subsection("Arguments");
  for (const auto* option : places) page.item("\\fI" + roff_escaped(option->get_name(true)) + "\\fR", text_of(*option));
  for (const auto& group : groups) {
    if (groups.size() + places.size() > 1) page.subsection(group.heading);
    for (const auto* option : group.options) page.item(term_of(*option), text_of(*option));
  }
}

// "0    done" -> an item.
void add_exit_status(RoffPage& page, const std::vector<std::string>& lines) {
  for (const auto& line : lines) {
    const auto text = CLI::detail::trim_copy(line);
    const auto end = text.find(' ');
    if (!text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) && end != std::string::npos) {
      page.item(bold(text.substr(0, end)), text.substr(end));
    } else {
      page.line(text);
    }
  }
}

void add_examples(RoffPage& page, const std::vector<std::string>& lines, const std::string& program) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto text = CLI::detail::trim_copy(lines[i]);
    if (!text.starts_with(program) && text.find("  ") == std::string::npos) {
      if (!text.empty()) page.paragraph();
      page.line(text);
      continue;
    }
    std::vector<std::string> typed;
    const auto indent = lines[i].find_first_not_of(' ');
    while (text.ends_with('\\') && i + 1 < lines.size()) {
      typed.push_back(text);
      ++i;
      text = lines[i].substr(std::min(indent, lines[i].size()));
    }
    const auto gap = text.find("  ", text.find_first_not_of(' '));
    typed.push_back(text.substr(0, gap));
    if (gap != std::string::npos) {
      page.paragraph();
      page.line(text.substr(gap));
    }
    page.verbatim(typed);
  }
}

void add_footer(RoffPage& page, const std::vector<FooterSection>& sections, const std::string& program) {
  for (const auto& section : sections) {
    if (section.heading.empty()) continue;
    page.section(section.heading);
    const auto heading = roff_capitals(section.heading);
    if (heading == "EXAMPLES") {
      add_examples(page, section.lines, program);
    } else if (heading == "EXIT STATUS") {
      add_exit_status(page, section.lines);
    } else {
      page.prose(section.lines);
    }
  }
}

void add_see_also(RoffPage& page, const CLI::App& root, const CLI::App& shown) {
  std::vector<const CLI::App*> others = commands(root);
  if (&shown != &root) others.insert(others.begin(), &root);
  std::erase(others, &shown);
  if (others.empty()) return;
  page.section("See also");
  for (const auto* other : others)
    page.macro(fmt::format(".BR {} (1){}", roff_escaped(dashed_name(*other)), other == others.back() ? "" : ","));
}

}  // namespace

std::string man_page(const CLI::App& root, const CLI::App* command, const std::string& version) {
  const auto& shown = command ? *command : root;
  RoffPage page;
  page.macro(fmt::format(".TH \"{}\" \"1\" \"\" \"{}\" \"User Commands\"",
                         roff_escaped(roff_capitals(dashed_name(shown))), roff_escaped(version)));
  page.macro(".nh");    // names of flags are not hyphenated,
  page.macro(".ad l");  // and so lines are left ragged
  page.section("Name");
  page.macro(roff_escaped(dashed_name(shown)) + " \\- " + roff_escaped(summary(shown)));
  page.section("Synopsis");
  page.macro(bold(full_name(shown)) + " " + roff_escaped(usage_of(shown)));
  page.section("Description");
  page.prose(lines_of(shown.get_description()));
  const auto footer = footer_sections(shown);
  if (!footer.empty() && footer[0].heading.empty()) page.prose(footer[0].lines);
  const auto below = commands(shown);
  if (!below.empty()) page.section("Commands");
  for (const auto* one : below) page.item(bold(full_name(*one)), summary(*one));
  add_options(page, shown);
  add_footer(page, footer, root.get_name());
  add_see_also(page, root, shown);
  return page.text();
}

Result<std::vector<std::string>> write_man_pages(const CLI::App& root, const std::string& folder,
                                                 const std::string& version) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return Error{Code::missing, fmt::format("cannot make the folder '{}': {}", folder, problem.message())};
  std::vector<const CLI::App*> all = commands(root);
  all.insert(all.begin(), &root);
  std::vector<std::string> names;
  for (const auto* command : all) {
    names.push_back((std::filesystem::path(folder) / (dashed_name(*command) + ".1")).string());
    std::ofstream file(names.back(), std::ios::binary);
    file << man_page(root, command, version);
    if (!file.flush())
      return Error{Code::missing,
                   fmt::format("cannot write '{}': is there room, and may you write there?", names.back())};
  }
  return names;
}

}  // namespace yoke::cli
