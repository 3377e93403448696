// Writing a model file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/write_whole.h"
#include "train/model_file.h"

namespace yoke::train {
namespace {

Result<std::string> header_of(std::span<const StateTensor* const> tensors,
                              const std::map<std::string, std::string>& about) {
  std::string text(kLengthBytes, '\0');
  std::uint64_t at = 0;
  std::string_view now = kAboutKey;
  try {
    text += '{';
    if (!about.empty()) text += fmt::format("\"{}\":{},", kAboutKey, nlohmann::json(about).dump());
    for (const auto* tensor : tensors) {
      now = tensor->name;
      text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)",
                          nlohmann::json(tensor->name).dump(), name_of(tensor->type), fmt::join(tensor->shape, ","), at,
                          at + tensor->bytes.size());
      at += tensor->bytes.size();
    }
    if (text.back() == ',') text.pop_back();
    text += '}';
  } catch (const nlohmann::json::exception&) {
    return Error{Code::invalid_argument, fmt::format("'{}' has words that are not UTF-8: rename it", printable(now))};
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size() - kLengthBytes;
  std::memcpy(text.data(), &length, kLengthBytes);
  // Whoever reads it will check all this: better now, while there is somebody who can mend it.
  const auto checked = parse_model_header(std::as_bytes(std::span(text)), text.size() + at);
  if (!checked) return Error{Code::invalid_argument, checked.error().message};
  return text;
}

}  // namespace

Status write_model(const std::string& file, const State& state) {
  std::vector<const StateTensor*> tensors;
  for (const auto& tensor : state.tensors) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    const auto left = size_of(a->type), right = size_of(b->type);
    return std::tie(right, a->name) < std::tie(left, b->name);
  });
  const auto header = header_of(tensors, state.about);
  if (!header) return Error{header.error().code, fmt::format("{}: {}", file, header.error().message)};
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(*header))};
  for (const auto* tensor : tensors) parts.emplace_back(tensor->bytes);
  return write_whole(file, parts);
}

}  // namespace yoke::train
