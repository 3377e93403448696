#include "transport/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace yoke::transport {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kRegion = 64u << 20;                  // pages are only taken when they are touched
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;  // of one piece: more cannot be mapped
constexpr long kTmpfs = 0x01021994;                           // what memfds live in

// Sizes come again and again at every step: rounding up a little makes one piece fit many of them.
std::size_t rounded(std::size_t size) {
  const auto step = size < 16 * kPage ? kCacheLine : kPage;
  return (std::max<std::size_t>(size, 1) + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<Arena> Arena::make() { return std::shared_ptr<Arena>(new Arena); }

Arena::~Arena() {
  for (const auto& region : regions_) {
    munmap(region.at, region.size);
    close(region.fd);
  }
}

bool Arena::grow(std::size_t size) {
  if (regions_.size() >= kMostRegions) return false;
  Region region;
  region.size = std::max<std::uint64_t>(kRegion, (size + kPage - 1) / kPage * kPage);
  region.fd = memfd_create("yoke", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (region.fd < 0) return false;
  void* at = MAP_FAILED;
  if (ftruncate(region.fd, static_cast<off_t>(region.size)) == 0)
    at = mmap(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
  // Sealed when our own mapping stands: from then on it keeps its size, and nobody else can write to it.
  if (at == MAP_FAILED ||
      fcntl(region.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    if (at != MAP_FAILED) munmap(at, region.size);
    close(region.fd);
    return false;
  }
  region.at = static_cast<std::byte*>(at);
  regions_.push_back(region);
  return true;
}

std::byte* Arena::take(std::size_t size) {
  if (auto& list = free_[size]; !list.empty()) {
    auto* at = list.back();
    list.pop_back();
    return at;
  }
  if (regions_.empty() || regions_.back().size - regions_.back().used < size)
    if (!grow(size)) return nullptr;
  auto& region = regions_.back();
  auto* at = region.at + region.used;
  region.used += size;
  return at;
}

std::shared_ptr<std::byte> Arena::allocate(std::size_t size) {
  if (size > kMostBytes) return nullptr;
  size = rounded(size);
  std::byte* at = nullptr;
  {
    const std::lock_guard lock(mutex_);
    at = take(size);
  }
  if (!at) return nullptr;
  return {at, [arena = shared_from_this(), size](std::byte* piece) {
            const std::lock_guard inner(arena->mutex_);
            arena->free_[size].push_back(piece);
          }};
}

std::optional<Arena::Spot> Arena::find(const void* at, std::size_t size) const {
  const auto place = reinterpret_cast<std::uintptr_t>(at);
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < regions_.size(); ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(regions_[i].at);
    if (place >= begin && place - begin <= regions_[i].size && size <= regions_[i].size - (place - begin))
      return Spot{i, place - begin};
  }
  return std::nullopt;
}

int Arena::descriptor(std::uint32_t region) const {
  const std::lock_guard lock(mutex_);
  return regions_.at(region).fd;
}

std::uint64_t Arena::size(std::uint32_t region) const {
  const std::lock_guard lock(mutex_);
  return regions_.at(region).size;
}

Result<std::shared_ptr<Mapping>> Mapping::open(int fd, std::uint64_t size) {
  const auto refuse = [fd](std::string why) {
    close(fd);
    return Error{Code::corrupt, "a region of shared memory is refused: " + std::move(why)};
  };
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW;
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded) return refuse("it is not sealed against shrinking");
  // Others of their kind (huge pages) may have no page to give when one is read.
  struct statfs place {};
  if (fstatfs(fd, &place) != 0 || place.f_type != kTmpfs) return refuse("it is no plain memory");
  struct stat about {};
  if (fstat(fd, &about) != 0 || size == 0 || static_cast<std::uint64_t>(about.st_size) != size)
    return refuse(fmt::format("it has {} bytes, {} were said", about.st_size, size));
  void* at = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return refuse(std::strerror(errno));
  close(fd);
  return std::shared_ptr<Mapping>(new Mapping(static_cast<const std::byte*>(at), size));
}

Mapping::~Mapping() { munmap(const_cast<std::byte*>(at_), size_); }

}  // namespace yoke::transport
