// Small histories written by hand: a good one, and for each rule one that breaks it.
#include "history/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace yoke::history {
namespace {

using wire::Fate;
using wire::GradientId;

// Replica r, its life l, its gradient s.
GradientId gradient(std::uint32_t r, std::uint64_t s = 1, std::uint64_t l = 1) { return {{r, l}, s}; }

// Two shards with a block each (block = shard), two samples a range.
struct Story {
  std::vector<Event> events;
  Terms terms;
  wire::Ticket next_ticket = 1;
  std::uint64_t next_record = 0;
  std::map<std::pair<GradientId, wire::BlockId>, wire::Ticket> tickets;

  explicit Story(bool async = false) {
    terms.options.replicas = 2;
    terms.options.shards = 2;
    terms.options.async = async;
    terms.shard_blocks = {1, 1};
    terms.samples = 4;
    terms.batch = 2;
  }
  template <class T>
  T& add(T what) {
    events.push_back({Time(events.size()), std::move(what)});
    return std::get<T>(events.back().what);
  }
  void join(std::uint32_t replica, std::uint64_t life = 1) { add(Joined{{replica, life}}); }
  void assign(GradientId id, wire::Version step, std::uint64_t begin) {
    add(Assigned{{id, step, wire::Range{0, begin, begin + 2}}});
  }
  void work(GradientId id, wire::Version version, bool ok = true) {
    for (wire::ShardId shard = 0; shard < 2; ++shard) add(Installed{id, shard, version});
    for (wire::BlockId block = 0; block < 2; ++block) {
      tickets[{id, block}] = next_ticket;
      add(Examined{next_ticket++, id, block, ok});
    }
  }
  wire::Contribution part(GradientId id, wire::Version base, wire::Version step, double weight, std::uint64_t begin) {
    return {id, base, step - base, 2, weight, wire::Range{0, begin, begin + 2}};
  }
  wire::Record& decide(wire::Version step, std::vector<wire::Contribution> applied,
                       std::vector<wire::Verdict> turned_away = {}) {
    const auto quorum = static_cast<std::uint32_t>(applied.size());
    wire::Record record{next_record++, step, std::move(applied), std::move(turned_away), quorum};
    return add(Decided{record}).record;
  }
  void make(wire::Version version, const std::vector<std::pair<GradientId, double>>& of) {
    for (wire::ShardId shard = 0; shard < 2; ++shard) {
      Made made{shard, shard, version};
      for (const auto& [id, weight] : of) made.used.push_back({tickets.at({id, shard}), id, weight});
      add(std::move(made));
    }
  }
  void show(wire::Version version) {
    add(Committed{version});
    for (wire::ShardId shard = 0; shard < 2; ++shard) add(Published{shard, version});
  }
  void tell(GradientId id, Fate fate, wire::Version version, std::uint64_t staleness = 0) {
    add(Told{{id, fate, version, staleness, ""}});
  }
  template <class T>
  T& find(std::size_t nth = 0) {
    for (auto& event : events)
      if (auto* what = std::get_if<T>(&event.what); what && nth-- == 0) return *what;
    throw std::out_of_range("no such event");
  }
  template <class T>
  void erase(std::size_t nth = 0) {
    const auto* what = &find<T>(nth);
    std::erase_if(events, [&](const auto& event) { return std::get_if<T>(&event.what) == what; });
  }
  std::vector<std::string> check() const {
    std::vector<Event> all{{Time(0), terms}};
    all.insert(all.end(), events.begin(), events.end());
    return history::check(all);
  }
};

// One synchronous step of two replicas, and training is over.
Story sync_story() {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.assign(b, 0, 2);
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 0.5, 0), s.part(b, 0, 0, 0.5, 2)});
  s.make(1, {{a, 0.5}, {b, 0.5}});
  s.show(1);
  s.tell(a, Fate::applied, 1);
  s.tell(b, Fate::applied, 1);
  s.add(Finished{1});
  return s;
}

