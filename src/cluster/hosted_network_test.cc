#include "cluster/hosted_network.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace yoke::cluster
