#include "data/idx.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "data/byte_images.h"
#include "data/file.h"

namespace yoke::data {
namespace {

Error corrupt(const std::string& why) { return {Code::corrupt, why}; }

std::uint32_t big_endian(const std::uint8_t* at) {
  return std::uint32_t{at[0]} << 24 | std::uint32_t{at[1]} << 16 | std::uint32_t{at[2]} << 8 | std::uint32_t{at[3]};
}

// `stem` in `folder`, plain or else .gz.
Result<std::string> find(const std::string& folder, const std::string& stem, const std::string& remedy) {
  const auto plain = (std::filesystem::path(folder) / stem).string();
  for (const auto& file : {plain, plain + ".gz"}) {
    if (is_there(file)) return file;
  }
  return Error{Code::missing, fmt::format("{}.gz is not there: {}", plain, remedy)};
}

// What comes after the last '/' that is not at the end.
std::string last_name(const std::string& folder) {
  const auto path = std::filesystem::path(folder).lexically_normal();
  return path.has_filename() ? path.filename() : path.parent_path().filename();
}

// The images of one part with their labels.
struct Labelled {
  Idx images, labels;
  std::string images_file, labels_file;
};

Result<Idx> read_idx(const std::string& file, IdxKind kind) {
  auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  auto idx = parse_idx(std::move(*bytes), kind);
  if (!idx) return within(file, idx.error());
  return idx;
}

Result<Labelled> read_part(const std::string& folder, const std::string& prefix, const std::string& remedy) {
  auto images_file = find(folder, prefix + "-images-idx3-ubyte", remedy);
  if (!images_file) return images_file.error();
  auto labels_file = find(folder, prefix + "-labels-idx1-ubyte", remedy);
  if (!labels_file) return labels_file.error();
  auto images = read_idx(*images_file, IdxKind::images);
  if (!images) return images.error();
  auto labels = read_idx(*labels_file, IdxKind::labels);
  if (!labels) return labels.error();
  if (labels->extents[0] != images->extents[0]) {
    return within(*labels_file, corrupt(fmt::format("{} labels for the {} images of {}", labels->extents[0],
                                                    images->extents[0], *images_file)));
  }
  return Labelled{std::move(*images), std::move(*labels), std::move(*images_file), std::move(*labels_file)};
}

using Known = std::array<bool, 256>;  // which labels may be there

Status check_labels(const Labelled& part, const Known& known, const std::string& why) {
  const auto& labels = part.labels.elements;
  const auto bad = std::find_if(labels.begin(), labels.end(), [&](auto label) { return !known[label]; });
  if (bad == labels.end()) return {};
  return within(part.labels_file, corrupt(fmt::format("label {} of sample {} {}", *bad, bad - labels.begin(), why)));
}

Status check_labels(const Labelled& train, const Labelled& test, const Schema& schema, bool like) {
  Known below{}, trained{};
  std::fill_n(below.begin(), std::min<std::int64_t>(schema.outputs, 256), true);
  for (auto label : train.labels.elements) trained[label] = true;
  const auto why = fmt::format("is not below the {} classes", schema.outputs);
  if (auto fit = check_labels(train, below, why); !fit) return fit;
  return like ? check_labels(test, below, why) : check_labels(test, trained, "is one that no training sample has");
}

}  // namespace

Result<Idx> parse_idx(std::vector<std::uint8_t> bytes, IdxKind kind) {
  const auto magic = static_cast<std::uint32_t>(kind);
  const char* const what = kind == IdxKind::images ? "images" : "labels";
  const std::size_t dimensions = magic & 0xff;
  const std::size_t header = 4 * (1 + dimensions);
  if (bytes.size() < header) {
    return corrupt(fmt::format("{} bytes are no idx file of {}: the header alone has {}", bytes.size(), what, header));
  }
  if (const auto found = big_endian(bytes.data()); found != magic) {
    return corrupt(fmt::format("magic is {:08x}, but that of {} is {:08x}", found, what, magic));
  }
  Idx idx;
  const std::uint64_t length = bytes.size() - header;
  std::uint64_t wanted = 1;
  for (std::size_t d = 1; d <= dimensions; ++d) {
    const auto extent = idx.extents.emplace_back(big_endian(bytes.data() + 4 * d));
    if (extent == 0) return corrupt(fmt::format("dimension {} is 0: there are no {}", d, what));
    // Once it is past the length it stays so; not multiplying on keeps the product from wrapping around.
    if (wanted <= length) wanted *= extent;
  }
  if (wanted != length) {
    return corrupt(fmt::format("dimensions {} do not fit the {} bytes of {} that follow", fmt::join(idx.extents, "x"),
                               length, what));
  }
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  idx.elements = std::move(bytes);
  return idx;
}

Result<Opened> open_idx(const std::string& folder, const std::string& remedy, const Schema* like,
                        std::vector<std::string> names) {
  auto train = read_part(folder, "train", remedy);
  if (!train) return train.error();
  auto test = read_part(folder, "t10k", remedy);
  if (!test) return test.error();
  auto& [images, labels, images_file, labels_file] = *train;
  if (!std::equal(images.extents.begin() + 1, images.extents.end(), test->images.extents.begin() + 1)) {
    return within(folder, corrupt("training and test images differ in size"));
  }
  if (names.empty()) names = numbered(1 + *std::max_element(labels.elements.begin(), labels.elements.end()));
  auto schema = image_schema(folder, images.extents[1], images.extents[2], std::move(names), like);
  if (!schema) return schema.error();
  if (auto fit = check_labels(*train, *test, *schema, like != nullptr); !fit) return fit.error();

  Opened opened{last_name(folder), nullptr, std::vector<std::uint64_t>(labels.elements.size()),
                std::vector<std::uint64_t>(test->labels.elements.size())};
  std::iota(opened.train.begin(), opened.train.end(), 0);
  std::iota(opened.test.begin(), opened.test.end(), opened.train.size());
  const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(images.elements, test->images.elements);
  append(labels.elements, test->labels.elements);
  opened.source =
      std::make_shared<ByteImages>(std::move(*schema), std::move(images.elements), std::move(labels.elements));
  return opened;
}

}  // namespace yoke::data
