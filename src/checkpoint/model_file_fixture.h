// For tests: model files made by hand.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::checkpoint {

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// A file by hand: the length, the header, then `data` bytes.
inline std::string content(const std::string& header, std::size_t data) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += static_cast<char>(header.size() >> (8 * i));
  return text + header + std::string(data, 'x');
}

template <class T>
void expect_error(const Result<T>& result, Code code, std::initializer_list<std::string> words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, code) << result.error().message;
  for (const auto& word : words)
    EXPECT_NE(result.error().message.find(word), std::string::npos) << word << " in: " << result.error().message;
}

// Two tensors of 11 bytes in all.
inline const std::string kTwo =
    R"({"b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]},"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}})";

// The header of one tensor 'w', its fields as they are to stand there.
inline std::string tensor(const std::string& type, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + type + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

}  // namespace yoke::checkpoint
