// The other half of config_file.h: settings in force, written.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "cli/command_tree.h"
#include "cli/config_file.h"
#include "cli/setting.h"
#include "cli/toml.h"

namespace yoke::cli {
namespace {

using Values = std::vector<std::string>;

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string scalar(const CLI::Option& option, const std::string& text) {
  const auto type = base_type(option);
  if (type == "BOOLEAN" && (text == "true" || text == "false")) return text;
  return type != "TEXT" && is_toml_number(text) ? text : quote_toml(text);
}

std::string list(const CLI::Option& option, const Values& values) {
  Values items;
  for (const auto& value : values) items.push_back(scalar(option, value));
  return fmt::format("[{}]", fmt::join(items, ", "));
}

// Empty when nobody knows: a flag that has a negative may stand for true by default.
std::string flag_value(const CLI::Option& flag) {
  if (flag.empty()) {
    if (!flag.get_default_str().empty()) return flag.get_default_str() == "true" ? "true" : "false";
    return flag_word(flag, key_of(flag), false).empty() ? "false" : "";
  }
  const auto& given = flag.results();
  if (flag.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll)
    return CLI::detail::to_flag_value(given.back()) > 0 ? "true" : "false";
  std::int64_t sum = 0;
  for (const auto& one : given) sum += CLI::detail::to_flag_value(one);
  return sum == 1 ? "true" : sum > 1 ? std::to_string(sum) : "false";
}

std::string value_text(const CLI::Option& option, const Values& values) {
  return option.get_items_expected_max() > 1 || values.size() > 1 ? list(option, values) : scalar(option, values[0]);
}

// What is in force for the option; empty when it is nothing.
std::string value_of(const CLI::Option& option) {
  if (is_flag(option) && !has_values(option)) return flag_value(option);
  if (!option.empty()) return value_text(option, is_flag(option) ? Values{option.results().back()} : option.results());
  const auto text = shown_default(option);
  const auto values = option.get_items_expected_max() > 1 ? CLI::detail::split(text, ',') : Values{text};
  // A default that is described in words ("as many as there are cores") is none that can be set.
  const bool in_words = base_type(option) != "TEXT" && text.find(' ') != std::string::npos;
  const bool fits = !in_words && std::all_of(values.begin(), values.end(), [&](const std::string& value) {
    return unmet_need(option, value).empty();
  });
  return text.empty() || !fits ? "" : value_text(option, values);
}

class Writer {
 public:
  void add(const CLI::Option& option) {
    const auto key = key_of(option);
    const auto value = value_of(option);
    const bool live = !value.empty() && may_be_given(option);
    if (live && value != "false") live_.insert(&option);
    if (option.has_description()) text_ += "# " + one_line(option.get_description()) + "\n";
    text_ += fmt::format("{}{} = {}\n\n", live ? "" : "# ", is_toml_key(key) ? key : quote_toml(key), value);
  }
  void heading(const std::string& name) { text_ += fmt::format("## {}\n\n", one_line(name)); }
  std::string text() const { return text_.substr(0, text_.find_last_not_of('\n') + 1) + "\n"; }

 private:
  // A default that is written counts as given when it is read, and then CLI11 minds excludes() and needs().
  bool may_be_given(const CLI::Option& option) const {
    if (!option.empty()) return true;
    const auto excluded = option.get_excludes();
    const auto needed = option.get_needs();
    const auto given = [&](const CLI::Option* other) { return !other->empty() || live_.contains(other); };
    return std::none_of(excluded.begin(), excluded.end(), given) && std::all_of(needed.begin(), needed.end(), given);
  }

  std::set<const CLI::Option*> live_;
  std::string text_;
};

}  // namespace

std::string to_config(const CLI::App& command) {
  Writer writer;
  for (const auto& group : option_groups(command)) {
    bool first = true;
    for (const auto* option : group.options) {
      if (!is_setting(command, *option)) continue;
      if (std::exchange(first, false)) writer.heading(group.heading);
      writer.add(*option);
    }
  }
  const auto hidden =
      command.get_options([](const CLI::Option* option) { return option->get_group().empty() && !option->empty(); });
  for (const auto* option : hidden) {
    if (is_setting(command, *option)) writer.add(*option);
  }
  return fmt::format("# Settings of `{0}`: `{0} --config FILE` reads them, and flags that are typed win.\n\n{1}",
                     full_name(command), writer.text());
}

}  // namespace yoke::cli
