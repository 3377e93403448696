// For tests: a folder that goes when the test ends, and the files put there.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/scratch_folder.h"

namespace yoke::data {

class ScratchFolder : public yoke::ScratchFolder {
 public:
  std::string plain(const std::string& name, const std::string& content) const { return write(name, content); }
  std::string gzip(const std::string& name, const std::string& content) const {
    gzFile out = gzopen(file(name).c_str(), "wb");
    gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
    gzclose(out);
    return file(name);
  }
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
