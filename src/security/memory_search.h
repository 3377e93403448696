// For tests: where in this process's own memory some bytes lie, as a core file or a debugger would find them.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <vector>

namespace yoke::security {

// Bytes to look for, held in a form in which the search does not find itself.
class Disguised {
 public:
  // The file is read into memory that is overwritten at once.
  static Disguised from_file(const std::string& path, std::size_t offset, std::size_t size) {
    Disguised made;
    made.bytes_.resize(size);
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const auto got = ::pread(file, made.bytes_.data(), size, static_cast<off_t>(offset));
    ::close(file);
    made.bytes_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    for (auto& byte : made.bytes_) byte = static_cast<unsigned char>(byte ^ kMask);
    return made;
  }
  std::size_t size() const { return bytes_.size(); }
  bool is_in(std::span<const unsigned char> memory) const {
    return std::search(memory.begin(), memory.end(), bytes_.begin(), bytes_.end(),
                       [](unsigned char a, unsigned char b) { return (a ^ kMask) == b; }) != memory.end();
  }

 private:
  static constexpr unsigned char kMask = 0xa5;
  std::vector<unsigned char> bytes_;
};

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  bool writable = false;
  std::string flags;  // VmFlags of /proc/self/smaps
};

inline std::vector<Mapping> mappings() {
  std::vector<Mapping> found;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    if (line.starts_with("VmFlags:")) {
      if (!found.empty()) found.back().flags = line.substr(8) + " ";
      continue;
    }
    std::istringstream words(line);
    Mapping mapping;
    char dash = 0;
    std::string rights;
    if (words >> std::hex >> mapping.begin >> dash >> mapping.end >> rights && dash == '-') {
      mapping.writable = rights.starts_with("rw");
      found.push_back(mapping);
    }
  }
  return found;
}

struct Sightings {
  std::size_t dumped = 0, kept_out = 0;  // windows with the bytes in them, by whether a core file would have them
};

inline Sightings search_memory(const Disguised& wanted) {
  constexpr std::size_t kShadow = std::size_t{1} << 30;  // larger mappings are the sanitizers' own
  constexpr std::size_t kWindow = std::size_t{1} << 20;
  // Memory is looked at through a window that is shared, so that it is a mapping of its own, which is left out.
  auto* window =
      static_cast<unsigned char*>(::mmap(nullptr, kWindow, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  Sightings seen;
  for (const auto& mapping : mappings()) {
    const bool is_window = mapping.begin == reinterpret_cast<std::uintptr_t>(window);
    if (!mapping.writable || is_window || mapping.end - mapping.begin > kShadow) continue;
    for (auto at = mapping.begin; at < mapping.end; at += kWindow - wanted.size() + 1) {
      const auto size = std::min(kWindow, static_cast<std::size_t>(mapping.end - at));
      const auto got = ::pread(memory, window, size, static_cast<off_t>(at));
      if (got <= 0 || !wanted.is_in({window, static_cast<std::size_t>(got)})) continue;
      ++(mapping.flags.find(" dd ") != std::string::npos ? seen.kept_out : seen.dumped);
    }
  }
  ::close(memory);
  ::munmap(window, kWindow);
  return seen;
}

}  // namespace yoke::security
