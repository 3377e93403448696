#include "data/known_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "data/csv.h"
#include "data/digits.h"
#include "data/file.h"
#include "data/idx.h"
#include "data/text.h"

// Folders that may hold the sets that come with Yoke, separated by ':' (the source tree's, the installed one).
#ifndef YOKE_DATA_DIR
#error "the build has to define YOKE_DATA_DIR"
#endif

namespace yoke::data {
namespace {

namespace fs = std::filesystem;

Error missing(const std::string& file, const std::string& remedy) {
  return {Code::missing, fmt::format("{} is not there: {}", file, remedy)};
}

Result<Opened> named(const char* name, Result<Opened> opened) {
  if (opened) opened->name = name;
  return opened;
}

// Where a file that comes with Yoke lies.
Result<std::string> shipped(const std::string& set, const std::string& file) {
  std::string_view folders = YOKE_DATA_DIR;
  while (!folders.empty()) {
    const auto folder = folders.substr(0, folders.find(':'));
    folders.remove_prefix(std::min(folder.size() + 1, folders.size()));
    if (auto found = (fs::path(folder) / file).string(); is_there(found)) return found;
  }
  return missing(file,
                 fmt::format("looked in {}; say where it is as {}:FILE, or install Yoke again", YOKE_DATA_DIR, set));
}

// Where `yoke data fetch` has put a set.
Result<std::string> fetched(const std::string& set, const std::string& entry, const OpenOptions& options) {
  const auto path = (fs::path(options.cache) / entry).string();
  if (!options.cache.empty() && is_there(path)) return path;
  return missing(options.cache.empty() ? set : path, "yoke data fetch " + set);
}

// What `place` says, where it says anything; else `standard`.
Result<std::string> place_or(const std::string& place, Result<std::string> standard) {
  return place.empty() ? std::move(standard) : place;
}

}  // namespace

Result<Opened> fashion_mnist(const std::string& place, const OpenOptions&, const Schema* like) {
  return named("fashion-mnist",
               open_idx(place.empty() ? "/usr/share/datasets/fashion-mnist" : place,
                        "apt-get install dataset-fashion-mnist, or name the folder as fashion-mnist:DIR", like,
                        {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
                         "Ankle boot"}));
}

Result<Opened> mnist(const std::string& place, const OpenOptions& options, const Schema* like) {
  const auto folder = place_or(place, fetched("mnist", "mnist", options));
  if (!folder) return folder.error();
  return named("mnist", open_idx(*folder, "yoke data fetch mnist, or name the folder as mnist:DIR", like));
}

Result<Opened> digits(const std::string& place, const OpenOptions&, const Schema* like) {
  const auto file = place_or(place, shipped("digits", "digits.csv.gz"));
  if (!file) return file.error();
  return open_digits(*file, like);
}

Result<Opened> diabetes(const std::string& place, const OpenOptions& options, const Schema* like) {
  const auto file = place_or(place, shipped("diabetes", "diabetes.csv"));
  if (!file) return file.error();
  auto with_target = options;
  if (with_target.target.empty()) with_target.target = {"progression"};
  return named("diabetes", open_csv(*file, with_target, like));
}

Result<Opened> moby_dick(const std::string& place, const OpenOptions& options, const Schema* like) {
  const auto file = place_or(place, fetched("moby-dick", "moby-dick.txt", options));
  if (!file) return file.error();
  return named("moby-dick", open_text(*file, options, like));
}

}  // namespace yoke::data
