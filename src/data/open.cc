#include "data/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "data/digits.h"
#include "data/idx.h"

// Folders that may hold the sets that come with Yoke, separated by ':' (the source tree's, the installed one).
#ifndef YOKE_DATA_DIR
#error "the build has to define YOKE_DATA_DIR"
#endif

namespace yoke::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFashionMnistDir = "/usr/share/datasets/fashion-mnist";
// Of pixels / 255, over the training set.
constexpr float kFashionMnistMean = 0.2860F, kFashionMnistDeviation = 0.3530F;

// A folder that may not be looked into counts as one without the file.
bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

Error missing(const std::string& file, const std::string& remedy) {
  return {Code::invalid_argument, fmt::format("{} is not there: {}", file, remedy)};
}

// `stem` with or without .gz in `dir`; with it where neither is there.
std::string either(const fs::path& dir, const std::string& stem) {
  const auto plain = dir / stem;
  return is_there(plain) ? plain : dir / (stem + ".gz");
}

Result<Dataset> fashion_mnist(const fs::path& dir, const std::string& prefix, const char* part) {
  const auto images = either(dir, prefix + "-images-idx3-ubyte");
  const auto labels = either(dir, prefix + "-labels-idx1-ubyte");
  for (const auto& file : {images, labels}) {
    if (is_there(file)) continue;
    return missing(file, "apt-get install dataset-fashion-mnist, or name the folder as fashion-mnist:DIR");
  }
  auto set = read_idx(images, labels, 10);
  if (!set) return set.error();
  set->name = fmt::format("fashion-mnist {}", part);
  set->scale = 1 / (255 * kFashionMnistDeviation);
  set->shift = -kFashionMnistMean / kFashionMnistDeviation;
  return set;
}

Result<Split> fashion_mnist(const fs::path& dir) {
  auto train = fashion_mnist(dir, "train", "train");
  if (!train) return train.error();
  auto test = fashion_mnist(dir, "t10k", "test");
  if (!test) return test.error();
  if (train->shape != test->shape) {
    return Error{Code::corrupt, fmt::format("{}: training and test images differ in size", dir.string())};
  }
  return Split{std::move(*train), std::move(*test)};
}

Result<Split> digits(std::string file) {
  std::string_view folders = YOKE_DATA_DIR;
  while (file.empty() && !folders.empty()) {
    const auto folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (const auto found = fs::path(folder) / "digits.csv.gz"; is_there(found)) file = found;
  }
  if (file.empty()) {
    return missing("digits.csv.gz",
                   "looked in " YOKE_DATA_DIR "; say where it is as digits:FILE, or install Yoke again");
  }
  return read_digits(file);
}

}  // namespace

Result<Split> open(const std::string& name) {
  const auto colon = name.find(':');
  const auto set = name.substr(0, colon);
  const auto place = colon == std::string::npos ? std::string() : name.substr(colon + 1);
  if (colon == std::string::npos || !place.empty()) {
    if (set == "fashion-mnist") return fashion_mnist(place.empty() ? kFashionMnistDir : place);
    if (set == "digits") return digits(place);
  }
  return Error{
      Code::invalid_argument,
      fmt::format("no data set is called '{}': there are fashion-mnist, fashion-mnist:DIR, digits, digits:FILE", name)};
}

}  // namespace yoke::data
