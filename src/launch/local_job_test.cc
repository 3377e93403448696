#include "launch/local_job.h"

#include <gtest/gtest.h>

#include "launch/launch_fixture.h"

namespace yoke::launch {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

const std::string kForEver = "exec sleep 1000";

struct Scripts {
  std::vector<std::string> servers, replicas;
  bool elsewhere = false;
};

struct Ran {
  Result<JobEnd> end;
  std::string said;  // by the launcher
};

Ran run(const Scripts& scripts, const Patience& patience) {
  LocalJob job;
  for (std::uint32_t i = 0; i < scripts.servers.size(); ++i) job.part.servers.push_back(i);
  for (std::uint32_t i = 0; i < scripts.replicas.size(); ++i) job.part.replicas.push_back(i);
  job.mirrored = scripts.servers.empty();
  job.elsewhere = scripts.elsewhere;
  job.server = [&](std::uint32_t i, const std::string&) {
    return ready_shell("server " + std::to_string(i), "ready here; " + scripts.servers[i]);
  };
  job.replica = [&](std::uint32_t i, const std::string&) {
    return shell("replica " + std::to_string(i), scripts.replicas[i]);
  };
  job.patience = patience;
  Said said;
  Supervisor supervisor(said.sink());
  std::string told;
  auto end = run_local_job(supervisor, job, [&](const std::string& text) { told += text + "\n"; });
  return {std::move(end), told};
}

// Only what is named is ever waited for: whatever else the launcher waits for by mistake, it waits too long.
Patience only(milliseconds Patience::*part, milliseconds time = milliseconds(50)) {
  Patience patience;
  for (const auto each : {&Patience::servers_end, &Patience::servers_fail, &Patience::replicas_notice,
                          &Patience::replicas_write, &Patience::look})
    patience.*each = hours(1);
  patience.*part = time;
  return patience;
}

int status_of(const Ran& ran, std::size_t replica) { return ran.end->replicas.at(replica)->status; }

TEST(LocalJob, EndsWithItsReplicasAndServers) {
  const auto ran = run({{"exit 0", "exit 0"}, {"exit 0", "exit 7"}}, only(&Patience::start, hours(1)));
  ASSERT_TRUE(ran.end);
  EXPECT_TRUE(ran.end->served);
  EXPECT_EQ(status_of(ran, 0), 0);
  EXPECT_EQ(status_of(ran, 1), 7);
  EXPECT_EQ(ran.said, "");
}

TEST(LocalJob, AProgramThatNeverJoinedIsSuspected) {
  const auto ran = run({{kForEver}, {"exit 0", "exit 3"}}, only(&Patience::servers_end));
  ASSERT_TRUE(ran.end);
  EXPECT_NE(ran.said.find("did they take part"), std::string::npos) << ran.said;
}

TEST(LocalJob, ReplicasThatFailedAreNot) {
  const auto ran = run({{kForEver}, {"exit 2", "exit 3"}}, only(&Patience::servers_fail));
  ASSERT_TRUE(ran.end);
  EXPECT_EQ(ran.said, "");
}

// Whatever the order in which the servers end: the second may have gone in good order because the first one told it to.
TEST(LocalJob, AReplicaThatDoesNotNoticeALostServerIsEnded) {
  for (const std::size_t lost : {0, 1}) {
    Scripts scripts{{"exit 0", "exit 0"}, {kForEver}};
    scripts.servers[lost] = "echo alas >&2; exit 1";
    const auto ran = run(scripts, only(&Patience::replicas_notice));
    ASSERT_TRUE(ran.end);
    EXPECT_FALSE(ran.end->served);
    EXPECT_NE(ran.said.find("server " + std::to_string(lost) + " ended with status 1"), std::string::npos) << ran.said;
    ASSERT_EQ(ran.end->losses.size(), 1U) << "one that was told to end has not failed";
    EXPECT_EQ(ran.end->losses[0].find("server " + std::to_string(lost) + " ended with status 1 (process "), 0U);
    EXPECT_TRUE(ran.end->losses[0].ends_with(": alas")) << ran.end->losses[0];
  }
}

TEST(LocalJob, WithoutServersNobodyBeginsWithoutOneThatCouldNot) {
  const auto ran = run({{}, {kForEver, "exit 2"}}, only(&Patience::replicas_notice));
  ASSERT_TRUE(ran.end);
  EXPECT_EQ(ran.end->replicas.at(0)->signal, SIGTERM);
  EXPECT_EQ(status_of(ran, 1), 2);
}

TEST(LocalJob, WithoutServersTheOthersGoOnWhenOneIsLost) {
  for (const auto* lost : {"kill -KILL $$", "exit 1"}) {
    const auto ran = run({{}, {lost, "sleep 0.3; exit 0"}}, only(&Patience::replicas_notice, milliseconds(0)));
    ASSERT_TRUE(ran.end);
    EXPECT_EQ(status_of(ran, 1), 0) << ran.said;
    ASSERT_EQ(ran.end->losses.size(), 1U);
    EXPECT_EQ(ran.end->losses[0].find("replica 0 "), 0U) << ran.end->losses[0];
  }
}

TEST(LocalJob, WithoutServersItIsOverWhenOneHasEndedWell) {
  const auto ran = run({{}, {"kill -STOP $$", "exit 0"}}, only(&Patience::look));
  ASSERT_TRUE(ran.end);
  EXPECT_NE(ran.end->replicas.at(0)->signal, 0);
  EXPECT_TRUE(ran.end->losses.empty()) << "it was told to end";
}

TEST(LocalJob, AStoppedReplicaIsNotWaitedForOnceTheServersHaveGoneInGoodOrder) {
  const auto ran = run({{"exit 0"}, {"kill -STOP $$"}}, only(&Patience::look));
  ASSERT_TRUE(ran.end);
  EXPECT_TRUE(ran.end->served);
  EXPECT_NE(ran.end->replicas.at(0)->signal, 0);
}

// Another launcher's replicas need them.
TEST(LocalJob, ServersGoOnWhenReplicasHereWereLost) {
  for (const auto* lost : {"kill -KILL $$", "exit 1"}) {
    const auto ran = run({{"sleep 0.3; exit 0"}, {lost}, true}, only(&Patience::servers_fail, milliseconds(0)));
    ASSERT_TRUE(ran.end);
    EXPECT_TRUE(ran.end->served) << ran.said;
  }
}

TEST(LocalJob, ServersDoNotGoOnForReplicasThatCouldNotBegin) {
  const auto ran = run({{kForEver}, {"exit 3"}, true}, only(&Patience::servers_fail));
  ASSERT_TRUE(ran.end);
  EXPECT_FALSE(ran.end->served);
}

TEST(LocalJob, ServersAloneEndWithTheJob) {
  const auto good = run({{"sleep 0.1; exit 0"}, {}, true}, only(&Patience::servers_fail, milliseconds(0)));
  ASSERT_TRUE(good.end);
  EXPECT_TRUE(good.end->served);
  const auto bad = run({{"exit 1"}, {}, true}, only(&Patience::servers_fail, milliseconds(0)));
  ASSERT_TRUE(bad.end);
  EXPECT_FALSE(bad.end->served);
  EXPECT_NE(bad.said.find("server 0 ended with status 1"), std::string::npos) << bad.said;
}

TEST(LocalJob, WhereTheFirstServerListensIsAnnounced) {
  LocalJob job;
  job.part = {.servers = {0, 2}, .replicas = {5}};
  job.server = [](std::uint32_t i, const std::string& join) {
    return ready_shell("server " + std::to_string(i), "ready at" + std::to_string(i) + join);
  };
  job.replica = [](std::uint32_t i, const std::string& join) {
    return shell("replica " + std::to_string(i), "echo joins " + join);
  };
  std::string told;
  job.announce = [&](const std::string& join) {
    told = join;
    return Status();
  };
  Said said;
  Supervisor supervisor(said.sink());
  ASSERT_TRUE(run_local_job(supervisor, job, [](const std::string&) {}));
  EXPECT_EQ(told, "at0");
  EXPECT_EQ(said.lines(), std::vector<std::string>{"replica 5> joins at0"});

  job.announce = [](const std::string&) { return Error{Code::timed_out, "nobody heard"}; };
  const auto end = run_local_job(supervisor, job, [](const std::string&) {});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "nobody heard");
}

TEST(LocalJob, FailedAreThoseWhoseStatusSaysSo) {
  for (const int status : {1, 2, 3, 4}) EXPECT_TRUE(failed({.status = status}));
  for (const int status : {0, 5, 7, 130}) EXPECT_FALSE(failed({.status = status}));
  EXPECT_TRUE(failed({.signal = SIGKILL}));
}

}  // namespace
}  // namespace yoke::launch
