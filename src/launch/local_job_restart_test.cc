#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <string>

#include "base/scratch_folder.h"
#include "launch/launch_fixture.h"
#include "launch/local_job.h"

namespace yoke::launch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const std::string kKilled = "kill -KILL $$";

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// A job of two replicas and a server, whose scripts have a folder to tell each other things: `wait_for NAME` until
// another says `tell NAME`.
class LocalJobRestart : public testing::Test {
 protected:
  LocalJobRestart() {
    job_.part = {.servers = {0}, .replicas = {0, 1}};
    job_.restarts = {.times = 3, .pause = milliseconds(1)};
    for (const auto part : {&Patience::servers_end, &Patience::servers_fail, &Patience::replicas_notice,
                            &Patience::replicas_write, &Patience::look})
      job_.patience.*part = hours(1);
  }

  std::string pipe(const std::string& name) {
    mkfifo(folder_.file(name).c_str(), 0600);
    return folder_.file(name);
  }
  std::string tell(const std::string& name) { return "echo >" + pipe(name) + "; "; }
  void go_on() { std::ofstream(folder_.file("on")) << "\n"; }
  std::string wait_for(const std::string& name) { return "read x <" + pipe(name) + "; "; }
  // Lost in its first `lives` lives; then it goes on with what follows.
  std::string lost_in_first(int lives, const std::string& how = kKilled) {
    const auto file = folder_.file("lives");
    return "echo >>" + file + "; [ $(wc -l <" + file + ") -gt " + std::to_string(lives) + " ] || " + how + "; ";
  }

  Result<JobEnd> run(const std::string& server, const std::string& replica_0, const std::string& replica_1) {
    job_.server = [=](std::uint32_t, const std::string&) { return ready_shell("server 0", "ready at0; " + server); };
    job_.replica = [=, this](std::uint32_t i, const std::string& join) {
      EXPECT_EQ(join, "at0");
      ++started_[i];
      return shell("replica " + std::to_string(i), i == 0 ? replica_0 : replica_1);
    };
    return run_job();
  }

  // Without servers: the replicas have the state.
  Result<JobEnd> mirror(const std::string& replica_0, const std::string& replica_1) {
    job_.part.servers.clear();
    job_.mirrored = true;
    job_.join = "at0";
    return run("", replica_0, replica_1);
  }

  Result<JobEnd> run_job() {
    Said said;
    Supervisor supervisor(said.sink());
    return run_local_job(supervisor, job_, [this](const std::string& text) {
      told_ += text + "\n";
      if (hear_) hear_(text);
    });
  }

  ScratchFolder folder_;
  LocalJob job_;
  std::function<void(const std::string&)> hear_;
  std::string told_;
  int started_[2] = {};
};

TEST_F(LocalJobRestart, OneThatWasLostComesAgainUnderItsNumber) {
  const auto end = run(wait_for("over"), lost_in_first(2) + tell("on"), wait_for("on") + tell("over"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->replicas.at(0)->signal, 0) << "of its last life";
  EXPECT_TRUE(end->served);
  EXPECT_EQ(started_[0], 3);
  EXPECT_EQ(started_[1], 1);
  EXPECT_NE(told_.find("replica 0 was ended by SIGKILL (process "), std::string::npos) << told_;
  EXPECT_NE(told_.find("; restart 1 of 3 in 0.0 s\n"), std::string::npos) << told_;
  EXPECT_NE(told_.find("; restart 2 of 3 in 0.0 s\n"), std::string::npos) << told_;
  EXPECT_EQ(count(told_, "\n"), 2U) << told_;
}

TEST_F(LocalJobRestart, AFailingStatusIsALossToo) {
  const auto end = run(wait_for("over"), lost_in_first(1, "exit 1") + tell("over"), "exit 2");
  ASSERT_TRUE(end);
  EXPECT_EQ(started_[0], 2);
  EXPECT_NE(told_.find("replica 0 ended with status 1 (process "), std::string::npos) << told_;
}

TEST_F(LocalJobRestart, OneThatCouldNotBeginDoesNot) {
  for (const auto* status : {"exit 2", "exit 3", "exit 4"}) {
    started_[0] = 0;
    const auto end = run(wait_for("over"), status, tell("over"));
    ASSERT_TRUE(end);
    EXPECT_EQ(started_[0], 1) << status;
  }
  EXPECT_EQ(told_, "");
}

TEST_F(LocalJobRestart, TheJobIsNotOverWhileNobodyRunsButOneComesAgain) {
  // The server would be stopped if the job were taken for lost.
  job_.patience.servers_fail = milliseconds(0);
  const auto end = run(wait_for("over"), lost_in_first(2) + tell("over"), kKilled);
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->served) << told_;
}

