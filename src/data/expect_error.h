// For tests: what an error has to say.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "yoke/error.h"

namespace yoke::data {

// The result must be an error of this kind, and its message has all of these words in it.
template <class T>
void expect_error(const Result<T>& result, Code code, std::initializer_list<std::string> words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(static_cast<int>(result.error().code), static_cast<int>(code)) << result.error().message;
  for (const auto& word : words) {
    EXPECT_NE(result.error().message.find(word), std::string::npos) << result.error().message << "\nlacks: " << word;
  }
}

}  // namespace yoke::data