// Two replicas, asynchronous: the second gradient is one version stale.
Story async_story() {
  Story s(true);
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.stale.max_staleness = 1;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.assign(b, 0, 2);
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.decide(1, {s.part(b, 0, 1, 1, 2)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.tell(a, Fate::applied, 1);
  s.make(2, {{b, 1}});
  s.show(2);
  s.tell(b, Fate::applied, 2, 1);
  s.add(Finished{2});
  return s;
}

void expect_clean(const Story& story) {
  for (const auto& finding : story.check()) ADD_FAILURE() << finding;
}

void expect_found(const Story& story, std::string_view text) {
  const auto findings = story.check();
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [&](const auto& finding) { return finding.find(text) != std::string::npos; }))
      << "expected: " << text << (findings.empty() ? ", found nothing" : ", found: " + findings.front());
}

TEST(CheckerTest, GoodHistoriesAreGood) {
  expect_clean(sync_story());
  expect_clean(async_story());
}

TEST(CheckerTest, TermsComeFirst) { EXPECT_FALSE(check({}).empty()); }

// --- promise 1 ---

TEST(CheckerTest, AReplicaCountsOnce) {
  auto s = sync_story();
  auto& record = s.find<Decided>().record;
  record.applied[1] = record.applied[0];
  expect_found(s, "counts replica 0 twice");
}

TEST(CheckerTest, AsManyAsTheQuorum) {
  auto s = sync_story();
  s.find<Decided>().record.quorum = 1;
  expect_found(s, "made of 2 gradients, its quorum is 1");
}

TEST(CheckerTest, AQuorumIsNotSmallWithoutAReason) {
  auto s = sync_story();
  auto& record = s.find<Decided>().record;
  record.applied.pop_back();
  record.applied[0].weight = 1;
  record.quorum = 1;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(CheckerTest, ASmallQuorumIsRightWhenTheEpochEnds) {
  Story s;
  const auto a = gradient(0);
  s.terms.samples = 2;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.work(a, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  s.terms.samples = 4;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(CheckerTest, EverybodyTakesPartIfOnlyWithNothing) {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.everybody = true;
  s.terms.samples = 2;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.add(Assigned{{b, 0, wire::Range{0, 0, 0}}});
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0), {b, 0, 0, 0, 0, wire::Range{0, 0, 0}}});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  auto t = s;
  t.terms.options.everybody = false;
  expect_found(t, "counts samples 0..0 of epoch 0, which do not exist");
  auto& record = s.find<Decided>().record;
  record.applied.pop_back();
  record.quorum = 1;
  expect_found(s, "made of 1 gradients instead of 2");
}

TEST(CheckerTest, DegradedMeansThatReplicasAreGone) {
  auto s = sync_story();
  s.find<Decided>().record.degraded = true;
  expect_found(s, "called degraded with 2 of 2 alive");

  Story t;
  const auto a = gradient(0);
  t.terms.options.steps = 1;
  t.join(0);
  t.join(1);
  t.add(Left{{1, 1}, "gone"});
  t.assign(a, 0, 0);
  t.work(a, 0);
  t.decide(0, {t.part(a, 0, 0, 1, 0)}).degraded = true;
  t.make(1, {{a, 1}});
  t.show(1);
  t.add(Finished{1});
  expect_clean(t);
  t.find<Decided>().record.degraded = false;
  expect_found(t, "made of 1 gradients instead of 2");
}

