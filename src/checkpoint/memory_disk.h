// A disk in memory that loses what was not flushed: for tests and for the simulator. What survives a power cut is a
// function of the seed: of a file's unflushed bytes nothing, all, a beginning or garbage; of the unflushed changes to a
// folder's names any, each for itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/disk.h"

namespace yoke::checkpoint {

class MemoryDisk final : public Disk {
 public:
  explicit MemoryDisk(std::uint64_t seed = 0);
  ~MemoryDisk() override;

  // The power goes, and comes back.
  void power_cut();
  // So many bytes of files fit; a write that does not fit leaves its beginning, as a full disk does.
  void hold_at_most(std::uint64_t bytes) { capacity_ = bytes; }
  // The bytes of a file, to be damaged; null: there is no such file. As if they had always been so on the disk.
  std::vector<std::byte>* content(const std::string& path);

  Status make_folder(const std::string& path) override;
  Status write(const std::string& path, std::span<const std::span<const std::byte>> parts) override;
  Status flush_file(const std::string& path) override;
  Status flush_folder(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;
  Result<std::vector<std::string>> list(const std::string& path) override;
  Result<bool> exists(const std::string& path) override;
  Result<std::uint64_t> size(const std::string& path) override;
  Result<std::size_t> read(const std::string& path, std::uint64_t offset, std::span<std::byte> out) override;

 private:
  struct Node;
  struct Change;
  using NodePtr = std::shared_ptr<Node>;

  NodePtr find(const std::string& path) const;
  // The folder above, and the name in it.
  std::pair<NodePtr, std::string> above(const std::string& path) const;
  void change(Node& folder, Change change);
  void survive(Node& node);
  std::uint64_t used(const Node& node) const;
  std::uint64_t random(std::uint64_t end);

  NodePtr root_;
  std::uint64_t seed_, drawn_ = 0;
  std::uint64_t capacity_ = UINT64_MAX;
};

}  // namespace yoke::checkpoint
