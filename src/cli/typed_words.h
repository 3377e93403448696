// The words after a command's name, read with CLI11's own rules of what is a flag and what is the value of one, before
// CLI11 reads them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::cli {

class TypedWords {
 public:
  using Words = std::vector<std::string>;

  // `command` outlives this.
  explicit TypedWords(const CLI::App& command) : command_(command) {}

  // Once. An error when --config stands there twice or without a file.
  Status read(const Words& words);

  // Of --config FILE.
  const std::optional<std::string>& file() const { return file_; }
  // All but --config FILE.
  const Words& rest() const { return rest_; }
  // Whether the option is given, in any of its spellings.
  bool has(const CLI::Option* option) const { return options_.contains(option); }

 private:
  // These begin at word `i` and leave it at the last word that they took.
  void keep(const Words& words, std::size_t& i, std::size_t end);
  Status read_word(const Words& words, std::size_t& i);
  Status read_config(const Words& words, std::size_t& i, std::string value);

  const CLI::App& command_;
  std::optional<std::string> file_;
  Words rest_;
  std::set<const CLI::Option*> options_;
};

}  // namespace yoke::cli
