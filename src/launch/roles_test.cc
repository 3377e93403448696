#include "launch/roles.h"

#include <gtest/gtest.h>

namespace yoke::launch {
namespace {

using Nodes = std::vector<std::string>;

Roles roles(const Nodes& nodes, const RolesAsked& asked) {
  auto assigned = assign_roles(nodes, asked);
  EXPECT_TRUE(assigned) << assigned.error().message;
  return assigned ? std::move(*assigned) : Roles{};
}

void expect_refused(const Nodes& nodes, const RolesAsked& asked, const std::string& words) {
  const auto assigned = assign_roles(nodes, asked);
  ASSERT_FALSE(assigned);
  EXPECT_EQ(assigned.error().code, Code::invalid_argument);
  EXPECT_NE(assigned.error().message.find(words), std::string::npos) << assigned.error().message;
}

// The servers of every rank, as in "0,2 - 1".
std::string servers(const Roles& roles) {
  std::string text;
  for (const auto& part : roles.parts) {
    std::string numbers;
    for (const auto server : part.servers) numbers += (numbers.empty() ? "" : ",") + std::to_string(server);
    text += (text.empty() ? "" : " ") + (numbers.empty() ? "-" : numbers);
  }
  return text;
}

const Nodes kTwo = {"a", "a", "b", "b"};

TEST(Roles, ARankAReplicaAndAServerOnTheFirst) {
  const auto found = roles(kTwo, {});
  EXPECT_EQ(found.servers, 1u);
  EXPECT_EQ(found.replicas, 4u);
  EXPECT_EQ(found.nodes, 2u);
  EXPECT_EQ(servers(found), "0 - - -");
  for (std::uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(found.parts[rank].replicas, std::vector{rank});
}

TEST(Roles, SeveralReplicasARank) {
  const auto found = roles({"a", "b"}, {.replicas = 4});
  EXPECT_EQ(found.parts[0].replicas, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(found.parts[1].replicas, (std::vector<std::uint32_t>{2, 3}));
  expect_refused({"a", "b"}, {.replicas = 3}, "a multiple of 2");
  expect_refused({"a", "b"}, {.replicas = 0}, "--replicas 0");
}

TEST(Roles, ServersGoRoundTheNodes) {
  EXPECT_EQ(servers(roles(kTwo, {.servers = 3})), "0,2 - 1 -");
  EXPECT_EQ(servers(roles({"a", "b", "a", "b"}, {.servers = 2})), "0 1 - -");
  EXPECT_EQ(servers(roles(kTwo, {.servers_per_node = 2})), "0,2 - 1,3 -");
}

TEST(Roles, NodesOfServers) {
  const auto found = roles({"a", "a", "b", "b", "c"}, {.server_nodes = 1});
  EXPECT_EQ(servers(found), "0 1 - - -");
  EXPECT_EQ(found.replicas, 3u);
  EXPECT_TRUE(found.parts[0].replicas.empty());
  EXPECT_EQ(found.parts[4].replicas, std::vector<std::uint32_t>{2});
  EXPECT_EQ(servers(roles({"a", "a", "b", "b", "c"}, {.servers = 3, .server_nodes = 2})), "0 2 1 - -");
  EXPECT_EQ(servers(roles({"a", "a", "b", "c"}, {.servers_per_node = 2, .server_nodes = 2})), "0 2 1,3 -");
  expect_refused(kTwo, {.server_nodes = 2}, "there are 2 nodes");
  expect_refused({"a", "a"}, {.server_nodes = 1}, "there is 1 node");
  expect_refused({"a", "b", "b"}, {.replicas = 3, .server_nodes = 1}, "over 2 ranks");
}

TEST(Roles, MirroredHasNoServers) {
  const auto found = roles(kTwo, {.mirrored = true});
  EXPECT_EQ(found.servers, 0u);
  EXPECT_EQ(servers(found), "- - - -");
  EXPECT_EQ(roles(kTwo, {.mirrored = true, .servers = 0}).servers, 0u);
  expect_refused(kTwo, {.mirrored = true, .servers = 2}, "mirrored has no servers");
  expect_refused(kTwo, {.mirrored = true, .servers_per_node = 1}, "mirrored has no servers");
  expect_refused(kTwo, {.mirrored = true, .server_nodes = 1}, "mirrored has no servers");
}

TEST(Roles, WhatDoesNotGoTogetherIsRefused) {
  expect_refused(kTwo, {.servers = 2, .servers_per_node = 1}, "give one of them");
  expect_refused(kTwo, {.servers = 0}, "--servers 0");
  expect_refused(kTwo, {.servers_per_node = 0}, "--servers-per-node 0");
  expect_refused(kTwo, {.servers_per_node = 4096}, "at most 4096");
}

}  // namespace
}  // namespace yoke::launch
