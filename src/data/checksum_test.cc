#include "data/checksum.h"

#include <gtest/gtest.h>

#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

TEST(Sha256, KnownSums) {  // FIPS 180-2's examples
  ScratchFolder folder;
  const auto sum = [&](const std::string& content) { return sha256_of(folder.plain("file", content)).or_throw(); };
  EXPECT_EQ(sum(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sum("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sum(std::string(1'000'000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of(folder.path() + "/none").error().message, folder.path() + "/none: No such file or directory");
  EXPECT_FALSE(sha256_of(folder.path()).ok());
}

}  // namespace
}  // namespace yoke::data
