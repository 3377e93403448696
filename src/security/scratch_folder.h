// For tests: a folder that goes away with its owner, and a program to ask for a second opinion.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/scratch_folder.h"

namespace yoke::security {

class ScratchFolder : public yoke::ScratchFolder {
 public:
  std::string path(const std::string& name) const { return file(name); }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    yoke::ScratchFolder::write(name, text);
    std::filesystem::permissions(file(name), static_cast<std::filesystem::perms>(mode));
    return file(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  unsigned mode(const std::string& name) const {
    return static_cast<unsigned>(std::filesystem::status(file(name)).permissions());
  }
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
