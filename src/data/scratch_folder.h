// For tests: a folder that goes when the test ends, and the files put there.
#pragma once

#include <stdlib.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>

namespace yoke::data {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "yoke-data-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string plain(const std::string& name, const std::string& content) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << content;
    return path_ + "/" + name;
  }
  std::string gzip(const std::string& name, const std::string& content) const {
    gzFile file = gzopen((path_ + "/" + name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// An idx file's content: the header of these big-endian integers, then `length` bytes that count up from 0.
inline std::string idx_content(std::initializer_list<std::uint32_t> header, std::size_t length) {
  std::string content;
  for (auto field : header) {
    for (int shift = 24; shift >= 0; shift -= 8) content += static_cast<char>(field >> shift);
  }
  for (std::size_t i = 0; i < length; ++i) content += static_cast<char>(i);
  return content;
}

}  // namespace yoke::data
