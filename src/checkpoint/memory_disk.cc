#include "checkpoint/memory_disk.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace yoke::checkpoint {

// One change of a folder's names: a rename is both, and survives as both or not at all.
struct MemoryDisk::Change {
  std::string gone, come;  // empty: none
  NodePtr node;            // what came
};

struct MemoryDisk::Node {
  using Names = std::map<std::string, NodePtr>;
  bool folder = false;
  std::vector<std::byte> bytes, lasting;  // of a file: now, and as of its last flush
  bool flushed = true;
  Names names, lasting_names;     // of a folder, likewise
  std::vector<Change> unflushed;  // what lies between the two
};

namespace {

Error missing(const std::string& path, std::string_view what, std::string_view why) {
  return {Code::missing, fmt::format("{}: cannot be {}: {}", path, what, why)};
}

template <class Names, class Change>
void enact(Names& names, const Change& change) {
  if (!change.gone.empty()) names.erase(change.gone);
  if (!change.come.empty()) names[change.come] = change.node;
}

}  // namespace

MemoryDisk::MemoryDisk(std::uint64_t seed) : root_(std::make_shared<Node>()), seed_(seed) { root_->folder = true; }
MemoryDisk::~MemoryDisk() = default;

std::uint64_t MemoryDisk::random(std::uint64_t end) { return end == 0 ? 0 : mix(seed_, drawn_++) % end; }

MemoryDisk::NodePtr MemoryDisk::find(const std::string& path) const {
  auto node = root_;
  for (std::size_t at = 0; node && at < path.size();) {
    const auto slash = std::min(path.find('/', at), path.size());
    const auto name = path.substr(at, slash - at);
    at = slash + 1;
    if (name.empty() || name == ".") continue;
    const auto found = node->names.find(name);
    node = found == node->names.end() ? nullptr : found->second;
  }
  return node;
}

std::pair<MemoryDisk::NodePtr, std::string> MemoryDisk::above(const std::string& path) const {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {root_, path};
  auto folder = find(path.substr(0, slash));
  return {folder && folder->folder ? folder : nullptr, path.substr(slash + 1)};
}

void MemoryDisk::change(Node& folder, Change change) {
  enact(folder.names, change);
  folder.unflushed.push_back(std::move(change));
}

std::uint64_t MemoryDisk::used(const Node& node) const {
  std::uint64_t bytes = node.bytes.size();
  for (const auto& [name, inside] : node.names) bytes += used(*inside);
  return bytes;
}

void MemoryDisk::power_cut() { survive(*root_); }

void MemoryDisk::survive(Node& node) {
  for (const auto& change : node.unflushed) {
    if (random(2) != 0) continue;
    // What was renamed from a name that did not survive is not there to be renamed: nothing has two names.
    const auto from = node.lasting_names.find(change.gone);
    if (change.node && !change.gone.empty() && (from == node.lasting_names.end() || from->second != change.node))
      continue;
    enact(node.lasting_names, change);
  }
  node.unflushed.clear();
  node.names = node.lasting_names;
  if (!node.flushed) {
    const auto size = node.bytes.size();
    switch (random(4)) {
      case 0:  // nothing of it
        node.bytes = node.lasting;
        break;
      case 1:  // a beginning
        node.bytes.resize(random(size + 1));
        break;
      case 2:  // its length, and not its bytes
        for (auto at = random(size); at < size; ++at) node.bytes[at] = std::byte(random(4) == 0 ? random(256) : 0);
        break;
      default:  // all
        break;
    }
    node.lasting = node.bytes;
    node.flushed = true;
  }
  for (const auto& [name, inside] : node.names) survive(*inside);
}

std::vector<std::byte>* MemoryDisk::content(const std::string& path) {
  const auto node = find(path);
  if (!node || node->folder) return nullptr;
  node->flushed = true;
  return &node->bytes;
}

Status MemoryDisk::make_folder(const std::string& path) {
  if (const auto there = find(path)) return there->folder ? Status{} : missing(path, "made", "it is a file");
  const auto [folder, name] = above(path);
  if (!folder) return missing(path, "made", "no such folder");
  const auto node = std::make_shared<Node>();
  node->folder = true;
  change(*folder, {"", name, node});
  return {};
}

Status MemoryDisk::write(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  const auto [folder, name] = above(path);
  auto node = find(path);
  if (!folder || (node && node->folder)) return missing(path, "written", "no such folder, or it is one");
  if (!node) {
    node = std::make_shared<Node>();
    change(*folder, {"", name, node});
  }
  node->bytes.clear();
  node->flushed = false;
  const auto left = capacity_ - std::min(capacity_, used(*root_));
  for (const auto& part : parts) {
    const auto fits = std::min<std::uint64_t>(part.size(), left - node->bytes.size());
    node->bytes.insert(node->bytes.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(fits));
    if (fits < part.size()) return missing(path, "written", "no space left on the disk: make room there");
  }
  return {};
}

Status MemoryDisk::flush_file(const std::string& path) {
  const auto node = find(path);
  if (!node || node->folder) return missing(path, "flushed", "no such file");
  node->lasting = node->bytes;
  node->flushed = true;
  return {};
}

Status MemoryDisk::flush_folder(const std::string& path) {
  const auto node = find(path);
  if (!node || !node->folder) return missing(path, "flushed", "no such folder");
  node->lasting_names = node->names;
  node->unflushed.clear();
  return {};
}

Status MemoryDisk::rename(const std::string& from, const std::string& to) {
  const auto node = find(from);
  const auto [folder, name] = above(from);
  const auto [other, new_name] = above(to);
  if (!node || !folder || folder != other || find(to)) return missing(from, "renamed to " + to, "not there, or taken");
  change(*folder, {name, new_name, node});
  return {};
}

Status MemoryDisk::remove(const std::string& path) {
  const auto [folder, name] = above(path);
  const auto node = find(path);
  if (!folder || !node) return {};
  // From within: what survives of it may be any part.
  const auto inside = node->names;
  for (const auto& [below, ignored] : inside)
    if (auto status = remove(path + "/" + below); !status) return status;
  change(*folder, {name, "", nullptr});
  return {};
}

Result<std::vector<std::string>> MemoryDisk::list(const std::string& path) {
  const auto node = find(path);
  if (!node || !node->folder) return missing(path, "listed", "no such folder");
  std::vector<std::string> names;
  for (const auto& [name, inside] : node->names) names.push_back(name);
  return names;
}

Result<bool> MemoryDisk::exists(const std::string& path) { return find(path) != nullptr; }

Result<std::uint64_t> MemoryDisk::size(const std::string& path) {
  const auto node = find(path);
  if (!node || node->folder) return missing(path, "read", "no such file");
  return node->bytes.size();
}

Result<std::size_t> MemoryDisk::read(const std::string& path, std::uint64_t offset, std::span<std::byte> out) {
  const auto node = find(path);
  if (!node || node->folder) return missing(path, "read", "no such file");
  const auto size = node->bytes.size();
  const auto have = offset >= size ? 0 : std::min<std::uint64_t>(out.size(), size - offset);
  std::copy_n(node->bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(offset, size)), have,
              out.begin());
  return have;
}

}  // namespace yoke::checkpoint
