#include "launch/own_address.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <set>

namespace yoke::launch {
namespace {

using Strings = std::vector<std::string>;

TEST(OwnAddress, AListOfAddresses) {
  EXPECT_EQ(*split_addresses("10.0.0.1:7000"), Strings{"10.0.0.1:7000"});
  EXPECT_EQ(*split_addresses("10.0.0.1:7000,shm:/a,tcp:[::1]:7"), (Strings{"10.0.0.1:7000", "shm:/a", "tcp:[::1]:7"}));
  EXPECT_EQ(*split_addresses("unix:/a,b/r0,unix:/a,b/r1"), (Strings{"unix:/a,b/r0", "unix:/a,b/r1"}));
  for (const auto* wrong : {"", ",", "nowhere", "10.0.0.1:7000,", "10.0.0.1:7000,nowhere", ",10.0.0.1:7000"})
    EXPECT_FALSE(split_addresses(wrong)) << wrong;
}

TEST(OwnAddress, ReplicaZeroIsWhereAllJoinAndTheOthersAreBesideIt) {
  EXPECT_EQ(*own_address("shm:/j/r", 0), "shm:/j/r");
  EXPECT_EQ(*own_address("shm:/j/r", 2), "shm:/j/r.2");
  EXPECT_EQ(*own_address("127.0.0.1:7000", 2), "tcp:127.0.0.1:0");
}

TEST(OwnAddress, ANewcomersIsNoMembers) {
  EXPECT_EQ(*newcomers_address({"unix:/j/r.1", "unix:/j/r.2"}, 0), "unix:/j/r.1.0");
  EXPECT_EQ(*newcomers_address({"unix:/j/r"}, 2), "unix:/j/r.2") << "as in its former life";
  EXPECT_EQ(*newcomers_address({"unix:/j/r"}, std::nullopt), "unix:/j/r.p" + std::to_string(getpid()));
  EXPECT_EQ(*newcomers_address({"127.0.0.1:7000"}, 0), "tcp:127.0.0.1:0");
  EXPECT_EQ(*newcomers_address({"no-such-host.invalid:7000", "127.0.0.1:7000"}, 0), "tcp:127.0.0.1:0");
  EXPECT_FALSE(newcomers_address({"no-such-host.invalid:7000"}, 0));
}

TEST(OwnAddress, FreeOnesDiffer) {
  const auto found = free_addresses("127.0.0.1", 50);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(std::set<std::string>(found->begin(), found->end()).size(), 50u);
}

}  // namespace
}  // namespace yoke::launch
