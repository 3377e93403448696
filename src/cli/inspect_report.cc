// The two faces of an inspection: a table and JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/inspect_tables.h"

namespace yoke::cli {
namespace {

constexpr std::size_t kLeftColumns = 3;  // words
constexpr std::size_t kMostOfAWord = 76;

std::uint64_t elements_in(const checkpoint::TensorInfo& info) { return elements_of(info.shape).value_or(0); }

std::uint64_t all_elements(const checkpoint::ModelHeader& header) {
  std::uint64_t all = 0;
  for (const auto& info : header.tensors) all += elements_in(info);
  return all;
}

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string in_short(const std::optional<double>& number) { return number ? fmt::format("{:.4g}", *number) : "-"; }

Row row_of(const Inspection& inspection, std::size_t i) {
  const auto& info = inspection.header.tensors[i];
  Row row{checkpoint::printable(info.name), info.type, fmt::format("[{}]", fmt::join(info.shape, ", ")),
          std::to_string(elements_in(info)), std::to_string(info.end - info.begin)};
  if (inspection.stats.empty()) return row;
  if (const auto& stats = inspection.stats[i]) {
    for (const auto& number : {stats->min, stats->mean, stats->max, std::optional(stats->norm)})
      row.push_back(in_short(number));
    row.push_back(std::to_string(stats->nan));
    row.push_back(std::to_string(stats->infinite));
  } else {
    row.insert(row.end(), 6, "-");
  }
  return row;
}

}  // namespace

std::string aligned(const std::vector<Row>& rows, std::size_t words) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], fmt::formatted_size("{}", row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += i < words ? fmt::format("{:<{}}", row[i], widths[i]) : fmt::format("{:>{}}", row[i], widths[i]);
    }
    text += line + "\n";
  }
  return text;
}

std::string about_as_text(const std::map<std::string, std::string>& about) {
  std::string text;
  for (const auto& [key, words] : about)
    text += fmt::format("  {}: {}\n", checkpoint::printable(key), checkpoint::printable(words, kMostOfAWord));
  return text;
}

std::string tensors_as_text(const Inspection& inspection) {
  const auto& header = inspection.header;
  std::string text;
  if (!header.tensors.empty()) {
    std::vector<Row> rows{{"tensor", "type", "shape", "elements", "bytes"}};
    if (!inspection.stats.empty()) rows[0].insert(rows[0].end(), {"min", "mean", "max", "norm", "NaN", "Inf"});
    for (std::size_t i = 0; i < header.tensors.size(); ++i) rows.push_back(row_of(inspection, i));
    text += "\n" + aligned(rows, kLeftColumns) + "\n";
  }
  return text + fmt::format("{}, {}, {}\n", plural(header.tensors.size(), "tensor"),
                            plural(all_elements(header), "element"), plural(header.data_bytes, "byte"));
}

std::string as_text(const Inspection& inspection) {
  const auto& header = inspection.header;
  return fmt::format("{}: {} bytes, safetensors\n", inspection.file, header.header_bytes + header.data_bytes) +
         about_as_text(header.about) + tensors_as_text(inspection);
}

nlohmann::ordered_json tensors_as_json(const Inspection& inspection) {
  using Json = nlohmann::ordered_json;
  const auto& header = inspection.header;
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  auto tensors = Json::array();
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    const auto& info = header.tensors[i];
    Json entry{{"name", info.name},
               {"type", info.type},
               {"shape", info.shape},
               {"elements", elements_in(info)},
               {"bytes", info.end - info.begin}};
    if (!inspection.stats.empty() && inspection.stats[i]) {
      const auto& stats = *inspection.stats[i];
      entry["stats"] = {{"min", number(stats.min)},   {"mean", number(stats.mean)}, {"max", number(stats.max)},
                        {"norm", number(stats.norm)}, {"nan", stats.nan},           {"infinite", stats.infinite}};
    }
    tensors.push_back(std::move(entry));
  }
  return {{"tensors", std::move(tensors)},
          {"total",
           {{"tensors", header.tensors.size()}, {"elements", all_elements(header)}, {"bytes", header.data_bytes}}}};
}

std::string as_json(const Inspection& inspection) {
  using Json = nlohmann::ordered_json;
  const auto& header = inspection.header;
  Json all{{"file", inspection.file}, {"file_bytes", header.header_bytes + header.data_bytes}, {"about", header.about}};
  all.update(tensors_as_json(inspection));
  // A file's name need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace yoke::cli
