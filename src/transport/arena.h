// Memory that other processes of this host can read: regions of sealed memfds, handed out in pieces. What lies here
// travels over a shared-memory connection by naming its place; nothing is copied.
//
// The regions can neither shrink (nobody's read can fault) nor be written by those they are shown to. No lock and no
// count lives in them: a process that is killed leaves nothing behind that another would wait for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "yoke/error.h"

namespace yoke::transport {

inline constexpr std::size_t kMostRegions = 4096;  // of one arena, and what one peer may show

class Arena : public std::enable_shared_from_this<Arena> {
 public:
  // Takes no memory yet.
  static std::shared_ptr<Arena> make();
  ~Arena();

  // `size` bytes at a cache line, from any thread; null: there is no more to be had. Given back when the last owner
  // lets go, and then handed out again: in the steady state nothing is asked of the system.
  std::shared_ptr<std::byte> allocate(std::size_t size);

  struct Spot {
    std::uint32_t region = 0;
    std::uint64_t offset = 0;
  };
  // Where in which region these bytes lie; none: they are not the arena's.
  std::optional<Spot> find(const void* at, std::size_t size) const;
  // Of a region: the descriptor to be shown to others, and its size.
  int descriptor(std::uint32_t region) const;
  std::uint64_t size(std::uint32_t region) const;

 private:
  struct Region {
    int fd = -1;
    std::byte* at = nullptr;
    std::uint64_t size = 0;
    std::uint64_t used = 0;
  };
  Arena() = default;
  std::byte* take(std::size_t size);
  bool grow(std::size_t size);

  mutable std::mutex mutex_;
  std::vector<Region> regions_;
  std::map<std::size_t, std::vector<std::byte*>> free_;  // by size
};

// Another process's region, mapped to be read.
class Mapping {
 public:
  // Takes the descriptor over. Refuses what could shrink, or has not the size that was said.
  static Result<std::shared_ptr<Mapping>> open(int fd, std::uint64_t size);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  const std::byte* data() const { return at_; }
  std::uint64_t size() const { return size_; }

 private:
  Mapping(const std::byte* at, std::uint64_t size) : at_(at), size_(size) {}
  const std::byte* at_;
  std::uint64_t size_;
};

}  // namespace yoke::transport
