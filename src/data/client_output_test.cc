#include "data/client_output.h"

#include <gtest/gtest.h>

namespace yoke::data {
namespace {

TEST(ClientOutput, IsShortAndNamesNoHosts) {
  EXPECT_EQ(
      shorten_client_output("npm warn x\nnpm error code ENOTFOUND\nnpm error getaddrinfo ENOTFOUND a.b.example\n"),
      "  npm error code ENOTFOUND\n  npm error getaddrinfo ENOTFOUND [address]");
  EXPECT_EQ(
      shorten_client_output("at 'https://u:p@a.example/x', connect ECONNREFUSED 10.0.0.1:9\n\naddress: '10.0.0.1',"),
      "  at [address] connect ECONNREFUSED [address]\n  address: [address]");
  EXPECT_EQ(shorten_client_output(""), "  (nothing)");
  EXPECT_EQ(shorten_client_output("1\n2\n3\n4\n5\n6\n7\n8\n9\n").back(), '8');
}

}  // namespace
}  // namespace yoke::data
