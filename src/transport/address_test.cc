#include "transport/address.h"

#include <gtest/gtest.h>

namespace yoke::transport {
namespace {

TEST(Address, ReadsAndWritesEveryKind) {
  const std::pair<const char*, const char*> same[] = {
      {"shm:/run/job/s0", "shm:/run/job/s0"},     {"unix:s0", "unix:s0"},
      {"tcp:10.0.0.1:7000", "tcp:10.0.0.1:7000"}, {"10.0.0.1:7000", "tcp:10.0.0.1:7000"},
      {"host.example:0", "tcp:host.example:0"},   {"tcp:[::1]:65535", "tcp:[::1]:65535"},
      {"[fe80::1]:7", "tcp:[fe80::1]:7"}};
  for (const auto& [text, canonical] : same) {
    const auto address = parse_address(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(to_string(*address), canonical);
    EXPECT_EQ(*parse_address(canonical), *address);
  }
  EXPECT_EQ(*parse_address("[::1]:7"), (Address{Address::Kind::tcp, "::1", "7", ""}));
  EXPECT_EQ(*parse_address("shm:a:b"), (Address{Address::Kind::shm, "", "", "a:b"}));
}

TEST(Address, SaysWhatIsWrong) {
  const std::pair<std::string, const char*> wrong[] = {{"", "the port is missing"},
                                                       {"host", "the port is missing"},
                                                       {":7000", "the host is missing"},
                                                       {"tcp::7", "the host is missing"},
                                                       {"host:", "'' is no port"},
                                                       {"host:http", "'http' is no port"},
                                                       {"host:65536", "'65536' is no port"},
                                                       {"host:-1", "'-1' is no port"},
                                                       {"host:999999999999", "is no port"},
                                                       {"::1:7000", "in brackets"},
                                                       {"[]:7", "the host is missing"},
                                                       {"shm:", "the path is missing"},
                                                       {"unix:" + std::string(108, 'x'), "at most 107 characters"}};
  for (const auto& [text, reason] : wrong) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().code, Code::invalid_argument);
    EXPECT_NE(address.error().message.find(reason), std::string::npos) << address.error().message;
  }
  EXPECT_TRUE(parse_address("unix:" + std::string(107, 'x')));
}

}  // namespace
}  // namespace yoke::transport
