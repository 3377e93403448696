#include "cluster/terms.h"

#include <gtest/gtest.h>

#include <limits>

namespace yoke::cluster {
namespace {

TEST(Terms, steps_end_the_job_whatever_the_epochs) {
  wire::JobTerms terms;
  terms.epochs = 3;
  EXPECT_EQ(sequencer_options(terms, 1).epochs, 3u);
  terms.steps = 10;
  EXPECT_EQ(sequencer_options(terms, 1).steps, 10u);
  EXPECT_EQ(sequencer_options(terms, 1).epochs, std::numeric_limits<std::uint32_t>::max());
}

TEST(Terms, only_the_first_network_ends_the_job_and_is_recorded) {
  wire::JobTerms terms;
  terms.steps = 10;
  terms.record = true;
  EXPECT_EQ(terms_of_network(terms, 0).steps, 10u);
  EXPECT_TRUE(terms_of_network(terms, 0).record);
  EXPECT_EQ(terms_of_network(terms, 1).steps, 0u);
  EXPECT_FALSE(terms_of_network(terms, 1).record);
}

TEST(Terms, a_step_is_written_in_place_where_every_replica_waits_for_it) {
  wire::JobTerms terms;
  terms.strategy = Strategy::mirrored;
  EXPECT_TRUE(mirrored(terms) && in_place(terms) && sequencer_options(terms, 1).everybody);
  terms.strategy = Strategy::sync;
  EXPECT_TRUE(!mirrored(terms) && in_place(terms));
  terms.spares = 1;
  EXPECT_FALSE(in_place(terms));
  terms.strategy = Strategy::async;
  terms.spares = 0;
  EXPECT_FALSE(in_place(terms));
  EXPECT_TRUE(sequencer_options(terms, 1).async);
}

TEST(Terms, what_is_kept_of_the_blocks_is_in_them) {
  wire::JobTerms terms;
  terms.strategy = Strategy::async;
  terms.optimizer_state = OptimizerState::per_replica;
  terms.stale.delay_compensation = 0.04;
  EXPECT_TRUE(update_options(terms).state_per_replica);
  EXPECT_EQ(update_options(terms).delay_compensation, 0.04);
}

}  // namespace
}  // namespace yoke::cluster