TEST_F(LocalJobRestart, WhenTheyAreUsedUpTheOthersGoOn) {
  hear_ = [&](const std::string& text) {
    if (text.find("no more") != std::string::npos) go_on();
  };
  const auto end = run(wait_for("over"), kKilled, wait_for("on") + tell("over"));
  ASSERT_TRUE(end);
  EXPECT_EQ(started_[0], 4);
  EXPECT_EQ(end->replicas.at(0)->signal, SIGKILL);
  ASSERT_EQ(end->losses.size(), 1U) << "its last life";
  EXPECT_EQ(end->losses[0].find("replica 0 was ended by SIGKILL (process "), 0U) << end->losses[0];
  EXPECT_EQ(end->replicas.at(1)->status, 0);
  EXPECT_NE(told_.find("it has been started again 3 times, and is no more"), std::string::npos) << told_;
}

TEST_F(LocalJobRestart, ACheckpointIsAskedOfTheFirstServer) {
  job_.keeps = true;
  const auto server = "trap 'exit 0' USR2; cat " + pipe("never") + " >/dev/null 2>&1 & " + tell("ready") + "wait";
  const auto end = run(server, wait_for("ready") + "kill -USR2 $PPID", "exit 0");
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->served);
  EXPECT_EQ(end->signal, 0);
  EXPECT_EQ(told_, "");
}

TEST_F(LocalJobRestart, WhereNoneAreKeptThatIsSaid) {
  hear_ = [&](const std::string& text) {
    if (text.find("none are kept") != std::string::npos) go_on();
  };
  ASSERT_TRUE(run(wait_for("over"), "kill -USR2 $PPID; " + wait_for("on") + tell("over"), "exit 2"));
  EXPECT_NE(told_.find("--checkpoint DIR"), std::string::npos) << told_;
}

TEST_F(LocalJobRestart, WithoutServersOneComesAgainWhileAnotherRuns) {
  for (const auto* how : {"kill -KILL $$", "exit 1"}) {
    SCOPED_TRACE(how);
    started_[0] = started_[1] = 0;
    std::ofstream(folder_.file("lives"));
    const auto end = mirror(lost_in_first(2, how) + tell("on"), wait_for("on"));
    ASSERT_TRUE(end);
    EXPECT_EQ(started_[0], 3);
    EXPECT_EQ(started_[1], 1);
    EXPECT_TRUE(end->losses.empty()) << end->losses[0];
  }
  EXPECT_NE(told_.find("; restart 2 of 3 in 0.0 s\n"), std::string::npos) << told_;
}

TEST_F(LocalJobRestart, WithoutServersWhenTheyAreUsedUpTheOthersGoOn) {
  hear_ = [&](const std::string& text) {
    if (text.find("no more") != std::string::npos) go_on();
  };
  const auto end = mirror(wait_for("on"), kKilled);
  ASSERT_TRUE(end);
  EXPECT_EQ(started_[1], 4);
  EXPECT_EQ(end->replicas.at(0)->status, 0);
  EXPECT_EQ(end->losses.size(), 1U);
}

TEST_F(LocalJobRestart, WithoutServersALaterLifeThatCannotBeginKeepsNobodyFromGoingOn) {
  job_.patience.replicas_notice = milliseconds(0);
  const auto end = mirror(lost_in_first(1) + "exit 2", "sleep 0.3");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->replicas.at(0)->status, 2);
  EXPECT_EQ(end->replicas.at(1)->signal, 0) << told_;
}

