// What the tests of the view stores share.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cluster/view_store.h"

namespace yoke::cluster::storing {

using StorePtr = std::unique_ptr<ViewStore>;

template <class T>
void expect_error(const Result<T>& result, Code code, const std::vector<std::string>& words) {
  ASSERT_FALSE(result);
  EXPECT_EQ(static_cast<int>(result.error().code), static_cast<int>(code)) << result.error().message;
  for (const auto& word : words)
    EXPECT_NE(result.error().message.find(word), std::string::npos) << word << " is not in: " << result.error().message;
}

inline void expect_stored(ViewStore& store, const std::string& bytes, std::uint64_t revision) {
  const auto stored = store.load();
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(stored->bytes, bytes);
  EXPECT_EQ(stored->revision, revision);
}

inline std::uint64_t save(ViewStore& store, const std::string& bytes, std::uint64_t revision) {
  const auto saved = store.save(bytes, revision);
  EXPECT_TRUE(saved) << saved.error().message;
  return saved ? *saved : 0;
}

}  // namespace yoke::cluster::storing
