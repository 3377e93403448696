#include "data/open.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/nearest.h"
#include "data/csv.h"
#include "data/file.h"
#include "data/idx.h"
#include "data/images.h"
#include "data/known_sets.h"
#include "data/split.h"
#include "data/text.h"
#include "data/wrong.h"

namespace yoke::data {
namespace {

Result<Opened> idx(const std::string& place, const OpenOptions&, const Schema* like) {
  return open_idx(place, "the four files are named as MNIST's", like);
}

enum class Reads { images, table, text };  // which options it knows

struct Kind {
  std::string name;
  const char* place;  // what may follow the name
  bool by_itself;     // the place need not be said
  Reads reads;
  Result<Opened> (*open)(const std::string& place, const OpenOptions&, const Schema* like);
};

const std::array<Kind, 9>& kinds() {
  static const std::array<Kind, 9> kinds{{
      {"fashion-mnist", "DIR", true, Reads::images, fashion_mnist},
      {"mnist", "DIR", true, Reads::images, mnist},
      {"digits", "FILE", true, Reads::images, digits},
      {"diabetes", "FILE", true, Reads::table, diabetes},
      {"moby-dick", "FILE", true, Reads::text, moby_dick},
      {"idx", "DIR", false, Reads::images, idx},
      {"csv", "FILE", false, Reads::table, open_csv},
      {"text", "FILE", false, Reads::text, open_text},
      {"images", "DIR", false, Reads::images, open_images},
  }};
  return kinds;
}

const Kind* find_kind(std::string_view name) {
  const auto found = std::find_if(kinds().begin(), kinds().end(), [&](const Kind& kind) { return kind.name == name; });
  return found == kinds().end() ? nullptr : &*found;
}

bool ends_with_any(std::string_view path, std::initializer_list<std::string_view> suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(), [&](auto suffix) { return path.ends_with(suffix); });
}

// The kind of what lies at `path`, or would lie there; none: it cannot be told.
const Kind* kind_at(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    const auto stem = path + "/train-images-idx3-ubyte";
    return find_kind(is_there(stem) || is_there(stem + ".gz") ? "idx" : "images");
  }
  if (ends_with_any(path, {".csv", ".tsv", ".csv.gz", ".tsv.gz"})) return find_kind("csv");
  if (ends_with_any(path, {".txt", ".txt.gz"})) return find_kind("text");
  return nullptr;
}

Error unknown(const std::string& name) {
  std::vector<std::string> names, forms;
  for (const auto& kind : kinds()) {
    names.push_back(kind.name);
    forms.push_back(kind.name + (kind.by_itself ? fmt::format("[:{}]", kind.place) : fmt::format(":{}", kind.place)));
  }
  const auto near = nearest(name.substr(0, name.find(':')), names);
  return wrong(
      fmt::format("no data set is called '{}'{}: there are {}; a file (csv, tsv, txt, also .gz) or a folder is "
                  "given by its path, as in ./prices.csv",
                  name, near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(forms, ", ")));
}

// Options that the kind would pass over in silence.
Status check_options(const Kind& kind, const OpenOptions& options) {
  if (auto good = check_share("test share", options.test_share); !good) return good;
  if (!options.test.empty() && kind.reads == Reads::images) {
    return wrong(
        fmt::format("{}: a test file of its own (--test-data {}) is for tables and texts", kind.name, options.test));
  }
  const bool of_tables =
      options.task || !options.target.empty() || !options.ignore.empty() || !options.categories.empty();
  if (!of_tables || kind.reads == Reads::table) return {};
  return wrong(fmt::format("{}: --target, --task, --ignore and --categories are for tables", kind.name));
}

}  // namespace

Result<Opened> open(const OpenOptions& options, const Schema* like) {
  const auto& name = options.name;
  const auto colon = name.find(':');
  const auto* kind = find_kind(std::string_view(name).substr(0, colon));
  std::string place;
  if (kind != nullptr) {
    if (colon != std::string::npos) place = name.substr(colon + 1);
    if (place.empty() && (colon != std::string::npos || !kind->by_itself)) {
      return wrong(fmt::format("'{}' does not say where: write {}:{}", name, kind->name, kind->place));
    }
  } else {
    place = name;
    kind = kind_at(place);
    if (!is_there(place) && (kind != nullptr || place.find('/') != std::string::npos)) {
      return Error{Code::missing, place + " is not there: check the path"};
    }
    if (kind == nullptr) return unknown(name);
  }
  if (auto good = check_options(*kind, options); !good) return good.error();
  return kind->open(place, options, like);
}

}  // namespace yoke::data
