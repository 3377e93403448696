#include "history/recorder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <memory>
#include <thread>

#include "base/scratch_folder.h"
#include "history/history_file.h"

namespace yoke::history {
namespace {

using core::Send;
using wire::kSequencer;
using wire::shard_at;

TEST(RecorderTest, ReadsEffectsOfTheSequencerOnceEach) {
  Recorder recorder;
  const auto say = [&](wire::Message message) {
    for (int shard = 0; shard < 2; ++shard)
      recorder.add_effect(Time(1), kSequencer, Send{shard_at(static_cast<std::uint32_t>(shard)), message});
  };
  say(wire::Fence{{0, 1}});
  say(wire::Record{.index = 0});
  say(wire::Commit{1});
  say(wire::Commit{1});
  say(wire::Record{.index = 0});
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<Joined>(events[0].what));
  EXPECT_TRUE(std::holds_alternative<Decided>(events[1].what));
  EXPECT_TRUE(std::holds_alternative<Committed>(events[2].what));
}

TEST(RecorderTest, KnowsWhoSpeaks) {
  Recorder recorder;
  recorder.add_effect(Time(1), shard_at(3), core::Publish{7});
  recorder.add_effect(Time(2), shard_at(3), Send{kSequencer, wire::Commit{1}});
  recorder.add_effect(Time(3), kSequencer, Send{wire::replica_at(2), wire::Turned{{2, 5}, "why"}});
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<Published>(events[0].what).shard, 3u);
  EXPECT_EQ(std::get<Left>(events[1].what).life, (wire::Life{2, 5}));
}

TEST(RecorderTest, ReadsCheckpointsOffTheEffects) {
  Recorder recorder;
  recorder.add_effect(Time(1), shard_at(3), core::Capture{7, 5});
  recorder.add_effect(Time(2), kSequencer, core::Announce{7, 5});
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(std::get<Captured>(events[0].what).shard, 3u);
  EXPECT_EQ(std::get<Captured>(events[0].what).token, 7u);
  EXPECT_EQ(std::get<Announced>(events[1].what).version, 5u);
}

TEST(RecorderTest, ALogBeginsAnewWhenTheJobGoesOn) {
  Recorder recorder;
  const auto say = [&](wire::Message message) {
    recorder.add_effect(Time(1), kSequencer, Send{shard_at(0), std::move(message)});
  };
  say(wire::Record{.index = 0});
  say(wire::Commit{4});
  recorder.add(Time(2), Resumed{.standing = {.version = 2}});
  say(wire::Record{.index = 0});
  say(wire::Commit{2});
  say(wire::Commit{3});
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(std::holds_alternative<Decided>(events[3].what));
  EXPECT_EQ(std::get<Committed>(events[4].what).version, 3u);
}

// The one that has the sequencer from then on has recorded none of the log before.
TEST(RecorderTest, ALogGoesOnInAnotherHand) {
  Recorder recorder;
  const auto say = [&](wire::Message message) {
    recorder.add_effect(Time(1), kSequencer, Send{shard_at(0), std::move(message)});
  };
  recorder.add_effect(Time(0), shard_at(3), core::Publish{5});
  recorder.add(Time(1), Resumed{.standing = {.version = 5}, .formed = true});
  say(wire::Fence{{0, 2}});
  say(wire::Commit{5});
  say(wire::Record{.index = 0});
  say(wire::Commit{6});
  const auto events = recorder.events();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_TRUE(std::get<Resumed>(events[1].what).formed);
  EXPECT_TRUE(std::holds_alternative<Joined>(events[2].what));
  EXPECT_TRUE(std::holds_alternative<Decided>(events[3].what));
  EXPECT_EQ(std::get<Committed>(events[4].what).version, 6u);
}

std::vector<Event> read(const std::string& file) { return read_history(file).or_throw(); }

