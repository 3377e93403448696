#include "cli/roff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace yoke::cli {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

}  // namespace

std::string roff_escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\(rs";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '"':
        result += "\\(dq";
        break;  // means something in the arguments of a macro
      default:
        result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string roff_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

void RoffPage::section(const std::string& heading) { macro(".SH \"" + roff_escaped(roff_capitals(heading)) + "\""); }

void RoffPage::subsection(const std::string& heading) { macro(".SS \"" + roff_escaped(heading) + "\""); }

void RoffPage::paragraph() {
  const auto before = text_.size() < 2 ? std::string::npos : text_.rfind('\n', text_.size() - 2);
  const auto last = before == std::string::npos ? 0 : before + 1;
  if (text_.compare(last, 2, ".S") != 0) macro(".PP");
}

void RoffPage::line(const std::string& text) {
  if (const auto inner = trimmed(text); !inner.empty()) macro(roff_escaped(inner));
}

void RoffPage::prose(const std::vector<std::string>& lines) {
  std::vector<std::string> kept;
  bool fresh = true;  // no text since the last break
  const auto flush = [&] {
    if (!kept.empty()) verbatim(kept);
    kept.clear();
  };
  for (const auto& one : lines) {
    const bool empty = trimmed(one).empty();
    if (one.starts_with(' ') && !empty) {
      kept.push_back(one.substr(std::min<std::size_t>(2, one.find_first_not_of(' '))));
      fresh = true;
      continue;
    }
    flush();
    if (!empty && fresh) paragraph();
    fresh = empty;
    line(one);
  }
  flush();
}

void RoffPage::verbatim(const std::vector<std::string>& lines) {
  paragraph();
  macro(".RS 4\n.EX");
  for (const auto& one : lines) macro(roff_escaped(one));
  macro(".EE\n.RE");
}

void RoffPage::item(const std::string& term, const std::string& text) {
  macro(".TP\n" + term);
  if (trimmed(text).empty()) macro("\\&");  // an item needs a body
  line(text);
}

void RoffPage::macro(const std::string& line) { text_ += line + "\n"; }

}  // namespace yoke::cli
