// Writing a model file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/write_whole.h"
#include "checkpoint/model_file.h"

namespace yoke::checkpoint {

Result<std::string> model_header_text(std::span<const TensorInfo> tensors,
                                      const std::map<std::string, std::string>& about) {
  std::string text(kLengthBytes, '\0');
  std::string_view now = kAboutKey;
  try {
    text += '{';
    if (!about.empty()) text += fmt::format("\"{}\":{},", kAboutKey, nlohmann::json(about).dump());
    for (const auto& tensor : tensors) {
      now = tensor.name;
      text +=
          fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)", nlohmann::json(tensor.name).dump(),
                      tensor.type, fmt::join(tensor.shape, ","), tensor.begin, tensor.end);
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
  const auto checked =
      parse_model_header(std::as_bytes(std::span(text)), text.size() + (tensors.empty() ? 0 : tensors.back().end));
  if (!checked) return Error{Code::invalid_argument, checked.error().message};
  return text;
}

Status write_model(const std::string& file, const State& state) {
  std::vector<const StateTensor*> tensors;
  for (const auto& tensor : state.tensors) tensors.push_back(&tensor);
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto* a, const auto* b) {
    const auto left = size_of(a->type), right = size_of(b->type);
    return std::tie(right, a->name) < std::tie(left, b->name);
  });
  std::vector<TensorInfo> infos;
  std::uint64_t at = 0;
  for (const auto* tensor : tensors) {
    infos.push_back({tensor->name, std::string(name_of(tensor->type)), tensor->shape, at, at + tensor->bytes.size()});
    at += tensor->bytes.size();
  }
  const auto header = model_header_text(infos, state.about);
  if (!header) return Error{header.error().code, fmt::format("{}: {}", file, header.error().message)};
  std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(*header))};
  for (const auto* tensor : tensors) parts.emplace_back(tensor->bytes);
  return write_whole(file, parts);
}

}  // namespace yoke::checkpoint
