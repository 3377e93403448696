// Help pages for newcomers.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace yoke::cli {

// Set it on the root before commands are added, which then inherit it:
//
//     app.formatter(std::make_shared<HelpPage>());
//
// A page is the description, the usage, the arguments and groups of options in the order of their declaration (the one
// with nothing but --help last), the commands with the first sentence of their descriptions, and the footer as it is.
// Text is wrapped to 100 columns; a [default] ends the help of an option.
class HelpPage : public CLI::Formatter {
 public:
  HelpPage() {
    column_width(30);
    label("Positionals", "Arguments");
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_description(const CLI::App* app) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_subcommands(const CLI::App* app, CLI::AppFormatMode mode) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_option_name(const CLI::Option* option, bool positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;

 private:
  // `left`, and `right` wrapped in the column beside it, or below it when `left` is too wide.
  std::string in_columns(const std::string& left, const std::string& right) const;
};

}  // namespace yoke::cli
