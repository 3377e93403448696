#include "cluster/hosted_network.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cluster/silent_outlet.h"

namespace yoke::cluster {
namespace {

struct HearingOutlet : SilentOutlet {
  void send(std::uint32_t, const wire::Address&, const wire::Address&, const wire::Message& message) override {
    assigned += std::holds_alternative<wire::Assign>(message);
  }
  void loaded(HostedNetwork&, const Status& status) override { (status ? well : badly) += 1; }
  int assigned = 0, well = 0, badly = 0;
};

struct Loading : testing::Test {
  Loading() { network->begin_loading(); }

  HearingOutlet outlet;
  Workers workers{0};
  const std::shared_ptr<HostedNetwork> network = std::make_shared<HostedNetwork>(
      0, 0, wire::JobTerms{}, Layout{{{"weight", {10}, 0}}, {SGD{}}}, wire::About{}, outlet, workers,
      transport::Arena::make(), nullptr, Beginning{wire::Standing{.version = 5}});
};

TEST_F(Loading, what_comes_meanwhile_waits) {
  network->receive(wire::replica_at(0), wire::Hello{{0, 1}, 0, 1}, {});
  EXPECT_EQ(outlet.assigned, 0);
  EXPECT_FALSE(network->initialised());
  network->loaded({});
  EXPECT_EQ(outlet.well, 1);
  EXPECT_EQ(outlet.assigned, 1);
  EXPECT_TRUE(network->initialised());
}

TEST_F(Loading, what_could_not_be_read_is_said_and_nothing_begins) {
  network->receive(wire::replica_at(0), wire::Hello{{0, 1}, 0, 1}, {});
  network->loaded(Error{Code::corrupt, "a flipped bit"});
  EXPECT_EQ(outlet.badly, 1);
  EXPECT_EQ(outlet.assigned, 0);
  EXPECT_FALSE(network->initialised());
}

TEST_F(Loading, values_that_are_brought_are_all_of_them_or_none) {
  network->await_values({});
  network->receive(wire::replica_at(0), wire::Hello{{0, 1}, 0, 1}, {});
  EXPECT_TRUE(network->awaits_values());
  EXPECT_FALSE(network->values_brought().ok()) << "nobody has brought anything";
  const std::vector<float> values(10, 0.5f);
  EXPECT_TRUE(network->bring({0, 0, false, 0}, values).ok());
  network->expect_values();
  EXPECT_FALSE(network->values_brought().ok()) << "another one begins with the first of them";
  EXPECT_EQ(outlet.assigned, 0);
  EXPECT_TRUE(network->bring({0, 0, false, 0}, values).ok());
  EXPECT_TRUE(network->values_brought().ok());
  EXPECT_EQ(outlet.well, 1);
  EXPECT_EQ(outlet.assigned, 1);
  EXPECT_TRUE(network->initialised());
}

TEST_F(Loading, nobody_hears_of_it_when_the_job_is_over) {
  network->freeze();
  network->loaded({});
  EXPECT_EQ(outlet.well + outlet.badly, 0);
  EXPECT_FALSE(network->initialised());
}

// What a shard says to a replica, in order: a version, or the number of a block.
struct NotingOutlet : SilentOutlet {
  void send(std::uint32_t, const wire::Address&, const wire::Address&, const wire::Message& message) override {
    if (const auto* told = std::get_if<wire::Parameters>(&message))
      said.push_back(fmt::format("version {}, {} follow", told->version, told->follow));
  }
  void send_values(std::uint32_t, wire::ReplicaId, wire::BlockId block, ShardStore::Values) override {
    said.push_back(fmt::format("block {}", block));
  }
  std::vector<std::string> said;
};

std::vector<std::string> said_to_a_newcomer(bool values_follow) {
  NotingOutlet outlet;
  Workers workers{0};
  wire::JobTerms terms;
  terms.values_follow = values_follow;
  const auto network =
      std::make_shared<HostedNetwork>(0, 0, terms, Layout{{{"weight", {300'000}, 0}, {"bias", {10}, 0}}, {SGD{}}},
                                      wire::About{}, outlet, workers, transport::Arena::make(), nullptr);
  const std::vector<float> values(300'000);
  for (const auto& block : network->plan().blocks)
    network->bring({0, block.id, false, 0}, std::span(values).first(block.size)).or_throw();
  network->brought();
  network->receive(wire::replica_at(0), wire::Hello{{0, 1}, 0, 1}, {});
  network->receive(wire::replica_at(0), wire::Pull{{0, 1}, 0}, {});
  return outlet.said;
}

TEST(Values, are_told_of_after_they_were_sent) {
  EXPECT_EQ(said_to_a_newcomer(false),
            (std::vector<std::string>{"block 0", "block 1", "block 2", "block 3", "version 0, 0 follow"}));
}

TEST(Values, are_told_of_first_where_a_replica_may_begin_early_and_come_in_forward_order) {
  EXPECT_EQ(said_to_a_newcomer(true),
            (std::vector<std::string>{"version 0, 4 follow", "block 0", "block 1", "block 2", "block 3"}));
}

}  // namespace
}  // namespace yoke::cluster
