#include "history/merge.h"

#include <array>

#include "base/scratch_folder.h"
#include "history/history_file.h"
#include "history/recorder.h"
#include "history/story.h"

namespace yoke::history {
namespace {

Event committed(int at, wire::Version version) { return {Time(at), Committed{version}}; }

std::vector<wire::Version> versions(const std::vector<Event>& events) {
  std::vector<wire::Version> versions;
  for (const auto& event : events)
    if (const auto* e = std::get_if<Committed>(&event.what)) versions.push_back(e->version);
  return versions;
}

using Versions = std::vector<wire::Version>;

TEST(MergeTest, GoesByTime) {
  EXPECT_EQ(versions(merge({{committed(1, 1), committed(4, 4)}, {}, {committed(2, 2), committed(3, 3)}})),
            (Versions{1, 2, 3, 4}));
  EXPECT_TRUE(merge({}).empty());
  EXPECT_TRUE(merge({{}, {}}).empty());
}

TEST(MergeTest, AtEqualTimesTheEarlierPartComesFirst) {
  EXPECT_EQ(
      versions(merge({{committed(1, 1), committed(1, 2)}, {committed(1, 3)}, {committed(0, 4), committed(1, 5)}})),
      (Versions{4, 1, 2, 3, 5}));
}

// Threads of one process may be late to add what they did.
TEST(MergeTest, KeepsTheOrderInsideAPart) {
  EXPECT_EQ(versions(merge({{committed(5, 1), committed(2, 2), committed(6, 3)}, {committed(3, 4), committed(6, 5)}})),
            (Versions{4, 1, 2, 3, 5}));
}

TEST(MergeTest, TermsComeFirstAndOnce) {
  Terms terms;
  terms.samples = 7;
  const auto merged = merge({{committed(1, 1), {Time(9), terms}}, {{Time(5), terms}, committed(6, 2)}});
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(std::get<Terms>(merged[0].what).samples, 7u);
  EXPECT_EQ(merged[0].at, Time(5));
  EXPECT_EQ(versions(merged), (Versions{1, 2}));
}

// The first server was lost before any replica had come to it.
TEST(MergeTest, TermsThatOnlyALaterViewWroteComeFirst) {
  Resumed early, late;
  early.terms.emplace().samples = 7;
  late.terms.emplace().samples = 8;
  const auto merged = merge({{{Time(3), late}}, {{Time(2), early}, committed(4, 1)}});
  ASSERT_EQ(merged.size(), 4u);
  ASSERT_TRUE(std::holds_alternative<Terms>(merged[0].what));
  EXPECT_EQ(std::get<Terms>(merged[0].what).samples, 7u);
  EXPECT_TRUE(std::holds_alternative<Resumed>(merged[1].what));
}

TEST(MergeTest, TermsOfDifferentJobsAreSeen) {
  Terms one, other;
  other.options.stale.strength = 0.2;
  const auto merged = merge({{{Time(1), one}}, {{Time(2), other}, committed(1, 1)}, {{Time(3), one}}});
  ASSERT_EQ(merged.size(), 3u);
  ASSERT_EQ(check(merged).size(), 1u);
  EXPECT_NE(check(merged)[0].find("more than one set of terms"), std::string::npos);
}

// The processes of a job with two servers: the first has the sequencer and shard 0, the second shard 1; the third has
// the replicas.
class Job {
 public:
  explicit Job(const Story& story) {
    for (std::size_t i = 0; i < recorders_.size(); ++i) recorders_[i].stream_to(file(i)).or_throw();
    recorders_[0].add(Time(0), story.terms);
    for (const auto& event : story.events) recorders_[process_of(event.what)].add(event.at, event.what);
    for (auto& recorder : recorders_) recorder.flush().or_throw();
  }

  std::vector<Event> history() const {
    std::vector<std::vector<Event>> parts;
    for (std::size_t i = recorders_.size(); i-- > 0;) {  // in any order
      parts.push_back(read_history(file(i)).or_throw());
      EXPECT_FALSE(parts.back().empty());
    }
    return merge(std::move(parts));
  }

 private:
  static std::size_t process_of(const What& what) {
    if (const auto* e = std::get_if<Made>(&what)) return e->shard;
    if (const auto* e = std::get_if<Published>(&what)) return e->shard;
    if (const auto* e = std::get_if<Examined>(&what)) return e->block;
    return std::holds_alternative<Installed>(what) || std::holds_alternative<Told>(what) ? 2 : 0;
  }
  std::string file(std::size_t process) const { return folder_.file(std::to_string(process) + ".jsonl"); }

  ScratchFolder folder_;
  std::array<Recorder, 3> recorders_;
};

TEST(MergeTest, AJobInPartsKeepsItsPromises) {
  for (const auto& story : {sync_story(), async_story()}) {
    const auto history = Job(story).history();
    EXPECT_EQ(history.size(), story.events.size() + 1);
    for (const auto& finding : check(history)) ADD_FAILURE() << finding;
  }
}

// The first process, with the sequencer and shard 0, is killed in the middle of a line; the second has both shards from
// then on, and goes on from a version of which the first had not written that it had made it.
TEST(MergeTest, AJobThatWasFormedAnewKeepsItsPromises) {
  auto story = formed_story();
  auto& resumed = story.find<Resumed>();
  resumed.terms->options.shards = 1;
  resumed.terms->shard_blocks = {2};
  const auto formed = static_cast<std::size_t>(
      std::find_if(story.events.begin(), story.events.end(),
                   [](const auto& event) { return std::holds_alternative<Resumed>(event.what); }) -
      story.events.begin());
  std::vector<Event> killed{{Time(0), story.terms}}, survivor;
  for (std::size_t at = 0; at < story.events.size(); ++at) {
    auto event = story.events[at];
    event.at = Time(at + 1);
    if (at >= formed) {
      const auto* installed = std::get_if<Installed>(&event.what);
      const auto* published = std::get_if<Published>(&event.what);
      if ((installed && installed->shard == 1) || (published && published->shard == 1)) continue;
      if (auto* made = std::get_if<Made>(&event.what)) made->shard = 0;
      survivor.push_back(std::move(event));
    } else if (const auto* made = std::get_if<Made>(&event.what)) {
      if (made->shard == 1) survivor.push_back(event);
      if (made->shard == 0 && made->version == 1) killed.push_back(event);
    } else {
      (std::holds_alternative<Told>(event.what) ? survivor : killed).push_back(event);
    }
  }
  const ScratchFolder folder;
  folder.write("killed", to_json_lines(killed) + R"({"at":99,"event":"made","sha)");
  folder.write("survivor", to_json_lines(survivor));
  for (const bool killed_first : {true, false}) {
    std::vector<std::vector<Event>> parts;
    for (const char* file : {killed_first ? "killed" : "survivor", killed_first ? "survivor" : "killed"})
      parts.push_back(read_history(folder.file(file)).or_throw());
    for (const auto& finding : check(merge(std::move(parts)))) ADD_FAILURE() << finding;
  }
}

TEST(MergeTest, WhatIsMissingInOnePartIsFound) {
  auto story = sync_story();
  story.erase<Made>(1);
  const auto findings = check(Job(story).history());
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0], "version 1 was committed before every shard had made it: shard 1 had made 0 of 1 blocks");
}

}  // namespace
}  // namespace yoke::history
