#include "history/story.h"

namespace yoke::history {
namespace {

TEST(CheckpointRulesTest, OneTokenOneCheckpoint) {
  auto s = lost_story();
  s.mark(7, 2);
  expect_found(s, "checkpoint 7 was marked twice");
}

TEST(CheckpointRulesTest, AMarkIsNoUpdateAndOfTheVersionDecided) {
  auto s = lost_story();
  s.find<Decided>(1).record.step = 2;
  expect_found(s, "checkpoint 7 was marked as version 2 when 1 updates were decided");
  auto t = lost_story();
  t.find<Decided>(0).record.mark = 9;
  expect_found(t, "the mark of checkpoint 9 is an update besides");
}

TEST(CheckpointRulesTest, SynchronousOnesAreTakenWhenNobodyWorks) {
  auto s = lost_story();
  const auto mark = std::find_if(s.events.begin(), s.events.end(), [](const auto& event) {
    const auto* decided = std::get_if<Decided>(&event.what);
    return decided && decided->record.mark;
  });
  std::swap(*mark, *(mark + 1));
  expect_found(s, "checkpoint 7 was marked while gradient 2 of replica 0 (life 1) was undecided");
  s.terms.options.min_replicas = 2;
  s.events.insert(mark + 1, Event{Time(0), Left{{1, 1}, "gone"}});
  for (const auto& finding : s.check()) EXPECT_EQ(finding.find("marked while"), finding.npos) << finding;
}

TEST(CheckpointRulesTest, NotBeforeWhatWasDecidedIsCommitted) {
  auto s = lost_story();
  const auto committed = std::find_if(s.events.begin(), s.events.end(),
                                      [](const auto& event) { return std::holds_alternative<Committed>(event.what); });
  auto mark = wire::Record{.index = 1, .step = 1, .mark = 8};
  s.find<Decided>(1).record.index = 2;
  s.events.insert(committed, Event{Time(0), Decided{mark}});
  expect_found(s, "checkpoint 8 was marked when 1 updates were decided and 0 committed");
}

TEST(CheckpointRulesTest, EveryShardCapturesTheVersionOfTheMark) {
  auto s = lost_story();
  s.find<Captured>(1).version = 0;
  expect_found(s, "shard 1 captured checkpoint 7 at version 0, it was marked at version 1");
  expect_found(s, "shard 1 captured checkpoint 7 at version 0 when it showed version 1");
  auto t = lost_story();
  t.find<Captured>().token = 8;
  expect_found(t, "shard 0 captured checkpoint 8, which was never marked");
  expect_found(t, "checkpoint 7 was announced when 1 of 2 shards had captured it");
  auto u = lost_story();
  u.find<Captured>().shard = 1;
  expect_found(u, "shard 1 captured checkpoint 7 twice");
}

TEST(CheckpointRulesTest, AnnouncedOnceAndAsItIs) {
  auto s = lost_story();
  s.find<Announced>().token = 8;
  expect_found(s, "checkpoint 8 was announced and never marked");
  auto t = lost_story();
  t.find<Announced>().version = 2;
  expect_found(t, "checkpoint 7 was announced as version 2, it was marked at version 1");
  auto u = lost_story();
  u.add(Announced{7, 1});
  expect_found(u, "checkpoint 7 was announced twice");
}

TEST(CheckpointRulesTest, AJobThatWasLostGoesOnFromTheNewestThatWasAnnounced) {
  auto s = lost_story();
  s.find<Resumed>().standing = {0, 8, 2, core::LedgerStanding{}, 0, 0};
  expect_found(s, "the job goes on from version 0, though a checkpoint of version 1 was announced");
  s.find<Resumed>().passed_over = 1;
  for (const auto& finding : s.check()) EXPECT_EQ(finding.find("though a checkpoint"), finding.npos) << finding;
}

TEST(CheckpointRulesTest, OneThatWasNotAnnouncedYetIsAsGoodWhenItIsWhole) {
  auto s = lost_story();
  s.erase<Announced>();
  expect_clean(s);
  s.erase<Captured>();
  expect_found(s, "goes on from version 1, which no checkpoint is of that every shard captured");
}

TEST(CheckpointRulesTest, AJobThatBeginsWithOneIsCheckedFromThere) {
  Story s;
  s.terms.samples = 8;
  s.resume(standing_at_1());
  s.join(0);
  s.join(1);
  s.step_of_two(1, 4, 1, 1);
  s.mark(7, 2);
  s.capture(7, 2);
  s.add(Announced{7, 2});
  s.add(Finished{2});
  expect_clean(s);
  auto t = s;
  t.find<Resumed>().standing.ledger->returned = {{0, 2, 4}};
  t.find<Resumed>().standing.ledger->counted = {{0, 2}};
  expect_found(t, "training is over, and sample 2 of epoch 0 never counted");
  s.find<Assigned>().assign.range = s.find<Decided>().record.applied[0].range = wire::Range{0, 2, 4};
  expect_found(s, "sample 2 of epoch 0 counted twice");
}

TEST(CheckpointRulesTest, TheJobMayGoOnWithOtherShardsAndReplicas) {
  auto s = lost_story();
  auto terms = s.terms;
  terms.options.replicas = terms.options.shards = 1;
  terms.shard_blocks = {2};
  const auto at = std::find_if(s.events.begin(), s.events.end(),
                               [](const auto& event) { return std::holds_alternative<Resumed>(event.what); });
  s.events.erase(at + 1, s.events.end());
  s.find<Resumed>().terms = terms;
  s.next_record = 0;
  for (wire::Version step : {1u, 2u}) {
    const auto id = gradient(0, step, 2);
    const auto begin = 2 + 2 * step;
    if (step == 1) s.join(0, 2);
    s.assign(id, step, begin, begin);
    s.add(Installed{id, 0, step});
    for (wire::BlockId block : {0u, 1u}) s.add(Examined{s.tickets[{id, block}] = s.next_ticket++, id, block, true});
    s.decide(step, {s.part(id, step, step, 1, begin)});
    for (wire::BlockId block : {0u, 1u}) s.add(Made{0, block, step + 1, {{s.tickets[{id, block}], id, 1}}});
    s.add(Committed{step + 1});
    s.add(Published{0, step + 1});
  }
  s.add(Finished{3});
  expect_clean(s);
  s.find<Resumed>().terms.reset();
  expect_found(s, "every shard had made it");
}

}  // namespace
}  // namespace yoke::history
