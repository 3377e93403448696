#include "cli/checkpoint_flags.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/scratch_folder.h"

namespace yoke::cli {
namespace {

using std::chrono::milliseconds;
using Words = std::vector<std::string>;

// What the flags make of the words; the message where they are wrong.
struct Parsed {
  Checkpoints checkpoints;
  std::string problem;
};

Parsed parse(Words words) {
  Parsed parsed;
  CLI::App app;
  add_checkpoint_flags(app, parsed.checkpoints);
  std::reverse(words.begin(), words.end());
  try {
    app.parse(words);
  } catch (const CLI::ParseError& problem) {
    parsed.problem = problem.what();
  }
  return parsed;
}

std::string every_of(const std::string& text) {
  const auto parsed = parse({"--every=" + text});
  if (!parsed.problem.empty()) return parsed.problem;
  return std::to_string(parsed.checkpoints.every.count()) + " ms, " + std::to_string(parsed.checkpoints.every_steps);
}

TEST(CheckpointFlags, EveryTakesTimesStepsAndBoth) {
  EXPECT_EQ(every_of("30s"), "30000 ms, 0");
  EXPECT_EQ(every_of("10m"), "600000 ms, 0");
  EXPECT_EQ(every_of("2h"), "7200000 ms, 0");
  EXPECT_EQ(every_of("500steps"), "0 ms, 500");
  EXPECT_EQ(every_of("1step"), "0 ms, 1");
  EXPECT_EQ(every_of("10m,500steps"), "600000 ms, 500");
  EXPECT_EQ(every_of("500steps,10m"), "600000 ms, 500");
  EXPECT_EQ(every_of("8760h"), "31536000000 ms, 0");
}

TEST(CheckpointFlags, AWrongEverySaysWhatIsRight) {
  for (const std::string text :
       {"10x", "10", "m", "-5m", "0s", "0steps", "1.5h", "10 m", "10m,", "10m,20m", "5steps,6steps", "10m,500steps,3s",
        "99999999999999999999s", "18446744073709551615steps", "nanh"})
    EXPECT_EQ(every_of(text),
              "--every " + text + ": give a time (30s, 10m, 2h), a number of steps (500steps), or both with a comma");
  EXPECT_EQ(every_of("8761h"), "--every 8761h: a year is the longest (8760h)");
}

TEST(CheckpointFlags, WithoutTheFlagsNothingIsKept) {
  const auto none = parse({});
  EXPECT_EQ(none.checkpoints.folder, "");
  EXPECT_EQ(none.checkpoints.every_steps, 0u);
  EXPECT_EQ(none.checkpoints.every.count(), 0) << "which stands for 10 minutes";
  EXPECT_EQ(none.checkpoints.keep, 3u);
  EXPECT_TRUE(check_checkpoints(none.checkpoints, "box"));
}

TEST(CheckpointFlags, KeepIsHowMany) {
  EXPECT_EQ(parse({"--keep", "7"}).checkpoints.keep, 7u);
  for (const std::string text : {"0", "-1", "2x", "1000001", "9999999999"})
    EXPECT_EQ(parse({"--keep=" + text}).problem,
              "--keep " + text + ": it is how many checkpoints are kept, from 1 to 1000000");
  EXPECT_EQ(parse({"--keep", "best"}).problem,
            "--keep best: that is called --result best now; --keep is how many checkpoints are kept");
  EXPECT_EQ(parse({"--keep=last"}).problem,
            "--keep last: that is called --result last now; --keep is how many checkpoints are kept");
}

TEST(CheckpointFlags, ResumeGoesOnInItsFolderUnlessAnotherIsNamed) {
  const auto same = parse({"--resume", "a"}).checkpoints;
  EXPECT_EQ(same.resume, "a");
  EXPECT_EQ(same.folder, "a");
  for (const Words& words : {Words{"--resume", "a", "--checkpoint", "b"}, {"--checkpoint", "b", "--resume", "a"}}) {
    const auto other = parse(words).checkpoints;
    EXPECT_EQ(other.resume, "a");
    EXPECT_EQ(other.folder, "b");
  }
}

TEST(CheckpointFlags, TheWordsForAnotherProcessSayTheSame) {
  EXPECT_EQ(checkpoint_words(parse({"--keep", "3"}).checkpoints), Words{});
  for (const Words& words : {Words{"--checkpoint", "a b"},
                             {"--checkpoint", "a", "--every", "2h"},
                             {"--checkpoint", "a", "--every", "7steps", "--keep", "9"},
                             {"--resume", "a", "--every", "30s,7steps", "--checkpoint", "c"}}) {
    const auto here = parse(words).checkpoints;
    const auto there = parse(checkpoint_words(here)).checkpoints;
    EXPECT_EQ(there.folder, here.folder);
    EXPECT_EQ(there.every, here.every);
    EXPECT_EQ(there.every_steps, here.every_steps);
    EXPECT_EQ(there.keep, here.keep);
    EXPECT_EQ(there.resume, here.resume);
  }
}

TEST(CheckpointFlags, WhatMeansNothingAloneIsRefused) {
  const auto problem = [](const Words& words, const std::string& container = "") {
    const auto checked = check_checkpoints(parse(words).checkpoints, container);
    return checked ? "" : checked.error().message;
  };
  EXPECT_NE(problem({"--every", "5m"}).find("--every"), std::string::npos);
  EXPECT_NE(problem({"--every", "5steps"}).find("say --checkpoint DIR"), std::string::npos);
  EXPECT_NE(problem({"--keep", "5"}).find("say --checkpoint DIR"), std::string::npos);
  EXPECT_EQ(problem({"--every", "10m", "--keep", "3"}), "") << "as a file of settings has them";
  EXPECT_NE(problem({"--resume", "d"}, "box").find("--container box"), std::string::npos);

  const ScratchFolder folder;
  EXPECT_EQ(problem({"--checkpoint", folder.file("not-there-yet")}), "");
  EXPECT_EQ(problem({"--checkpoint", folder.file(".")}), "");
  EXPECT_NE(problem({"--checkpoint", folder.write("file", "x")}).find("is no folder"), std::string::npos);
  EXPECT_NE(problem({"--resume", folder.file("file"), "--checkpoint", "x"}).find("--resume"), std::string::npos);
}

}  // namespace
}  // namespace yoke::cli
