// For tests: a folder that goes away with its owner, and a program to ask for a second opinion.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace yoke::security {

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "yoke-security-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    std::ofstream(path(name), std::ios::binary) << text;
    std::filesystem::permissions(path(name), static_cast<std::filesystem::perms>(mode));
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  unsigned mode(const std::string& name) const {
    return static_cast<unsigned>(std::filesystem::status(path(name)).permissions());
  }

 private:
  std::filesystem::path path_;
};

struct Said {
  int status = 0;
  std::string text;  // both streams
};

// The command `openssl`, an implementation of everything here that is not ours.
inline Said openssl(const std::string& words) {
  Said said;
  FILE* pipe = ::popen(("timeout 60 openssl " + words + " 2>&1 </dev/null").c_str(), "r");
  if (!pipe) return {-1, "cannot be run"};
  char piece[4096];
  while (const auto got = std::fread(piece, 1, sizeof piece, pipe)) said.text.append(piece, got);
  said.status = WEXITSTATUS(::pclose(pipe));
  return said;
}

}  // namespace yoke::security