TEST_F(LocalJobRestart, WithoutServersACheckpointIsAskedOfTheLowestThatIsThere) {
  job_.keeps = true;
  job_.restarts.times = 0;
  hear_ = [](const std::string& text) {
    if (text.find("SIGKILL") != std::string::npos) kill(getpid(), SIGUSR2);
  };
  const auto waits = "trap 'exit 0' USR2; cat " + pipe("never") + " >/dev/null 2>&1 & " + tell("ready") + "wait";
  const auto end = mirror(wait_for("ready") + kKilled, waits);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->replicas.at(1)->signal, 0);
  EXPECT_EQ(end->signal, 0);
}

// The pause is an hour: whoever waited for its end would not end.
class LocalJobPause : public LocalJobRestart {
 protected:
  LocalJobPause() { job_.restarts.pause = job_.restarts.longest = hours(1); }
  // What follows happens while replica 0 is to be started again.
  void in_the_pause(std::function<void()> then) {
    hear_ = [then = std::move(then)](const std::string& text) {
      if (text.find("restart 1 of") != std::string::npos) then();
    };
  }
};

TEST_F(LocalJobPause, OthersAreSeenTo) {
  in_the_pause([&] { go_on(); });
  const auto end = run(wait_for("over"), kKilled, wait_for("on") + tell("over"));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->replicas.at(1)->status, 0) << "it has ended well, so the job is over, and nobody is started again";
  EXPECT_EQ(started_[0], 1);
}

TEST_F(LocalJobPause, BeingToldToStopEndsItAtOnce) {
  in_the_pause([] { kill(getpid(), SIGTERM); });
  job_.part.replicas = {0};
  const auto end = run("exec sleep 1000", kKilled, "");
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM);
  EXPECT_EQ(started_[0], 1);
}

TEST_F(LocalJobPause, AfterAServerIsLostNobodyComesAgain) {
  in_the_pause([&] { go_on(); });
  job_.patience.servers_fail = milliseconds(0);
  const auto end = run(wait_for("on") + "exit 1", kKilled, "exit 2");
  ASSERT_TRUE(end);
  EXPECT_FALSE(end->served);
  EXPECT_EQ(started_[0], 1);
  EXPECT_NE(told_.find("server 0 ended with status 1"), std::string::npos) << told_;
}

TEST_F(LocalJobPause, WhenTheServersHaveGoneInGoodOrderNobodyComesAgain) {
  in_the_pause([&] { go_on(); });
  const auto end = run(wait_for("on"), kKilled, "exit 2");
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->served);
  EXPECT_EQ(started_[0], 1);
}

TEST_F(LocalJobPause, WithoutServersNobodyComesAgainToAJobThatNobodyHas) {
  in_the_pause([&] { go_on(); });
  const auto end = mirror(kKilled, wait_for("on") + "exit 1");
  ASSERT_TRUE(end);
  EXPECT_EQ(started_[0], 1);
  EXPECT_EQ(started_[1], 1);
  ASSERT_EQ(end->losses.size(), 2U) << "of both";
  EXPECT_NE(told_.find("no replica is left that has the state"), std::string::npos) << told_;
}

TEST_F(LocalJobPause, WithoutServersReplicaZeroMayBeAnotherLaunchers) {
  in_the_pause([] { kill(getpid(), SIGTERM); });
  job_.part.replicas = {1};
  job_.elsewhere = true;
  const auto end = mirror("", kKilled);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->signal, SIGTERM) << "it was to be started again";
}

TEST_F(LocalJobPause, WithoutServersReplicaZeroAloneKnowsNobodyToAsk) {
  job_.part.replicas = {0};
  job_.elsewhere = true;
  const auto end = mirror(kKilled, "");
  ASSERT_TRUE(end);
  EXPECT_EQ(started_[0], 1);
  EXPECT_EQ(end->losses.size(), 1U);
}

}  // namespace
}  // namespace yoke::launch
