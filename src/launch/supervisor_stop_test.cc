// How children end: asked, forced, with what they have started, and when the launcher itself is killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <string>

#include "launch/launch_fixture.h"
#include "launch/supervisor.h"

namespace yoke::launch {
namespace {

using namespace std::chrono_literals;

// Starts a script that says the number of a process when it is ready.
struct Started {
  const Child* child = nullptr;
  pid_t said = 0;
};
Started start(Supervisor& supervisor, const std::string& name, const std::string& script) {
  const auto child = supervisor.start(ready_shell(name, script));
  if (!child) return {};
  const auto line = supervisor.await_ready(**child, in_time());
  EXPECT_TRUE(line.ok()) << line.error().message;
  return {*child, line ? static_cast<pid_t>(std::stol(*line)) : 0};
}

// Another shell, which prints its own number and does not end when it is asked to.
const std::string kStubborn = R"(sh -c 'trap "" TERM; echo $$ >/dev/fd/$YOKE_READY_FD; exec sleep 1000')";

TEST(StopAll, AskingIsEnough) {
  Said said;
  Supervisor supervisor(said.sink());
  // No long sleep in the background: forked and not yet itself, it would still have the shell's trap and might live on.
  const auto one =
      start(supervisor, "replica 0", "trap 'echo bye; exit 3' TERM; ready $$; while :; do sleep 0.01; done");
  const auto two = start(supervisor, "replica 1", "ready $$; exec sleep 1000");
  EXPECT_TRUE(supervisor.stop_all(60s).empty());
  EXPECT_EQ(one.child->ending()->status, 3);
  EXPECT_EQ(two.child->ending()->signal, SIGTERM);
  EXPECT_EQ(std::count(said.lines().begin(), said.lines().end(), "replica 0> bye"), 1);
  EXPECT_EQ(supervisor.running(), 0U);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(supervisor.wait(in_time()).kind, Event::Kind::exited) << "ends are still told";
}

TEST(StopAll, WithASignalOfChoice) {
  Supervisor supervisor;
  const auto child = start(supervisor, "replica 0", "ready $$; exec sleep 1000");
  EXPECT_TRUE(supervisor.stop_all(60s, SIGINT).empty());
  EXPECT_EQ(child.child->ending()->signal, SIGINT);
}

TEST(StopAll, KillsWhoDoesNotListen) {
  Supervisor supervisor;
  const auto deaf = start(supervisor, "replica 0", "exec " + kStubborn);
  const auto good = start(supervisor, "replica 1", "ready $$; exec sleep 1000");
  const auto killed = supervisor.stop_all(100ms);
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0], deaf.child);
  EXPECT_EQ(deaf.child->ending()->signal, SIGKILL);
  EXPECT_EQ(good.child->ending()->signal, SIGTERM);
}

TEST(StopAll, ASecondSigintEndsTheGrace) {
  Supervisor supervisor;
  // Asked to stop, it only signals the launcher.
  const auto deaf =
      start(supervisor, "replica 0", "trap '' TERM; sleep 1000 & trap 'kill -INT $PPID' TERM; ready $$; wait; wait");
  EXPECT_EQ(supervisor.stop_all(10min).size(), 1U);
  EXPECT_EQ(deaf.child->ending()->signal, SIGKILL);
}

TEST(StopAll, ReachesAChildThatHasBeenStopped) {
  Supervisor supervisor;
  const auto child = start(supervisor, "replica 0", "ready $$; exec sleep 1000");
  kill(child.child->pid(), SIGSTOP);
  EXPECT_TRUE(supervisor.stop_all(60s).empty());
  EXPECT_EQ(child.child->ending()->signal, SIGTERM);
}

TEST(StopAll, WhatAChildHasStartedEndsToo) {
  Supervisor supervisor;
  const auto child = start(supervisor, "replica 0", "sleep 1000 & ready $!; wait");
  const Witness grandchild(child.said);
  ASSERT_TRUE(grandchild.found());
  EXPECT_FALSE(grandchild.ended(0));
  EXPECT_TRUE(supervisor.stop_all(60s).empty());
  EXPECT_TRUE(grandchild.ended(0));
}

TEST(StopAll, WhatAChildHasStartedIsKilledWhenItDoesNotListen) {
  Supervisor supervisor;
  const auto child = start(supervisor, "replica 0", kStubborn + " & wait");
  const Witness grandchild(child.said);
  const auto killed = supervisor.stop_all(100ms);
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(child.child->ending()->signal, SIGTERM) << "it did listen itself";
  EXPECT_TRUE(grandchild.ended(0));
}

TEST(StopAll, AGrandchildThatHoldsThePipesDoesNotHangUs) {
  Said said;
  Supervisor supervisor(said.sink());
  const auto child = start(supervisor, "replica 0", "sleep 1000 & ready $!; printf 'last words'; exit 4");
  const Witness grandchild(child.said);
  const auto event = supervisor.wait(in_time());
  EXPECT_EQ(event.words, "replica 0 ended with status 4");
  EXPECT_EQ(said.lines(), Strings{"replica 0> last words"});
  EXPECT_FALSE(grandchild.ended(0)) << "it is left in peace until the job is stopped";
  EXPECT_TRUE(child.child->group_lives());
  EXPECT_TRUE(supervisor.stop_all(60s).empty());
  EXPECT_TRUE(grandchild.ended(0));
}

TEST(StopAll, NorDoesOneThatHasLeftTheGroup) {
  Supervisor supervisor([](const std::string&, std::string_view, bool) {});
  const auto child =
      start(supervisor, "replica 0", R"(setsid sh -c 'echo $$ >/dev/fd/$YOKE_READY_FD; exec sleep 1000' & wait)");
  const Witness grandchild(child.said);
  EXPECT_TRUE(supervisor.stop_all(60s).empty());
  EXPECT_TRUE(child.child->gone());
  EXPECT_FALSE(grandchild.ended(0));
  kill(child.said, SIGKILL);
  EXPECT_TRUE(grandchild.ended(60'000));
  EXPECT_EQ(waitpid(child.said, nullptr, 0), child.said) << "it has become ours";
}

TEST(Supervisor, ItsEndIsTheirs) {
  pid_t one = 0, two = 0;
  {
    Supervisor supervisor;
    two = start(supervisor, "replica 0", kStubborn + " & wait").said;
    one = start(supervisor, "replica 1", "exec " + kStubborn).said;
    ASSERT_TRUE(Witness(one).found() && Witness(two).found());
  }
  EXPECT_FALSE(Witness(one).found()) << "ended and waited for";
  EXPECT_FALSE(Witness(two).found());
}

TEST(Supervisor, ALauncherThatIsKilledLeavesNoChild) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Descriptor from(ends[0]), to(ends[1]);
  const pid_t launcher = fork();
  if (launcher == 0) {
    Supervisor supervisor;
    const auto child = supervisor.start({.name = "replica 0", .argv = {"sleep", "1000"}});
    const pid_t pid = child ? (*child)->pid() : 0;
    if (write(to.get(), &pid, sizeof pid) == sizeof pid) supervisor.wait(Supervisor::Clock::time_point::max());
    _exit(1);
  }
  to.close();
  pid_t pid = 0;
  ASSERT_EQ(read(from.get(), &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
  ASSERT_GT(pid, 0);
  const Witness child(pid);
  ASSERT_TRUE(child.found());
  EXPECT_FALSE(child.ended(0));
  kill(launcher, SIGKILL);
  EXPECT_TRUE(child.ended(60'000));
  EXPECT_EQ(waitpid(launcher, nullptr, 0), launcher);
}

}  // namespace
}  // namespace yoke::launch
