#include "strategy/strategy.h"

#include <gtest/gtest.h>

namespace yoke::strategy {
namespace {

std::string objection_to(const Options& options) {
  const auto terms = plan(options);
  return terms ? "" : terms.error().message;
}

TEST(Plan, mirrored_has_a_slice_a_replica) {
  Options options;
  options.strategy = Strategy::mirrored;
  options.replicas = 5;
  options.epochs = 7;
  options.steps = 9;
  const auto terms = plan(options);
  ASSERT_TRUE(terms);
  EXPECT_EQ(terms->shards, 5u);
  EXPECT_EQ(terms->epochs, 7u);  // as they were given
  EXPECT_EQ(terms->steps, 9u);
  EXPECT_FALSE(terms->record);
}

TEST(Plan, a_process_is_one_of_the_replicas_of_a_job_that_it_can_find) {
  Options options;
  options.replicas = 2;
  options.processes.replica = 1;
  EXPECT_NE(objection_to(options).find("join"), std::string::npos);
  options.processes.join = "localhost:7000";
  EXPECT_EQ(objection_to(options), "");
  options.processes.replica = 2;
  EXPECT_NE(objection_to(options).find("replica 2"), std::string::npos);
  options.processes.replica.reset();
  EXPECT_EQ(objection_to(options), "");
  options.processes.listen = "localhost:7001";
  options.processes.hosts_shard = 2;
  options.processes.hosts_of = 2;
  EXPECT_NE(objection_to(options).find("shard 2"), std::string::npos);
}

}  // namespace
}  // namespace yoke::strategy
