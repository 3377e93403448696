// What a tree of CLI11 commands says about itself, as help pages, man pages and shell completion show it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace yoke::cli {

struct OptionGroup {
  std::string heading;
  std::vector<const CLI::Option*> options;
};

// The options with a flag that are not hidden, in the order of their declaration; a group that holds nothing but the
// help flag comes last.
std::vector<OptionGroup> option_groups(const CLI::App& command);

// Those of all groups.
std::vector<const CLI::Option*> flagged_options(const CLI::App& command);

// The options given by their place.
std::vector<const CLI::Option*> positionals(const CLI::App& command);

// The commands of `root` that are not hidden, in the order of their declaration.
std::vector<const CLI::App*> commands(const CLI::App& root);

// As it is typed: "yoke train".
std::string full_name(const CLI::App& command);

// The first sentence of the description, without a full stop.
std::string summary(const CLI::App& command);

// What follows the name in a usage line: "[OPTIONS] MODEL [FILE...]".
std::string usage_of(const CLI::App& command);

// Whether it is only given or not, without a value.
bool is_flag(const CLI::Option& option);

// "-b" and "--batch".
std::vector<std::string> spellings(const CLI::Option& option);

// The name of the value's type without what CLI11's validators add: UINT, FLOAT, TEXT, or what the option was given.
std::string base_type(const CLI::Option& option);

// What stands for the value: N, NUMBER, TEXT, FILE, a|b|c, or the type name that the option was given; empty for flags.
std::string placeholder(const CLI::Option& option);

// a, b and c where the placeholder is a|b|c, without those that stand for something else (they have capitals: auto|N);
// `root` knows those of COMMAND.
std::vector<std::string> choices(const CLI::Option& option, const CLI::App& root);

enum class Names { none, files, folders };

// Which names complete the value: those of files, when the placeholder has FILE or PATH in it, or of folders (DIR).
Names names_of(const CLI::Option& option);

// The default as it is shown; empty when there is none.
std::string shown_default(const CLI::Option& option);

// "Examples:" and the lines below it, up to the next heading: a line that begins at the margin and ends with a colon.
struct FooterSection {
  std::string heading;  // without the colon; empty for what stands before the first
  std::vector<std::string> lines;
};

// Empty lines at the ends of a section are left out, and sections without lines.
std::vector<FooterSection> footer_sections(const CLI::App& command);

}  // namespace yoke::cli
