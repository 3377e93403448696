#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "cli/processes.h"
#include "yoke/run.h"

namespace yoke::cli {
namespace {

class OptionsFrom : public testing::Test {
 protected:
  ~OptionsFrom() override {
    for (const auto& name : set_) unsetenv(name.c_str());
  }
  void variable(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  // As `yoke launch` starts a program.
  void launched(const std::string& flags) {
    variable("YOKE_JOIN", "unix:first");
    variable("YOKE_REPLICA", "0");
    variable("YOKE_FLAGS", flags);
    variable(kCommandVariable, "launch " + flags + " -- ./program 'a b'");
  }
  static Result<Options> from(std::vector<std::string> words) {
    words.insert(words.begin(), "./program");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return options_from(static_cast<int>(argv.size()), argv.data());
  }

 private:
  std::vector<std::string> set_;
};

using Words = std::vector<std::string>;

TEST_F(OptionsFrom, AProgramByItselfKeepsCheckpointsOfItsOwn) {
  const auto options = from({"--checkpoint", "runs", "--every", "5steps", "--min-replicas", "2", "--replicas", "3"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->checkpoints.folder, "runs");
  EXPECT_EQ(options->checkpoints.every_steps, 5u);
  EXPECT_EQ(options->min_replicas, 2u);
  EXPECT_EQ(options->checkpoints.command.front(), "./program");
  EXPECT_EQ(options->checkpoints.command.size(), 9u);
}

TEST_F(OptionsFrom, UnderALauncherTheyAreTheLaunchers) {
  launched("--resume runs --keep 7");
  const auto options = from({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->checkpoints.folder, "runs");
  EXPECT_EQ(options->checkpoints.resume, "runs");
  EXPECT_EQ(options->checkpoints.keep, 7u);
  EXPECT_EQ(options->checkpoints.command,
            (Words{"yoke", "launch", "--resume", "runs", "--keep", "7", "--", "./program", "a b"}));
}

TEST_F(OptionsFrom, BehindTheProgramsNameTheServersWouldNotHearOfThem) {
  launched("--replicas 2");
  const auto options = from({"--checkpoint", "runs"});
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message.find("before the `--`"), std::string::npos) << options.error().message;
}

TEST_F(OptionsFrom, AMirroredReplicaListensWhereTheLauncherSays) {
  launched("--strategy mirrored --replicas 3");
  variable("YOKE_LISTEN", "unix:own");
  const auto options = from({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->processes.listen, "unix:own");
  EXPECT_EQ(options->processes.join, "unix:first");
  EXPECT_EQ(options->processes.hosts_of, 3u);
  EXPECT_TRUE(options->processes.members.empty());
}

TEST_F(OptionsFrom, AMirroredReplicaThatComesAgainAsksTheOthers) {
  launched("--strategy mirrored --replicas 3");
  variable("YOKE_JOIN", "unix:one,unix:two");
  variable("YOKE_LISTEN", "unix:own");
  variable("YOKE_AGAIN", "1");
  const auto options = from({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->processes.members, (Words{"unix:one", "unix:two"}));
  EXPECT_EQ(options->processes.join, "unix:one");
  EXPECT_EQ(options->processes.listen, "unix:own");
  EXPECT_EQ(options->processes.replica, 0u);
}

TEST_F(OptionsFrom, AMirroredReplicaWithoutANumberTakesAFreeSeat) {
  launched("--strategy mirrored --replicas 3");
  variable("YOKE_REPLICA", "");
  const auto options = from({});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->processes.members, Words{"unix:first"});
  EXPECT_FALSE(options->processes.replica);
  EXPECT_TRUE(options->processes.listen.starts_with("unix:first.p")) << options->processes.listen;
}

TEST_F(OptionsFrom, NoneAreKeptOfAContainer) {
  launched("--checkpoint runs");
  variable(kContainerVariable, "box");
  const auto options = from({});
  ASSERT_FALSE(options);
  EXPECT_NE(options.error().message.find("--container box"), std::string::npos) << options.error().message;
}

}  // namespace
}  // namespace yoke::cli
