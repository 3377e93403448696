#include "cli/setting.h"

#include <algorithm>
#include <cstdint>

#include "cli/command_tree.h"

namespace yoke::cli {
namespace {

std::string dashed(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::vector<std::string> names_of_flag(const CLI::Option& option) {
  auto names = option.get_lnames();
  names.insert(names.end(), option.get_snames().begin(), option.get_snames().end());
  return names;
}

// 1, but 2 for --pair A B
int values_a_word(const CLI::Option& option) { return std::max(1, option.get_type_size_min()); }

std::string typed(const CLI::Option& option, const std::string& name) {
  return (option.check_lname(name) ? "--" : "-") + name;
}

}  // namespace

bool is_setting(const CLI::App& command, const CLI::Option& option) {
  const auto key = key_of(option);
  return option.nonpositional() && option.get_configurable() && &option != command.get_help_ptr() && key != "config" &&
         key != "print-config" && key != "processes";
}

std::string key_of(const CLI::Option& option) {
  if (!is_flag(option)) return option.get_single_name();
  // Of a flag with a negative, the positive: 'cache' of --no-cache and --cache.
  for (const auto& name : names_of_flag(option)) {
    if (option.get_flag_value(name, "") == "true") return name;
  }
  return option.get_single_name();
}

FoundSetting find_setting(const CLI::App& command, const std::string& key) {
  for (const auto* option : command.get_options({})) {
    for (const auto& name : names_of_flag(*option)) {
      if (dashed(name) == dashed(key)) return {option, name};
    }
    if (option->check_name(key)) return {option, key};
  }
  return {};
}

bool takes_several(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 || option.get_multi_option_policy() != CLI::MultiOptionPolicy::Throw;
}

bool takes_more(const CLI::Option& option) {
  return !is_flag(option) && (option.get_allow_extra_args() || option.get_items_expected_max() > values_a_word(option));
}

std::vector<std::string> words_of(const CLI::Option& option, const std::vector<std::string>& values) {
  const auto flag = typed(option, option.get_lnames().empty() ? option.get_snames()[0] : option.get_lnames()[0]);
  const auto together = static_cast<std::size_t>(values_a_word(option));
  std::vector<std::string> words;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % together != 0) {
      words.push_back(values[i]);
    } else if (values[i].empty()) {  // CLI11 takes `--name=` for a name whose value comes next
      words.insert(words.end(), {flag, ""});
    } else {
      words.push_back(flag + (flag.starts_with("--") ? "=" : "") + values[i]);
    }
  }
  return words;
}

std::string flag_word(const CLI::Option& flag, const std::string& name, bool value) {
  const auto meaning = flag.get_flag_value(name, "");
  if (value) return typed(flag, name);
  const std::string opposite = meaning == "false" ? "true" : "false";
  for (const auto& other : names_of_flag(flag)) {
    if (flag.get_flag_value(other, "") == opposite) return typed(flag, other);
  }
  return "";
}

bool has_values(const CLI::Option& flag) {
  return std::any_of(flag.get_fnames().begin(), flag.get_fnames().end(), [&](const std::string& name) {
    const auto value = flag.get_flag_value(name, "");
    return value != "true" && value != "false";
  });
}

std::string unmet_need(const CLI::Option& option, const std::string& text) {
  const auto type = base_type(option);
  std::int64_t whole = 0;
  std::uint64_t positive = 0;
  double number = 0;
  if (type == "INT" && !CLI::detail::lexical_cast(text, whole)) return "a whole number";
  // CLI11 makes 2^64 - 1 of -1.
  if (type == "UINT" && (text.starts_with('-') || !CLI::detail::lexical_cast(text, positive)))
    return "a whole number of 0 or more";
  if (type == "FLOAT" && !CLI::detail::lexical_cast(text, number)) return "a number";
  return "";
}

}  // namespace yoke::cli
