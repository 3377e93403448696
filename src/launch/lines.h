// Bytes as they come, made into lines.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace yoke::launch {

class Lines {
 public:
  using Line = std::function<void(std::string_view)>;  // without its newline

  // A line that is longer comes in pieces of this size; no more than one is kept.
  static constexpr std::size_t kLongest = 64 << 10;

  // Calls `line` for each line that is whole now.
  void add(std::string_view bytes, const Line& line);
  // There is no more: calls `line` for what has come without a newline, if anything.
  void finish(const Line& line);

 private:
  std::string begun_;
};

}  // namespace yoke::launch
