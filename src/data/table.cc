#include "data/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace yoke::data {
namespace {

constexpr std::size_t kMaxColumns = 100'000;
constexpr std::string_view kByteOrderMarkInUtf8 = "\xef\xbb\xbf";

Error wrong_line(std::uint64_t line, const std::string& why) {
  return {Code::corrupt, fmt::format("line {}: {}", line, why)};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {
    if (rest_.starts_with(kByteOrderMarkInUtf8)) rest_.remove_prefix(kByteOrderMarkInUtf8.size());
    skip_empty_lines();
    separator_ = find_separator();
  }

  bool done() const { return rest_.empty(); }
  std::uint64_t line() const { return line_; }

  // Reads the row that begins here into `fields`, at most `limit` of them, and says how many it has; goes on to the
  // next row.
  Result<std::size_t> row(std::vector<std::string>& fields, std::size_t limit) {
    for (std::size_t count = 1;; ++count, rest_.remove_prefix(1)) {
      auto next = field(count);
      if (!next) return next.error();
      if (count <= limit) fields.push_back(std::move(*next));
      if (!at_line_end()) continue;
      skip_empty_lines();
      return count;
    }
  }

 private:
  bool at_line_end() const { return rest_.empty() || rest_.front() == '\n' || rest_.front() == '\r'; }
  bool ends_field(char c) const { return c == separator_ || c == '\n' || c == '\r'; }

  // A line ends with \n, \r\n or \r.
  void skip_line_end() {
    rest_.remove_prefix(rest_.starts_with("\r\n") ? 2 : 1);
    ++line_;
  }
  void skip_empty_lines() {
    while (!rest_.empty() && at_line_end()) skip_line_end();
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }

  char find_separator() const {
    bool quoted = false, semicolon = false, tab = false;
    for (char c : rest_) {
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == ',') return ',';
      if (c == '\n' || c == '\r') break;
      semicolon = semicolon || c == ';';
      tab = tab || c == '\t';
    }
    return semicolon ? ';' : tab ? '\t' : ',';
  }

  // Up to the separator or the end of the line.
  Result<std::string> field(std::size_t number) {
    skip_spaces();
    if (rest_.starts_with('"')) return quoted_field(number);
    std::size_t length = 0;
    while (length < rest_.size() && !ends_field(rest_[length])) ++length;
    const auto found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    if (found.find('\0') != found.npos)
      return wrong_line(line_, fmt::format("field {} has a zero byte: no text", number));
    return std::string(found.substr(0, found.find_last_not_of(' ') + 1));
  }

  Result<std::string> quoted_field(std::size_t number) {
    std::string found;
    const auto first_line = line_;
    do {
      rest_.remove_prefix(1);  // the opening quote, or the second of two that stand for one
      const auto length = rest_.find('"');
      if (length == rest_.npos) return wrong_line(first_line, fmt::format("the quotes of field {} do not end", number));
      const auto until = rest_.substr(0, length + 1);
      found += until;
      line_ += static_cast<std::uint64_t>(std::count(until.begin(), until.end(), '\n'));
      rest_.remove_prefix(until.size());
    } while (rest_.starts_with('"'));
    found.pop_back();
    skip_spaces();
    if (rest_.empty() || ends_field(rest_.front())) return found;
    return wrong_line(line_, fmt::format("field {} goes on after its quotes: write \"\" for quotes inside", number));
  }

  std::string_view rest_;
  std::uint64_t line_ = 1;
  char separator_ = ',';
};

// What is wrong with the columns' names, or nothing.
std::string check_names(const std::vector<std::string>& columns) {
  std::unordered_map<std::string_view, std::size_t> fields;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty()) return fmt::format("field {} of the header is empty: give the column a name", i + 1);
    const auto [same, added] = fields.emplace(columns[i], i);
    if (added) continue;
    return fmt::format("columns {} and {} are both called '{}': give one another name", same->second + 1, i + 1,
                       columns[i]);
  }
  return {};
}

}  // namespace

Result<Table> parse_table(std::string_view text, std::uint64_t limit) {
  Parser parser(text);
  if (parser.done()) return Error{Code::corrupt, "the file is empty: a header and rows are wanted"};
  Table table;
  const auto header_line = parser.line();
  const auto columns = parser.row(table.columns, kMaxColumns);
  if (!columns) return columns.error();
  if (*columns > kMaxColumns) {
    return wrong_line(header_line, fmt::format("{} columns, more than the limit of {}", *columns, kMaxColumns));
  }
  if (const auto why = check_names(table.columns); !why.empty()) return wrong_line(header_line, why);
  while (!parser.done()) {
    const auto line = parser.line();
    std::vector<std::string> row;
    row.reserve(*columns);
    const auto fields = parser.row(row, *columns);
    if (!fields) return fields.error();
    if (*fields != *columns)
      return wrong_line(line, fmt::format("{} fields, but the header has {}", *fields, *columns));
    if ((table.rows.size() + 1) * *columns > limit) {
      return wrong_line(line, fmt::format("more than {} fields: split the table", limit));
    }
    table.rows.push_back(std::move(row));
    table.lines.push_back(line);
  }
  if (table.rows.empty()) return wrong_line(header_line, "a header and nothing else: rows are wanted");
  return table;
}

}  // namespace yoke::data
