#include "launch/surroundings.h"

#include <gtest/gtest.h>

#include <map>

#include "launch/words.h"

namespace yoke::launch {
namespace {

using Variables = std::map<std::string, std::string>;
using Around = Surroundings::Kind;

Result<Surroundings> find_around(const Variables& variables) {
  return find_surroundings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

// torchrun's four, with changes; an empty value is as good as none.
Variables torchrun(const Variables& changes = {}) {
  Variables variables{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};
  for (const auto& [name, value] : changes) variables[name] = value;
  return variables;
}

void expect_none(const Variables& variables) {
  const auto found = find_around(variables);
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(*found, Surroundings{});
}

void expect_refused_around(const Variables& variables, const std::string& message) {
  const auto found = find_around(variables);
  ASSERT_FALSE(found.ok()) << message;
  EXPECT_EQ(found.error().code, Code::invalid_argument);
  EXPECT_EQ(found.error().message, message);
}

TEST(Surroundings, OfYoke) {
  EXPECT_EQ(*find_around({{"YOKE_JOIN", "shm:/run/job/s0"}}),
            (Surroundings{Around::yoke, "shm:/run/job/s0", {}, {}, {}}));
  const std::vector<std::string> flags{"--name", "two words", ""};
  EXPECT_EQ(*find_around({{"YOKE_JOIN", "10.0.0.1:7000"}, {"YOKE_REPLICA", "3"}, {"YOKE_FLAGS", join_words(flags)}}),
            (Surroundings{Around::yoke, "10.0.0.1:7000", 3, {}, flags}));
  const Surroundings again{.kind = Around::yoke,
                           .join = "unix:/a,unix:/b",
                           .replica = 0,
                           .replicas = {},
                           .flags = flags,
                           .listen = "unix:/c",
                           .again = true};
  Variables variables;
  for (const auto& entry : to_environment(again))
    variables[entry.substr(0, entry.find('='))] = entry.substr(entry.find('=') + 1);
  EXPECT_EQ(*find_around(variables), again);
  auto both = torchrun({{"YOKE_JOIN", "unix:/s"}, {"RANK", "x"}});
  EXPECT_EQ(find_around(both)->kind, Around::yoke) << "it comes first";
}

TEST(Surroundings, OfYokeThatMakeNoSense) {
  const std::string range = ": it has to be a whole number from 0 to 4294967294";
  for (const auto* value : {"x", "-1", "1 ", " 1", "+1", "0x1", "1.5", "4294967295", "99999999999999999999"}) {
    expect_refused_around({{"YOKE_JOIN", "unix:/s"}, {"YOKE_REPLICA", value}},
                          std::string("YOKE_REPLICA is '") + value + "'" + range);
  }
  expect_refused_around({{"YOKE_JOIN", "unix:/s"}, {"YOKE_FLAGS", "--a 'b"}},
                        "YOKE_FLAGS: the quote before b is not closed");
}

TEST(Surroundings, NoJob) {
  expect_none({});
  expect_none({{"YOKE_REPLICA", "x"}, {"YOKE_FLAGS", "'"}});
  expect_none({{"YOKE_JOIN", ""}});
  expect_none({{"RANK", "x"}});
  expect_none({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "x"}});
  expect_none(torchrun({{"RANK", ""}}));
  expect_none(torchrun({{"WORLD_SIZE", ""}}));
  expect_none({{"RANK", "0"}, {"WORLD_SIZE", "1"}});
  expect_none({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"MASTER_ADDR", "node7"}});
}

TEST(Surroundings, OfTorchrun) {
  EXPECT_EQ(*find_around(torchrun()), (Surroundings{Around::torchrun, "tcp:node7:29500", 1, 4, {}}));
  EXPECT_EQ(find_around(torchrun({{"RANK", "0"}, {"WORLD_SIZE", "1"}}))->replicas, 1U);
  EXPECT_EQ(find_around(torchrun({{"MASTER_ADDR", "fe80::1"}}))->join, "tcp:[fe80::1]:29500");
  EXPECT_EQ(find_around(torchrun({{"MASTER_ADDR", "[fe80::1]"}}))->join, "tcp:[fe80::1]:29500");
  EXPECT_EQ(find_around(torchrun({{"MASTER_PORT", "65535"}}))->join, "tcp:node7:65535");
}

TEST(Surroundings, TorchrunMayListenOnThePortItself) {
  const auto port = [](const Variables& changes) { return find_around(torchrun(changes))->join; };
  EXPECT_EQ(port({{"TORCHELASTIC_USE_AGENT_STORE", "True"}}), "tcp:node7:29501");
  EXPECT_EQ(port({{"TORCHELASTIC_USE_AGENT_STORE", "False"}}), "tcp:node7:29500");
  EXPECT_EQ(port({{"TORCHELASTIC_USE_AGENT_STORE", ""}}), "tcp:node7:29500");
  expect_refused_around(torchrun({{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"MASTER_PORT", "65535"}}),
                        "MASTER_PORT is '65535': it has to be a whole number from 1 to 65534");
}

TEST(Surroundings, OfTorchrunThatMakeNoSense) {
  expect_refused_around(torchrun({{"RANK", "4"}}), "RANK is '4': it has to be a whole number from 0 to 3");
  expect_refused_around(torchrun({{"RANK", "-1"}}), "RANK is '-1': it has to be a whole number from 0 to 3");
  expect_refused_around(torchrun({{"WORLD_SIZE", "0"}}),
                        "WORLD_SIZE is '0': it has to be a whole number from 1 to 4294967295");
  expect_refused_around(torchrun({{"WORLD_SIZE", "4x"}}),
                        "WORLD_SIZE is '4x': it has to be a whole number from 1 to 4294967295");
  expect_refused_around(torchrun({{"MASTER_PORT", "0"}}),
                        "MASTER_PORT is '0': it has to be a whole number from 1 to 65535");
  expect_refused_around(torchrun({{"MASTER_PORT", "http"}}),
                        "MASTER_PORT is 'http': it has to be a whole number from 1 to 65535");
  expect_refused_around(torchrun({{"MASTER_ADDR", ""}}),
                        "RANK and WORLD_SIZE are set, MASTER_ADDR is not: the 4 replicas would not find each other");
  expect_refused_around(torchrun({{"MASTER_PORT", ""}}),
                        "RANK and WORLD_SIZE are set, MASTER_PORT is not: the 4 replicas would not find each other");
}

}  // namespace
}  // namespace yoke::launch
