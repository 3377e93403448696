#include "cli/config_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "base/nearest.h"
#include "cli/command_tree.h"
#include "cli/setting.h"
#include "cli/toml.h"
#include "cli/typed_words.h"

namespace yoke::cli {
namespace {

using Words = std::vector<std::string>;

constexpr std::uintmax_t kLargestFile = 1 << 20;

Result<std::string> read_file(const std::string& name) {
  std::error_code problem;
  const auto size = std::filesystem::file_size(name, problem);
  if (!problem && size > kLargestFile)
    return Error{Code::invalid_argument, fmt::format("{} has {} bytes: no file of settings is that large", name, size)};
  std::ifstream file(name, std::ios::binary);
  std::string text;
  for (char c; text.size() <= kLargestFile && file.get(c);) text += c;
  if (!file.eof())
    return Error{Code::missing, fmt::format("cannot read the settings in '{}' ({}): is --config right?", name,
                                            problem ? problem.message() : "it is no plain file or may not be read")};
  return text;
}

class Settings {
 public:
  Settings(const CLI::App& command, std::string file) : command_(command), file_(std::move(file)) {}

  // The flags that say the same as the file, without those that were typed.
  Result<Words> words(const std::vector<TomlSetting>& settings, const TypedWords& typed) {
    Words words;
    for (const auto& setting : settings) {
      const auto found = find(setting);
      if (!found) return found.error();
      auto mine = is_flag(*found->option) ? flag_words(*found, setting) : value_words(*found->option, setting);
      if (!mine) return mine.error();
      if (typed.has(found->option) || mine->empty()) continue;
      std::move(mine->begin(), mine->end(), std::back_inserter(words));
      last_ = found->option;
    }
    // An option with room for more values would take the positionals that follow; CLI11 ends it at `--`.
    if (last_ && takes_more(*last_) && !typed.rest().empty()) words.push_back("--");
    return words;
  }

 private:
  Error wrong(const TomlSetting& setting, const std::string& why) const {
    return Error{Code::invalid_argument, fmt::format("{}:{}: {}", file_, setting.line, why)};
  }

  Result<FoundSetting> find(const TomlSetting& setting) {
    const auto found = find_setting(command_, setting.key);
    if (!found.option) return wrong(setting, unknown(setting.key));
    if (!is_setting(command_, *found.option))
      return wrong(setting,
                   fmt::format("'{}' cannot be set in a file: type it after `{}`", setting.key, full_name(command_)));
    const auto [before, first] = lines_.emplace(found.option, setting.line);
    if (!first)
      return wrong(setting, fmt::format("'{}' is already set on line {}: leave one", setting.key, before->second));
    return found;
  }

  std::string unknown(const std::string& key) const {
    Words known;
    for (const auto* option : command_.get_options({})) {
      if (is_setting(command_, *option) && !option->get_group().empty()) known.push_back(key_of(*option));
    }
    auto dashed = key;
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    const auto near = nearest(dashed, known);
    return fmt::format(
        "`{}` has no setting '{}': {}", full_name(command_), key,
        near.empty() ? "`" + full_name(command_) + " --help` lists them" : "did you mean '" + near + "'?");
  }

  Result<Words> flag_words(const FoundSetting& found, const TomlSetting& setting) const {
    const auto& value = setting.value;
    const auto& flag = *found.option;
    if (value.kind == TomlValue::Kind::boolean) {
      const auto word = flag_word(flag, found.name, value.text == "true");
      return word.empty() ? Words{} : Words{word};
    }
    const bool counts = flag.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;  // as in -v -v
    const bool fits =
        has_values(flag) ? value.kind != TomlValue::Kind::list : value.kind == TomlValue::Kind::integer && counts;
    if (fits && !flag.get_lnames().empty()) return Words{"--" + flag.get_lnames()[0] + "=" + value.text};
    return wrong(setting, fmt::format("'{}' is a flag: write true or false", setting.key));
  }

  Result<Words> value_words(const CLI::Option& option, const TomlSetting& setting) const {
    const bool list = setting.value.kind == TomlValue::Kind::list;
    if (list && !takes_several(option))
      return wrong(setting, fmt::format("'{}' takes one value, not a list", setting.key));
    Words values;
    for (const auto& item : list ? setting.value.items : std::vector<TomlValue>{setting.value}) {
      if (const auto need = unmet_need(option, item.text); !need.empty())
        return wrong(setting, fmt::format("'{}' needs {}, not '{}'", setting.key, need, item.text));
      values.push_back(item.text);
    }
    return words_of(option, values);
  }

  const CLI::App& command_;
  const std::string file_;
  std::map<const CLI::Option*, std::size_t> lines_;
  const CLI::Option* last_ = nullptr;
};

}  // namespace

Result<Words> with_config(const CLI::App& command, Words arguments) {
  TypedWords typed(command);
  if (const auto read = typed.read(arguments); !read) return read.error();
  if (!typed.file()) return arguments;
  const auto text = read_file(*typed.file());
  if (!text) return text.error();
  const auto settings = parse_toml(*text, *typed.file());
  if (!settings) return settings.error();
  auto words = Settings(command, *typed.file()).words(*settings, typed);
  if (!words) return words.error();
  words->insert(words->end(), typed.rest().begin(), typed.rest().end());
  return words;
}

}  // namespace yoke::cli
