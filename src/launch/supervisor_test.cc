#include "launch/supervisor.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <map>

#include "launch/launch_fixture.h"

namespace yoke::launch {
namespace {

using EventKind = Event::Kind;
const auto kAtOnce = Supervisor::Clock::time_point::min();

class SupervisorTest : public testing::Test {
 protected:
  const Child* start(const ChildSpec& spec) {
    const auto child = supervisor_.start(spec);
    if (!child) ADD_FAILURE() << child.error().message;
    return child ? *child : nullptr;
  }
  // How a script ends.
  std::string end_of(const std::string& script) {
    start(shell("replica 3", script));
    return supervisor_.wait(in_time()).words;
  }

  Said said_;
  Supervisor supervisor_{said_.sink()};
};

TEST_F(SupervisorTest, AProgramThatIsNotThere) {
  const auto child = supervisor_.start({.name = "server 0", .argv = {"no-such-program-at-all"}});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.error().message, "server 0: no-such-program-at-all cannot be run: No such file or directory");
  EXPECT_EQ(supervisor_.running(), 0U);
  EXPECT_EQ(supervisor_.wait(kAtOnce).kind, EventKind::timed_out);
}

TEST_F(SupervisorTest, PassesOnWholeLines) {
  const auto* child = start(shell("server 0", "echo one; printf 'two\\n\\nno newline'"));
  const auto event = supervisor_.wait(in_time());
  EXPECT_EQ(event.kind, EventKind::exited);
  EXPECT_EQ(event.child, child);
  EXPECT_EQ(said_.lines(), (Strings{"server 0> one", "server 0> two", "server 0> ", "server 0> no newline"}));
}

TEST_F(SupervisorTest, NothingIsLostOfALotFromMany) {
  constexpr std::size_t kChildren = 4, kLines = 5000;
  for (std::size_t i = 0; i < kChildren; ++i) start(shell(std::to_string(i), "seq 1 5000 >&2"));
  for (std::size_t i = 0; i < kChildren; ++i) EXPECT_EQ(supervisor_.wait(in_time()).kind, EventKind::exited);
  std::map<std::string, std::size_t> next;
  for (const auto& line : said_.lines()) {
    const auto name = line.substr(0, line.find('!'));
    ASSERT_EQ(line, name + "! " + std::to_string(++next[name])) << "in order and whole";
  }
  EXPECT_EQ(next.size(), kChildren);
  for (const auto& [name, count] : next) EXPECT_EQ(count, kLines);
}

TEST_F(SupervisorTest, LongLinesComeInPieces) {
  start(shell("a", "head -c 150000 /dev/zero"));
  supervisor_.wait(in_time());
  ASSERT_EQ(said_.lines().size(), 3U);
  EXPECT_EQ(said_.lines()[1].size(), 3 + Lines::kLongest);
  EXPECT_EQ(said_.lines()[2].size(), 3 + 150'000 - 2 * Lines::kLongest);
}

TEST_F(SupervisorTest, SaysHowTheyEnded) {
  EXPECT_EQ(end_of("echo fine >&2"), "replica 3 ended with status 0");
  EXPECT_EQ(end_of("exit 7"), "replica 3 ended with status 7");
  EXPECT_EQ(end_of("echo first >&2; echo 'the disk hums' >&2; echo >&2; exit 2"),
            "replica 3 ended with status 2: the disk hums");
  EXPECT_EQ(end_of("kill -9 $$"), "replica 3 was ended by SIGKILL");
  EXPECT_EQ(end_of("kill -SEGV $$"), "replica 3 was ended by SIGSEGV");
  EXPECT_EQ(in_words({.signal = SIGRTMIN + 6}), "was ended by signal " + std::to_string(SIGRTMIN + 6));
}

TEST_F(SupervisorTest, KeepsTheLastErrors) {
  const auto* child = start(shell("a", "seq 1 9 >&2; seq 10 12"));
  supervisor_.wait(in_time());
  EXPECT_TRUE(child->ending()->good());
  EXPECT_TRUE(
      std::equal(child->last_lines().begin(), child->last_lines().end(), Strings{"5", "6", "7", "8", "9"}.begin()));
}

TEST_F(SupervisorTest, HearsThatAChildIsReady) {
  const auto* child = start(ready_shell("server 0", "ready 'tcp:10.0.0.1:7000 yes'; exec sleep 1000"));
  const auto line = supervisor_.await_ready(*child, in_time());
  ASSERT_TRUE(line.ok()) << line.error().message;
  EXPECT_EQ(*line, "tcp:10.0.0.1:7000 yes");
  EXPECT_EQ(*supervisor_.await_ready(*child, kAtOnce), *line) << "asked again";
  EXPECT_FALSE(child->ending());
  EXPECT_EQ(supervisor_.running(), 1U);
}

TEST_F(SupervisorTest, ReadyAndGoneAtOnce) {
  const auto* child = start(ready_shell("server 0", "ready yes; exit 3"));
  EXPECT_EQ(supervisor_.wait(in_time()).words, "server 0 ended with status 3");
  EXPECT_EQ(*supervisor_.await_ready(*child, kAtOnce), "yes");
}

TEST_F(SupervisorTest, DiedBeforeItWasReady) {
  const auto* child = start(ready_shell("server 1", "echo 'address in use' >&2; exit 2"));
  const auto line = supervisor_.await_ready(*child, in_time());
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, Code::peer_down);
  EXPECT_EQ(line.error().message, "server 1 ended with status 2 before it was ready: address in use");
  EXPECT_EQ(supervisor_.wait(in_time()).child, child) << "its end is told as well";
}

TEST_F(SupervisorTest, HalfALineIsNotReady) {
  const auto* child = start(ready_shell("server 1", "printf ye >/dev/fd/$YOKE_READY_FD"));
  EXPECT_EQ(supervisor_.await_ready(*child, in_time()).error().message,
            "server 1 ended with status 0 before it was ready");
}

TEST_F(SupervisorTest, NotReadyInTime) {
  const auto* child = start(ready_shell("server 1", "exec sleep 1000"));
  const auto line = supervisor_.await_ready(*child, kAtOnce);
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, Code::timed_out);
  EXPECT_EQ(line.error().message, "server 1 was not ready after 0.0 s");
}