TEST(RecorderTest, WhatWasFlushedIsInTheFile) {
  const ScratchFolder folder;
  const auto file = folder.write("history", "of another job");
  Recorder recorder;
  recorder.add(Time(1), Committed{1});
  EXPECT_TRUE(recorder.flush());  // in memory there is nothing to do
  ASSERT_TRUE(recorder.stream_to(file));
  EXPECT_TRUE(recorder.events().empty());
  recorder.add(Time(2), Committed{2});
  EXPECT_TRUE(read(file).empty());
  ASSERT_TRUE(recorder.flush());
  ASSERT_EQ(read(file).size(), 2u);
  recorder.add_effect(Time(3), shard_at(1), core::Publish{2});
  ASSERT_TRUE(recorder.flush());
  ASSERT_TRUE(recorder.flush());
  ASSERT_EQ(read(file).size(), 3u);
  EXPECT_EQ(read(file)[0].at, Time(1));
  EXPECT_EQ(std::get<Published>(read(file)[2].what).version, 2u);
}

TEST(RecorderTest, FlushesInTheEnd) {
  const ScratchFolder folder;
  auto recorder = std::make_unique<Recorder>();
  ASSERT_TRUE(recorder->stream_to(folder.file("history")));
  recorder->add(Time(1), Committed{1});
  recorder.reset();
  EXPECT_EQ(read(folder.file("history")).size(), 1u);
}

TEST(RecorderTest, FlushesWhenThereIsMuch) {
  const ScratchFolder folder;
  Recorder recorder;
  ASSERT_TRUE(recorder.stream_to(folder.file("history")));
  const std::string reason(1000, 'x');
  for (int i = 0; i < 1000; ++i) recorder.add(Time(i), Stopped{reason});
  EXPECT_GT(read(folder.file("history")).size(), 500u);
  ASSERT_TRUE(recorder.flush());
  EXPECT_EQ(read(folder.file("history")).size(), 1000u);
}

TEST(RecorderTest, TheFileIsTheOwnersAlone) {
  const ScratchFolder folder;
  Recorder recorder;
  ASSERT_TRUE(recorder.stream_to(folder.file("history")));
  struct stat found {};
  ASSERT_EQ(::stat(folder.file("history").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST(RecorderTest, AddsFromManyThreads) {
  const ScratchFolder folder;
  Recorder recorder;
  ASSERT_TRUE(recorder.stream_to(folder.file("history")));
  constexpr std::uint32_t kThreads = 4;
  constexpr std::uint64_t kEach = 3000;
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&recorder, thread] {
        for (std::uint64_t i = 0; i < kEach; ++i) {
          recorder.add(Time(0), Published{thread, i});
          if (i % 100 == thread) {
            EXPECT_TRUE(recorder.flush());
          }
        }
      });
  }
  ASSERT_TRUE(recorder.flush());
  std::vector<wire::Version> next(kThreads);
  for (const auto& event : read(folder.file("history"))) {
    const auto& published = std::get<Published>(event.what);
    EXPECT_EQ(published.version, next[published.shard]++);
  }
  EXPECT_EQ(next, std::vector<wire::Version>(kThreads, kEach));
}

void expect_error(const Status& status, const std::string& file, const std::string& why) {
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(file), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
}

TEST(RecorderTest, SaysWhyAFileCannotBeMade) {
  const ScratchFolder folder;
  Recorder recorder;
  expect_error(recorder.stream_to(folder.file("no/history")), folder.file("no/history"), "No such file");
  recorder.add(Time(1), Committed{1});
  EXPECT_EQ(recorder.events().size(), 1u);
  ASSERT_TRUE(recorder.stream_to(folder.file("history")));
  expect_error(recorder.stream_to(folder.file("other")), folder.file("other"), "already");
}

TEST(RecorderTest, RemembersThatItCouldNotWrite) {
  Recorder recorder;
  if (!recorder.stream_to("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  EXPECT_TRUE(recorder.flush());
  for (int i = 0; i < 2; ++i) {
    recorder.add(Time(1), Committed{1});
    expect_error(recorder.flush(), "/dev/full", "No space left");
  }
  // And when it happens by itself.
  Recorder other;
  ASSERT_TRUE(other.stream_to("/dev/full"));
  for (int i = 0; i < 300; ++i) other.add(Time(1), Stopped{std::string(1000, 'x')});
  expect_error(other.flush(), "/dev/full", "No space left");
}

}  // namespace
}  // namespace yoke::history
