// Names of networks: what they mean, and how large that will be.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "base/nearest.h"
#include "torch_adapter/networks.h"

namespace yoke::torch_adapter {
namespace {

using Sizes = std::vector<std::int64_t>;
using Kind = Design::Kind;

constexpr std::int64_t kLargestSize = 1'000'000'000;

Error wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// Numbers joined by `separator`; empty: it is something else.
Sizes sizes_in(const std::string& text, char separator) {
  Sizes sizes;
  for (const char* at = text.c_str();;) {
    char* end = nullptr;
    const auto size = std::strtoll(at, &end, 10);
    if (end == at || size < 1 || size > kLargestSize || (*end && *end != separator)) return {};
    sizes.push_back(size);
    if (!*end) return sizes;
    at = end + 1;
  }
}

Result<Design> mlp(const std::string& text, const data::Schema& schema) {
  if (schema.tokens) return wrong("mlp computes with features, and this data is text: use --model lstm");
  Design design{Kind::mlp, {schema.width(), 512, 512, schema.outputs}, ""};
  if (text.empty()) return design;
  design.sizes = sizes_in(text, '-');
  if (design.sizes.empty())
    return wrong(fmt::format("'mlp:{}': sizes are numbers joined by '-', as in mlp:784-512-10", text));
  if (design.sizes.size() < 2 || design.sizes.front() != schema.width() || design.sizes.back() != schema.outputs)
    return wrong(fmt::format("'mlp:{}' does not fit this data of {} features and {} outputs: say mlp:{}-...-{}", text,
                             schema.width(), schema.outputs, schema.width(), schema.outputs));
  return design;
}

Result<Design> images_only(Design design, const std::string& name, const std::string& text, const data::Schema& schema,
                           char separator, std::size_t exactly) {
  if (schema.tokens || schema.shape.size() != 3)
    return wrong(fmt::format("{} needs images (channels, height, width), and this data is [{}]: use --model {}", name,
                             fmt::join(schema.shape, ", "), schema.tokens ? "lstm" : "mlp"));
  if (text.empty()) return design;
  const auto standard = design.name();
  design.sizes = sizes_in(text, separator);
  if (design.sizes.empty() || (exactly && design.sizes.size() != exactly))
    return wrong(fmt::format("'{}:{}': sizes are written as in {}", name, text, standard));
  return design;
}

Result<Design> lstm(const std::string& text, const data::Schema& schema) {
  if (!schema.tokens)
    return wrong("lstm reads characters, and this data has features: use --model mlp, or cnn for images");
  Design design{Kind::lstm, {128, 1}, ""};
  if (text.empty()) return design;
  design.sizes = sizes_in(text, 'x');
  if (design.sizes.size() == 1) design.sizes.push_back(1);
  if (design.sizes.size() != 2 || design.sizes[1] > 64)
    return wrong(fmt::format("'lstm:{}': the size and the layers are written as in lstm:128x1", text));
  return design;
}

bool is_file_name(const std::string& model) {
  std::error_code ignored;
  return model.ends_with(".pt") || model.ends_with(".pth") || model.ends_with(".ts") ||
         model.find('/') != std::string::npos || std::filesystem::is_regular_file(model, ignored);
}

}  // namespace

std::string Design::name() const {
  switch (kind) {
    case Kind::mlp:
      return fmt::format("mlp:{}", fmt::join(sizes, "-"));
    case Kind::cnn:
      return fmt::format("cnn:{}", fmt::join(sizes, "-"));
    case Kind::resnet:
      return fmt::format("resnet:{}", fmt::join(sizes, "x"));
    case Kind::lstm:
      return fmt::format("lstm:{}", fmt::join(sizes, "x"));
    case Kind::script:
      break;
  }
  return file;
}

Result<Design> design_of(const std::string& model, const data::Schema& schema) {
  const auto colon = model.find(':');
  const auto name = model.substr(0, colon);
  const auto text = colon == std::string::npos ? std::string() : model.substr(colon + 1);
  if (name == "mlp") return mlp(text, schema);
  if (name == "cnn") return images_only({Kind::cnn, {32, 64, 128}, ""}, name, text, schema, '-', 0);
  if (name == "resnet") return images_only({Kind::resnet, {16, 1}, ""}, name, text, schema, 'x', 2);
  if (name == "lstm") return lstm(text, schema);
  if (is_file_name(model)) return Design{Kind::script, {}, model};
  const std::vector<std::string> known{"mlp", "cnn", "resnet", "lstm", "synthetic"};
  const auto close = nearest(name, known);
  return wrong(
      fmt::format("there is no model '{}'{}; there are mlp, cnn, resnet, lstm (with sizes as in mlp:784-512-10, "
                  "cnn:32-64-128, resnet:16x1, lstm:128x1), TorchScript files (NAME.pt) and synthetic:PARAMETERS:STEP",
                  model, close.empty() ? "" : fmt::format(" (did you mean {}?)", close)));
}

std::uint64_t count_parameters(const Design& design, const data::Schema& schema) {
  const auto& sizes = design.sizes;
  double count = 0;  // sizes may be absurd: better inexact than wrapped around
  const auto linear = [&](double in, double out) { count += (in + 1) * out; };
  switch (design.kind) {
    case Kind::mlp:
      for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
        linear(static_cast<double>(sizes[i]), static_cast<double>(sizes[i + 1]));
      break;
    case Kind::cnn: {
      auto channels = static_cast<double>(schema.shape[0]);
      auto height = schema.shape[1], width = schema.shape[2];
      for (const auto filters : sizes) {
        linear(9 * channels, static_cast<double>(filters));
        channels = static_cast<double>(filters);
        if (std::min(height, width) >= 2) height /= 2, width /= 2;
      }
      linear(channels * static_cast<double>(height * width), static_cast<double>(schema.outputs));
      break;
    }
    case Kind::resnet: {
      const auto convolution = [&](double kernel, double in, double out) { count += kernel * in * out + 2 * out; };
      auto in = static_cast<double>(sizes[0]);
      convolution(9, static_cast<double>(schema.shape[0]), in);
      for (int stage = 0; stage < 3; ++stage)
        for (std::int64_t block = 0; block < sizes[1]; ++block) {
          const double out = static_cast<double>(sizes[0]) * static_cast<double>(1 << stage);
          convolution(9, in, out);
          convolution(9, out, out);
          if (in != out) convolution(1, in, out);
          in = out;
        }
      linear(in, static_cast<double>(schema.outputs));
      break;
    }
    case Kind::lstm: {
      const auto hidden = static_cast<double>(sizes[0]), symbols = static_cast<double>(schema.outputs);
      const double embedded = std::min(hidden, 64.0);
      count += symbols * embedded;
      for (std::int64_t layer = 0; layer < sizes[1]; ++layer)
        count += 4 * hidden * ((layer == 0 ? embedded : hidden) + hidden + 2);
      linear(hidden, symbols);
      break;
    }
    case Kind::script:
      break;
  }
  return static_cast<std::uint64_t>(std::min(count, 1e18));
}

std::string words_for(const Design& design) {
  const auto& sizes = design.sizes;
  switch (design.kind) {
    case Kind::mlp:
      return fmt::format("fully connected layers {}", fmt::join(sizes, " - "));
    case Kind::cnn:
      return fmt::format("convolutions with {} filters, then a linear layer", fmt::join(sizes, ", "));
    case Kind::resnet:
      return fmt::format("a residual network with batch-norm, 3 stages of {} block{} from {} filters up", sizes[1],
                         sizes[1] == 1 ? "" : "s", sizes[0]);
    case Kind::lstm:
      return fmt::format("a recurrent network, {} layer{} of {} LSTM cells", sizes[1], sizes[1] == 1 ? "" : "s",
                         sizes[0]);
    case Kind::script:
      break;
  }
  return "a TorchScript module";
}

}  // namespace yoke::torch_adapter
