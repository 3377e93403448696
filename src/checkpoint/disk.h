// What writing and reading checkpoints does to a disk, and nothing else does: the simulator has one of its own, that
// loses what was not flushed.
//
// A path is a text with '/' between names. Nothing lasts through a power cut before it was flushed: a file's bytes by
// flush_file, names made, changed and removed in a folder by flush_folder. A rename is whole or not there, at any time.
// Errors are Code::missing and name the path, the reason and, where there is one, the remedy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::checkpoint {

class Disk {
 public:
  virtual ~Disk() = default;

  // One that is there already is fine. The folder above must be there.
  virtual Status make_folder(const std::string& path) = 0;
  // A file of these parts, one behind the other; what was there before is replaced, not kept until it is done.
  virtual Status write(const std::string& path, std::span<const std::span<const std::byte>> parts) = 0;
  // Called between the pieces of what takes long: a disk that has time lets its thread rest here.
  virtual void breathe() {}
  virtual Status flush_file(const std::string& path) = 0;
  virtual Status flush_folder(const std::string& path) = 0;
  // Within one folder; there is nothing yet of the new name.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  // A file, or a folder and all in it. Nothing there: fine.
  virtual Status remove(const std::string& path) = 0;

  // The names in a folder, in order.
  virtual Result<std::vector<std::string>> list(const std::string& path) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  // Bytes of a file.
  virtual Result<std::uint64_t> size(const std::string& path) = 0;
  // As many bytes from `offset` on as the file has and `out` takes: how many.
  virtual Result<std::size_t> read(const std::string& path, std::uint64_t offset, std::span<std::byte> out) = 0;
};

// This machine's. From any thread.
Disk& posix_disk();
// The same, for what has time: `rest` is called between pieces.
std::unique_ptr<Disk> unhurried_disk(std::function<void()> rest);

}  // namespace yoke::checkpoint
