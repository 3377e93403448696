#include "history/story.h"

namespace yoke::history {
namespace {

TEST(SampleRulesTest, WhatAStandingLosesIsFound) {
  auto s = lost_story();
  s.find<Resumed>().standing.ledger->cursor = 6;
  s.find<Resumed>().standing.ledger->counted[0] = 6;
  expect_found(s, "the job goes on from version 1, and sample 4 of epoch 0 is lost");
}

TEST(SampleRulesTest, WhatAStandingHandsOutAgainIsFound) {
  auto s = lost_story();
  s.find<Resumed>().standing.ledger->returned = {{0, 0, 2}};
  s.find<Resumed>().standing.ledger->counted[0] = 2;
  expect_found(s, "sample 0 of epoch 0 is handed out again, though it counted");
}

TEST(SampleRulesTest, ASampleIsInOnePlace) {
  auto s = lost_story();
  s.find<Resumed>().standing.ledger->returned = {{0, 4, 5}};
  expect_found(s, "has sample 4 of epoch 0 to hand out twice");
  auto t = lost_story();
  t.find<Resumed>().standing.ledger->counted[0] = 3;
  expect_found(t, "goes on from version 1 with 3 samples of epoch 0 counted, and has 4 left");
}

TEST(SampleRulesTest, SamplesDecidedAreThoseOfTheRecords) {
  auto s = lost_story();
  s.find<Resumed>().standing.samples_decided = 5;
  expect_found(s, "the job goes on from version 1 after 5 samples, the records say 4");
  auto t = lost_story();
  t.find<Resumed>().standing.samples = 9;
  expect_found(t, "the job goes on with 9 samples, it had 8");
}

TEST(SampleRulesTest, WhatACheckpointGaveBackIsHandedOutFirst) {
  auto s = lost_story();
  s.terms.options.steps = 2;
  s.terms.samples = 12;
  s.find<Resumed>().standing = {1, 12, 2, core::LedgerStanding{0, 6, {{0, 4, 6}}, {{0, 4}}, 0}, 4, 0};
  expect_clean(s);
  auto& applied = s.find<Decided>(2).record.applied;
  s.find<Assigned>(3).assign.range = applied[0].range = wire::Range{0, 6, 8};
  s.find<Assigned>(4).assign.range = applied[1].range = wire::Range{0, 4, 6};
  expect_found(s, "samples 6..8 of epoch 0 were handed out before sample 4 of epoch 0, which the checkpoint gave back");
}

// What was decided after the checkpoint is worked on again, and counts then.
TEST(SampleRulesTest, WhatWasDecidedAfterTheCheckpointNeverHappened) {
  auto s = lost_story();
  const auto resumed = std::find_if(s.events.begin(), s.events.end(),
                                    [](const auto& event) { return std::holds_alternative<Resumed>(event.what); });
  std::vector<Event> rest(resumed, s.events.end());
  s.events.erase(resumed, s.events.end());
  s.erase<Assigned>(2);
  s.next_record = 2;
  s.step_of_two(1, 4, 2, 1);
  s.add(Finished{2});
  s.events.insert(s.events.end(), rest.begin(), rest.end());
  expect_clean(s);
  s.erase<Resumed>();
  expect_found(s, "sample 4 of epoch 0 counted twice");
}

}  // namespace
}  // namespace yoke::history
