#include "history/story.h"

namespace yoke::history {
namespace {

// Before the job is formed anew.
void insert(Story& s, What what) {
  const auto at = std::find_if(s.events.begin(), s.events.end(),
                               [](const auto& event) { return std::holds_alternative<Resumed>(event.what); });
  s.events.insert(at, Event{Time(0), std::move(what)});
}

// Version 2 is given up, and made again.
Story from_version_1() {
  auto s = formed_story();
  auto& resumed = s.find<Resumed>();
  resumed.standing = *s.find<Decided>(0).record.standing;
  const auto at = std::find_if(s.events.begin(), s.events.end(),
                               [](const auto& event) { return std::holds_alternative<Resumed>(event.what); });
  s.events.erase(at + 1, s.events.end());
  s.next_record = 0;
  s.join(0, 2);
  s.join(1, 2);
  s.step_of_two(1, 4, 1, 2);
  s.step_of_two(2, 8, 2, 2);
  s.add(Finished{3});
  return s;
}

TEST(FormingRulesTest, AVersionThatNobodyWasToldOfMayBeGoneOnFromOrMadeAgain) {
  expect_clean(formed_story());
  expect_clean(from_version_1());
}

TEST(FormingRulesTest, NoCheckpointIsNeeded) {
  auto s = formed_story();
  s.find<Resumed>().formed = false;
  expect_found(s, "goes on from version 2, which no checkpoint is of");
}

TEST(FormingRulesTest, NothingThatWasCommittedIsLost) {
  auto s = from_version_1();
  insert(s, Committed{2});
  expect_found(s, "the job is formed anew from version 1, though version 2 was committed");
}

TEST(FormingRulesTest, NothingThatWasShownIsLost) {
  auto s = from_version_1();
  insert(s, Published{1, 2});
  expect_found(s, "the job is formed anew from version 1, though version 2 was shown");
}

TEST(FormingRulesTest, NothingThatAReplicaWasToldIsLost) {
  auto s = from_version_1();
  insert(s, Told{{gradient(0, 2), Fate::applied, 2, 0, ""}});
  expect_found(s, "the job is formed anew from version 1, though version 2 was told of");
  auto t = from_version_1();
  insert(t, Told{{gradient(0, 2), Fate::dropped, 2, 0, ""}});
  for (const auto& finding : t.check()) EXPECT_EQ(finding.find("formed anew"), finding.npos) << finding;
}

TEST(FormingRulesTest, NoCheckpointThatWasAnnouncedIsLost) {
  auto s = from_version_1();
  insert(s, Announced{7, 2});
  expect_found(s, "the job is formed anew from version 1, though version 2 was announced as a checkpoint");
}

TEST(FormingRulesTest, TheLastVersionIsNotLost) {
  auto s = from_version_1();
  insert(s, Finished{2});
  expect_found(s, "the job is formed anew from version 1, though version 2 was the last one");
}

TEST(FormingRulesTest, WhatAJobWentOnFromIsNotLost) {
  auto formed = formed_story();
  Story s;
  s.terms = formed.terms;
  s.resume(formed.find<Resumed>().standing);
  s.resume(standing_at_1()).formed = true;
  expect_found(s, "the job is formed anew from version 1, though version 2 was gone on from");
}

TEST(FormingRulesTest, FromNothingThatWasNotDecided) {
  auto s = formed_story();
  s.find<Resumed>().standing.version = 3;
  expect_found(s, "the job is formed anew from version 3, and 2 updates were decided");
}

TEST(FormingRulesTest, WithTheStandingOfItsVersion) {
  auto s = formed_story();
  s.find<Resumed>().standing.warmup_end = 1;
  expect_found(s, "from version 2 with another standing than its record has");
  auto t = formed_story();
  t.find<Decided>(1).record.standing.reset();
  expect_found(t, "from version 2 with another standing than its record has");
}

// A checkpoint has what was under way as well, which no record says.
TEST(FormingRulesTest, WithTheStandingThatACheckpointHadBefore) {
  auto formed = formed_story();
  Story s;
  s.terms = formed.terms;
  auto standing = formed.find<Resumed>().standing;
  standing.warmup_end = 1;
  s.resume(standing);
  s.resume(standing).formed = true;
  expect_clean(s);
  s.find<Resumed>(1).standing.warmup_end = 2;
  expect_found(s, "from version 2 with another standing than it was gone on from");
}

TEST(FormingRulesTest, SamplesCountOnceAcrossIt) {
  auto s = formed_story();
  s.find<Resumed>().standing.ledger = s.find<Decided>(0).record.standing->ledger;
  expect_found(s, "and sample 4 of epoch 0 is handed out again, though it counted");
}

}  // namespace
}  // namespace yoke::history