TEST_F(SupervisorTest, OthersMayEndMeanwhile) {
  const auto* waiting = start(ready_shell("server 0", "ready yes; exec sleep 1000"));
  const auto* other = start(shell("replica 0", "exit 1"));
  EXPECT_TRUE(supervisor_.await_ready(*waiting, in_time()).ok());
  EXPECT_EQ(supervisor_.wait(in_time()).child, other);
}

TEST_F(SupervisorTest, SignalsOfTheLauncherAreEvents) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE}) {
    kill(getpid(), signal);
    const auto event = supervisor_.wait(in_time());
    EXPECT_EQ(event.kind, EventKind::signalled);
    EXPECT_EQ(event.signal, signal);
    EXPECT_EQ(event.words, signal_name(signal) + " came");
  }
  EXPECT_EQ(supervisor_.wait(kAtOnce).kind, EventKind::timed_out) << "each is told once";
}

TEST_F(SupervisorTest, ASignalEndsTheWaitForReady) {
  const auto* child = start(ready_shell("server 1", "exec sleep 1000"));
  kill(getpid(), SIGINT);
  const auto line = supervisor_.await_ready(*child, in_time());
  ASSERT_FALSE(line.ok());
  EXPECT_EQ(line.error().code, Code::cancelled);
  EXPECT_EQ(line.error().message, "SIGINT came before server 1 was ready");
  EXPECT_EQ(supervisor_.wait(kAtOnce).signal, SIGINT);
}

TEST_F(SupervisorTest, OneSignalAsksForACheckpointAndStopsNothing) {
  const auto* child = start(ready_shell("server 1", "read x; ready yes"));
  kill(getpid(), SIGUSR2);
  EXPECT_TRUE(supervisor_.await_ready(*child, in_time()).ok());
  EXPECT_EQ(supervisor_.signalled(), 0);
  const auto event = supervisor_.wait(kAtOnce);
  EXPECT_EQ(event.kind, EventKind::checkpoint);
  EXPECT_EQ(event.words, "SIGUSR2 came");
}

