#include "cli/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <string_view>

namespace yoke::cli {
namespace {

// What a file that is no model file seems to be, and what to do with it; empty: no idea.
std::string guess(const std::string& file) {
  std::array<char, 24> first = {};
  std::ifstream(file, std::ios::binary).read(first.data(), first.size());
  const std::string_view start(first.data(), first.size());
  if (start.starts_with("PK"))
    return "it is a zip archive, as TorchScript and torch.save write them: load it with LibTorch or PyTorch and save "
           "its "
           "state as safetensors";
  if (start.starts_with("\x1f\x8b")) return "it is gzip: unpack it first";
  if (start.starts_with("version https://git-lfs"))
    return "it is a Git LFS pointer, which only stands for the file: get the file itself with `git lfs pull`";
  if (start[0] == 0 && start[1] == 0 && start[2] >= 0x08 && start[2] <= 0x0e && start[3] >= 1 && start[3] <= 4)
    return fmt::format(
        "it is an idx file of {} dimension{}, which is data and no model: name its folder with --data "
        "idx:DIR",
        int{start[3]}, start[3] == 1 ? "" : "s");
  return "";
}

bool is_floating(DType type) {
  return type == DType::f64 || type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

}  // namespace

TensorStats stats_of(const std::vector<double>& values) {
  TensorStats stats;
  double sum = 0, squares = 0;
  std::uint64_t finite = 0;
  for (const double value : values) {
    if (std::isnan(value)) ++stats.nan;
    if (std::isinf(value)) ++stats.infinite;
    if (!std::isfinite(value)) continue;
    ++finite;
    sum += value;
    squares += value * value;
    stats.min = std::min(stats.min.value_or(value), value);
    stats.max = std::max(stats.max.value_or(value), value);
  }
  if (finite > 0) stats.mean = sum / static_cast<double>(finite);
  stats.norm = std::sqrt(squares);
  return stats;
}

Result<Inspection> inspect(const std::string& file, bool stats) {
  auto header = checkpoint::read_model_header(file);
  if (!header) {
    const auto what = header.error().code == Code::corrupt ? guess(file) : "";
    return what.empty() ? header.error() : Error{Code::corrupt, fmt::format("{}: {}", file, what)};
  }
  Inspection inspection{file, std::move(*header), {}};
  for (std::size_t i = 0; stats && i < inspection.header.tensors.size(); ++i) {
    const auto& info = inspection.header.tensors[i];
    inspection.stats.emplace_back();
    const auto type = dtype_named(info.type);
    if (!type || !is_floating(*type)) continue;
    const auto tensor = checkpoint::read_tensor(file, inspection.header, info);
    if (!tensor) return tensor.error();
    const auto values = doubles_of(*tensor);
    if (!values) return values.error();
    inspection.stats.back() = stats_of(*values);
  }
  return inspection;
}

}  // namespace yoke::cli
