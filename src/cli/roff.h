// Writes roff with the man(7) macros.
#pragma once

#include <string>
#include <vector>

namespace yoke::cli {

// `text` such that roff shows it character for character.
std::string roff_escaped(const std::string& text);

// As in the headings of man pages.
std::string roff_capitals(std::string text);

// What it is given is text, and escaped here, unless it says otherwise.
class RoffPage {
 public:
  void section(const std::string& heading);
  void subsection(const std::string& heading);
  // Ends one and begins another, unless a heading just did.
  void paragraph();
  // Without the spaces at its ends; nothing when it is empty.
  void line(const std::string& text);
  // Paragraphs, ended by empty lines; indented lines are kept as they are.
  void prose(const std::vector<std::string>& lines);
  void verbatim(const std::vector<std::string>& lines);
  // `term` is roff.
  void item(const std::string& term, const std::string& text);
  // A line of roff.
  void macro(const std::string& line);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace yoke::cli