TEST(CheckerTest, AWarmUpIsOfOne) {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.warmup_steps = 2;
  s.terms.options.steps = 1;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.work(a, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.add(Finished{1});
  expect_clean(s);
  s.events.insert(s.events.begin() + 2, Event{Time(0), Assigned{{b, 0, wire::Range{0, 2, 4}}}});
  expect_found(s, "while one was to warm up");
}

TEST(CheckerTest, GradientsAreFresh) {
  auto s = sync_story();
  s.find<Installed>(1).version = 1;
  expect_found(s, "which is not fresh");
  s.erase<Installed>(1);
  expect_found(s, "had not installed the parameters of every shard");
}

TEST(CheckerTest, DecidedOnlyWhenExamined) {
  auto s = sync_story();
  const auto late = s.find<Examined>();
  s.erase<Examined>();
  s.add(late);
  expect_found(s, "was decided before block 0 of gradient 1 of replica 0 (life 1) was found sound");
}

TEST(CheckerTest, EveryBlockIsMadeOnce) {
  auto s = sync_story();
  s.add(Made{s.find<Made>()});
  expect_found(s, "was made twice");
  auto t = sync_story();
  t.erase<Made>(1);
  expect_found(t, "before every shard had made it: shard 1 had made 0 of 1 blocks");
}

TEST(CheckerTest, MadeOfTheRecordsGradients) {
  auto s = sync_story();
  s.find<Made>(1).used.pop_back();
  expect_found(s, "leaves out gradient 1 of replica 1 (life 1), which is in the record");
  auto t = sync_story();
  t.find<Made>().used[0].gradient = gradient(0, 1, 2);
  expect_found(t, "uses gradient 1 of replica 0 (life 2), which is not in the record");
  auto u = sync_story();
  u.find<Made>().used[1] = u.find<Made>().used[0];
  expect_found(u, "twice");
}

TEST(CheckerTest, AnAbsentBlockMayBeLeftOut) {
  auto s = sync_story();
  s.find<Made>(1).used.pop_back();
  s.erase<Examined>(3);
  expect_clean(s);
}

TEST(CheckerTest, WeightsAreTheRecords) {
  auto s = sync_story();
  s.find<Made>().used[0].weight = 0.7;
  expect_found(s, "weighted unlike the record");
  auto t = sync_story();
  t.find<Decided>().record.applied[0].weight = 0.6;
  expect_found(t, "weight 0.6 for 2 of 4 samples");
  auto u = sync_story();  // an averaged block of which one share is absent
  u.find<Made>(1).used.pop_back();
  u.find<Made>(1).used[0].weight = 1;
  u.erase<Examined>(3);
  expect_clean(u);
}

TEST(CheckerTest, ScaleOnlyWithClippingAndAlike) {
  auto s = sync_story();
  s.find<Made>(0).scale = s.find<Made>(1).scale = 0.5;
  expect_found(s, "was scaled without clipping");
  s.find<Decided>().record.clip = true;
  expect_clean(s);
  s.find<Made>(1).scale = 0.25;
  expect_found(s, "was scaled unlike others");
}

TEST(CheckerTest, VersionsFollowEachOther) {
  auto s = sync_story();
  s.find<Published>().version = 2;
  expect_found(s, "shard 0 showed version 2 after 0");
  auto t = async_story();
  t.find<Made>(0).version = 2;
  expect_found(t, "was made when the shard showed version 0");
}

TEST(CheckerTest, TheRateIsTheSchedules) {
  auto s = async_story();
  s.terms.options.schedule.kind = ScheduleOptions::Kind::cosine;
  expect_found(s, "step 1 has rate 1, the schedule says 0.5 after 2 samples");
  s.find<Decided>(1).record.rate = s.find<Made>(2).rate = s.find<Made>(3).rate = 0.5;
  expect_clean(s);
}

// --- promise 2 ---

TEST(CheckerTest, AppliedOnce) {
  auto s = async_story();
  s.find<Decided>(1).record.applied[0] = s.find<Decided>(0).record.applied[0];
  expect_found(s, "gradient 1 of replica 0 (life 1) was applied twice");
}

TEST(CheckerTest, NotAppliedAndTurnedAway) {
  auto s = async_story();
  s.decide(2, {}, {{gradient(0), Fate::dropped, 2, 2, ""}});
  expect_found(s, "was both applied and dropped");
}

TEST(CheckerTest, ToldWhatTheLogSays) {
  auto s = async_story();
  s.find<Told>().verdict.fate = Fate::dropped;
  expect_found(s, "was told to be dropped at version 1");
  auto t = async_story();
  t.tell(gradient(1, 2), Fate::applied, 1);
  expect_found(t, "was told to be applied, undecided");
}

TEST(CheckerTest, StalenessIsTrueAndBounded) {
  auto s = async_story();
  s.find<Decided>(1).record.applied[0].staleness = 0;
  expect_found(s, "it is 1, on version 0");
  auto t = async_story();
  t.terms.options.stale.max_staleness = 0;
  expect_found(t, "1 versions stale, more than the 0 allowed");
  auto u = async_story();
  u.terms.options.stale.policy = Stale::scale_inverse;
  expect_found(u, "weight 1 at staleness 1");
}

TEST(CheckerTest, NobodyRunsTooFarAhead) {
  auto s = async_story();
  s.terms.options.stale.max_lead = 1;
  s.terms.options.epochs = 9;
  s.erase<Finished>();
  const auto second = std::find_if(s.events.begin(), s.events.end(), [](const auto& event) {
    const auto* told = std::get_if<Told>(&event.what);
    return told && told->verdict.gradient.life.replica == 0;
  });
  s.events.insert(second, Event{Time(0), Assigned{{gradient(0, 2), 1, wire::Range{1, 0, 2}}}});
  expect_found(s, "1 or more ahead of replica 1 with 0");
  s.terms.options.stale.max_lead = 2;
  expect_clean(s);
}

// --- promise 3 ---

TEST(CheckerTest, SamplesCountOnce) {
  auto s = async_story();
  s.find<Assigned>(1).assign.range->begin = s.find<Decided>(1).record.applied[0].range->begin = 0;
  s.find<Assigned>(1).assign.range->end = s.find<Decided>(1).record.applied[0].range->end = 2;
  expect_found(s, "sample 0 of epoch 0 counted twice");
  expect_found(s, "sample 2 of epoch 0 never counted");
}

TEST(CheckerTest, EveryEpochIsWhole) {
  auto s = async_story();
  s.terms.options.epochs = 2;
  expect_found(s, "sample 0 of epoch 1 never counted");
  s.terms.options.steps = 2;
  expect_clean(s);
}

TEST(CheckerTest, ASynchronousEpochBeginsWhenTheOneBeforeHasCounted) {
  auto s = sync_story();
  s.terms.options.steps = 1;
  s.events.insert(s.events.begin() + 2, Event{Time(0), Joined{{2, 1}}});
  s.events.insert(s.events.begin() + 3, Event{Time(0), Assigned{{gradient(2), 0, wire::Range{1, 0, 2}}}});
  expect_found(s, "was assigned in epoch 1 before the one before had counted");
}

// --- promise 5, and the end ---

TEST(CheckerTest, DamagedPayloadsAreNotUsed) {
  auto s = sync_story();
  s.find<Examined>().ok = false;
  expect_found(s, "uses a damaged payload");
}

TEST(CheckerTest, NothingStaysUndecided) {
  auto s = async_story();
  const auto at = s.events.end() - 1;
  s.events.insert(at, Event{Time(0), Assigned{{gradient(0, 2), 2, wire::Range{0, 0, 2}}}});
  expect_found(s, "gradient 2 of replica 0 (life 1) was never decided");
}

TEST(CheckerTest, WorkGoesToLivesThatAreIn) {
  auto s = sync_story();
  s.erase<Joined>();
  expect_found(s, "was assigned to a life that is not in");
  auto u = sync_story();
  u.find<Assigned>().assign.step = 1;
  expect_found(u, "was assigned for version 1, but 0 was committed");
  auto t = async_story();
  t.find<Assigned>(1).assign.gradient = gradient(0, 2);
  expect_found(t, "was assigned while gradient 1 of replica 0 (life 1) was undecided");
}

}  // namespace
}  // namespace yoke::history
