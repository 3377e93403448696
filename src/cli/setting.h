// An option as a setting in a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace yoke::cli {

// Whether it can be set in a file: it has a flag, and is none that only makes sense when typed (--help, --version,
// --config, --print-config).
bool is_setting(const CLI::App& command, const CLI::Option& option);

// Its name there: the first long name, or else the short one.
std::string key_of(const CLI::Option& option);

struct FoundSetting {
  const CLI::Option* option = nullptr;
  std::string name;  // as the option spells it, without dashes
};

// The option that `key` names in any of its spellings, with '-' or '_'; or the positional of that name; or none.
FoundSetting find_setting(const CLI::App& command, const std::string& key);

// Whether a list may be given.
bool takes_several(const CLI::Option& option);

// Whether, after the words of words_of, it would take words that follow as values, too.
bool takes_more(const CLI::Option& option);

// The words that give these values to the option, which is no flag.
std::vector<std::string> words_of(const CLI::Option& option, const std::vector<std::string>& values);

// The word that makes a flag true or false when it is spelled `name` (without dashes); empty where there is none.
std::string flag_word(const CLI::Option& flag, const std::string& name, bool value);

// Whether a flag stands for values other than true and false: add_flag("--low{1},--high{9}", level).
bool has_values(const CLI::Option& flag);

// "a number" or "a whole number" when the option needs one and `text` is none; empty when it may do.
std::string unmet_need(const CLI::Option& option, const std::string& text);

}  // namespace yoke::cli