// The ends of children included: whoever pauses waits for something else.
TEST_F(SupervisorTest, APauseLosesNothing) {
  const auto* child = start(shell("replica 0", "exit 4"));
  while (!child->gone()) supervisor_.pause(std::chrono::milliseconds(1));
  EXPECT_EQ(supervisor_.signalled(), 0);
  EXPECT_EQ(supervisor_.wait(kAtOnce).child, child);
}

TEST_F(SupervisorTest, ASignalEndsAPause) {
  kill(getpid(), SIGTERM);
  supervisor_.pause(std::chrono::hours(1));
  EXPECT_EQ(supervisor_.signalled(), SIGTERM);
  EXPECT_EQ(supervisor_.wait(kAtOnce).signal, SIGTERM);
  EXPECT_EQ(supervisor_.signalled(), 0);
}

// A parent that ends as soon as its child, a launcher, watches it.
TEST(SupervisorSignals, TheEndOfTheParentCountsAsOne) {
  int watches[2], answer[2];
  ASSERT_EQ(pipe(watches), 0);
  ASSERT_EQ(pipe(answer), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    if (fork() != 0) {
      char yes = 0;
      _exit(read(watches[0], &yes, 1) == 1 ? 0 : 1);
    }
    Supervisor launcher;
    launcher.end_with_parent();
    bool good = write(watches[1], "w", 1) == 1;
    good = good && launcher.wait(in_time()).signal == SIGTERM;
    good = good && launcher.wait(kAtOnce).kind == EventKind::timed_out;
    _exit(write(answer[1], good ? "y" : "n", 1) == 1 ? 0 : 1);
  }
  int status = 1;
  EXPECT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  char said = 0;
  EXPECT_EQ(read(answer[0], &said, 1), 1);
  EXPECT_EQ(said, 'y');
  for (const int end : {watches[0], watches[1], answer[0], answer[1]}) close(end);
}

TEST(SupervisorSignals, WhatIsIgnoredStaysIgnored) {
  const auto before = signal(SIGHUP, SIG_IGN);
  {
    Supervisor supervisor;
    kill(getpid(), SIGHUP);
    EXPECT_EQ(supervisor.wait(kAtOnce).kind, EventKind::timed_out);
  }
  signal(SIGHUP, before);
}

TEST(SupervisorSignals, AreAsBeforeAfterwards) {
  sigset_t before, after;
  sigemptyset(&before);
  sigemptyset(&after);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  {
    Supervisor supervisor;
    kill(getpid(), SIGTERM);  // nobody takes it
  }
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGPIPE}) {
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal));
  }
}

TEST(SupervisorSignals, ChildrenAreWaitedForEvenIfSigchldWasIgnored) {
  const auto before = signal(SIGCHLD, SIG_IGN);
  {
    Supervisor supervisor;
    ASSERT_TRUE(supervisor.start(shell("a", "exit 5")).ok());
    EXPECT_EQ(supervisor.wait(in_time()).words, "a ended with status 5");
  }
  signal(SIGCHLD, before);
}

TEST(SupervisorSignals, OneTellsThatNobodyReadsItsOutput) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const Descriptor before(dup(STDOUT_FILENO));
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  int exited = 0, broken = 0;
  {
    Supervisor supervisor;
    const auto child = supervisor.start(shell("a", "echo one; echo two"));
    while (child.ok() && (exited == 0 || broken == 0)) {
      const auto event = supervisor.wait(in_time());
      if (event.kind == EventKind::timed_out) break;
      ++(event.kind == EventKind::exited ? exited : broken);
      if (event.kind == EventKind::signalled && event.signal != SIGPIPE) break;
    }
  }
  dup2(before.get(), STDOUT_FILENO);
  EXPECT_EQ(exited, 1);
  EXPECT_GE(broken, 1);
}

TEST(PrintLine, PutsTheNameInFront) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Supervisor supervisor;
    ASSERT_TRUE(supervisor.start(shell("server 0", "echo one; printf two >&2")).ok());
    supervisor.wait(in_time());
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[server 0] one\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "[server 0] two\n");
}

}  // namespace
}  // namespace yoke::launch
