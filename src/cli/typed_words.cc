#include "cli/typed_words.h"

#include <algorithm>

#include "cli/command_tree.h"

namespace yoke::cli {

Status TypedWords::read(const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      keep(words, i, words.size());
    } else if (const auto read = read_word(words, i); !read) {
      return read.error();
    }
  }
  return {};
}

void TypedWords::keep(const Words& words, std::size_t& i, std::size_t end) {
  for (end = std::min(end, words.size()); i < end; ++i) rest_.push_back(words[i]);
  --i;
}

Status TypedWords::read_word(const Words& words, std::size_t& i) {
  std::string name, value;
  const bool is_long = CLI::detail::split_long(words[i], name, value);
  const bool is_short = !is_long && CLI::detail::split_short(words[i], name, value);
  const auto* option = is_long || is_short ? command_.get_option_no_throw((is_long ? "--" : "-") + name) : nullptr;
  if ((is_long && name == "config") || (option && option->check_lname("config"))) return read_config(words, i, value);
  // -qx: of a row of flags each is looked at
  while (option && is_flag(*option) && is_short && !value.empty()) {
    options_.insert(option);
    option = command_.get_option_no_throw("-" + value.substr(0, 1));
    value.erase(0, 1);
  }
  int more = 0;  // words that are its values, whatever they look like
  if (option) {
    options_.insert(option);
    more = std::min(option->get_type_size_min(), option->get_items_expected_min()) - (value.empty() ? 0 : 1);
  }
  keep(words, i, i + 1 + static_cast<std::size_t>(std::max(0, more)));
  return {};
}

Status TypedWords::read_config(const Words& words, std::size_t& i, std::string value) {
  if (file_) return Error{Code::invalid_argument, "--config is given twice: put the settings into one file"};
  if (value.empty() && i + 1 < words.size()) value = words[++i];
  if (value.empty()) return Error{Code::invalid_argument, "--config needs the name of a file: --config FILE"};
  file_ = value;
  return {};
}

}  // namespace yoke::cli
