#include "data/image_folders.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

namespace yoke::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLayout =
    "images lie as DIR/CLASS/*.png, .jpg or .jpeg, a folder a class, or the same below DIR/train and DIR/test";

// What is in a folder and not hidden, in the order of the names: that of the disk is chance.
Result<std::vector<fs::path>> entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (!it->path().filename().string().starts_with('.')) found.push_back(it->path());
  }
  if (failure) return Error{Code::missing, fmt::format("{}: {}: {}", folder.string(), failure.message(), kLayout)};
  std::sort(found.begin(), found.end());
  return found;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // what may not be looked at counts as none
  return fs::is_directory(path, ignored);
}

bool is_image(const fs::path& path) {
  auto ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return (ending == ".png" || ending == ".jpg" || ending == ".jpeg") && !is_folder(path);
}

Result<std::vector<ClassFolder>> class_folders(const fs::path& folder) {
  auto classes = entries(folder);
  if (!classes) return classes.error();
  std::vector<ClassFolder> found;
  for (const auto& place : *classes) {
    if (!is_folder(place)) continue;
    auto files = entries(place);
    if (!files) return files.error();
    auto& added = found.emplace_back(ClassFolder{place.filename(), {}});
    for (const auto& file : *files) {
      if (is_image(file)) added.files.push_back(file);
    }
    if (added.files.empty()) {
      return Error{Code::invalid_argument, fmt::format("{}: no images in this folder: {}", place.string(), kLayout)};
    }
  }
  if (found.empty()) {
    return Error{Code::invalid_argument, fmt::format("{}: no folders in it: {}", folder.string(), kLayout)};
  }
  return found;
}

// A class may be called train, but has no folders in it.
bool has_folders(const fs::path& folder) {
  const auto found = entries(folder);
  return found && std::any_of(found->begin(), found->end(), is_folder);
}

}  // namespace

Result<ImageFolders> find_images(const std::string& folder) {
  const fs::path root(folder);
  const bool parts = has_folders(root / "train") && has_folders(root / "test");
  ImageFolders folders;
  auto train = class_folders(parts ? root / "train" : root);
  if (!train) return train.error();
  folders.train = std::move(*train);
  if (!parts) return folders;
  auto test = class_folders(root / "test");
  if (!test) return test.error();
  folders.test = std::move(*test);
  return folders;
}

}  // namespace yoke::data
