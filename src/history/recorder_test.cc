#include "history/recorder.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace yoke::history
