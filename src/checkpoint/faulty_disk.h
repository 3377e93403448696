// For tests and the simulator: a disk that does what it is told until its n-th operation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "checkpoint/disk.h"

namespace yoke::checkpoint {

class FaultyDisk final : public Disk {
 public:
  // Asked before every operation, with its number from 0, its name and path. Nothing: it is done. An answer: it is not,
  // and this is what is said; that all is well can be said of what changes the disk. It may throw: that is a crash.
  using Answer = std::optional<Status>;
  using Fault = std::function<Answer(std::uint64_t number, std::string_view operation, const std::string& path)>;

  // `disk` outlives it.
  FaultyDisk(Disk& disk, Fault fault) : disk_(disk), fault_(std::move(fault)) {}
  std::uint64_t operations() const { return operations_; }

  Status make_folder(const std::string& path) override {
    return guard("make_folder", path, [&] { return disk_.make_folder(path); });
  }
  Status write(const std::string& path, std::span<const std::span<const std::byte>> parts) override {
    return guard("write", path, [&] { return disk_.write(path, parts); });
  }
  Status flush_file(const std::string& path) override {
    return guard("flush_file", path, [&] { return disk_.flush_file(path); });
  }
  Status flush_folder(const std::string& path) override {
    return guard("flush_folder", path, [&] { return disk_.flush_folder(path); });
  }
  Status rename(const std::string& from, const std::string& to) override {
    return guard("rename", from, [&] { return disk_.rename(from, to); });
  }
  Status remove(const std::string& path) override {
    return guard("remove", path, [&] { return disk_.remove(path); });
  }
  Result<std::vector<std::string>> list(const std::string& path) override {
    return guard("list", path, [&] { return disk_.list(path); });
  }
  Result<bool> exists(const std::string& path) override {
    return guard("exists", path, [&] { return disk_.exists(path); });
  }
  Result<std::uint64_t> size(const std::string& path) override {
    return guard("size", path, [&] { return disk_.size(path); });
  }
  Result<std::size_t> read(const std::string& path, std::uint64_t offset, std::span<std::byte> out) override {
    return guard("read", path, [&] { return disk_.read(path, offset, out); });
  }

 private:
  template <class Operation>
  auto guard(std::string_view name, const std::string& path, Operation operation) -> decltype(operation()) {
    const auto answer = fault_(operations_++, name, path);
    if (!answer) return operation();
    if constexpr (std::is_same_v<decltype(operation()), Status>) {
      return *answer;
    } else {
      return answer->ok() ? operation() : answer->error();
    }
  }

  Disk& disk_;
  const Fault fault_;
  std::uint64_t operations_ = 0;
};

}  // namespace yoke::checkpoint
