#include "launch/spawn.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child_environment.h"
#include "launch/launch_fixture.h"

namespace yoke::launch {
namespace {

TEST(Spawn, ThereIsNoSuchProgram) {
  for (const auto* program : {"no-such-program-at-all", "/no/such/program"}) {
    const auto spawned = spawn({.name = "server 0", .argv = {program, "--flag"}});
    ASSERT_FALSE(spawned.ok());
    EXPECT_EQ(spawned.error().code, Code::missing);
    EXPECT_EQ(spawned.error().message,
              std::string("server 0: ") + program + " cannot be run: No such file or directory");
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process was left";
}

TEST(Spawn, WhatIsNoProgram) {
  const auto folder = spawn({.name = "server 0", .argv = {"/usr"}});
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "server 0: /usr cannot be run: Permission denied");
}

TEST(Spawn, LeadsItsGroupAndReadsNothing) {
  // Fields 1 and 5 of stat: the process and its group.
  EXPECT_EQ(said_by(shell("a",
                          "cat; read -r id name state parent group rest </proc/$$/stat; "
                          "test $id = $group && echo leads")),
            Strings{"a> leads"});
}

TEST(Spawn, HoldsNoOtherDescriptor) {
  const Descriptor open_to_all(dup(STDERR_FILENO));
  const auto number = std::to_string(open_to_all.get());
  EXPECT_EQ(said_by(shell("a", "test -e /proc/$$/fd/" + number + " && echo leaked || echo closed; ls /proc/$$/fd")),
            (Strings{"a> closed", "a> 0", "a> 1", "a> 2"}));
}

TEST(Spawn, BlocksAndIgnoresNoSignal) {
  sigset_t some, before;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &some, &before);
  const auto handler = signal(SIGUSR2, SIG_IGN);
  // What a launcher may have been born with, and its library will not touch.
  const unsigned long ignored[] = {1, 0, 0, 0};
  const int of_threads = SIGRTMIN - 1;
  syscall(SYS_rt_sigaction, of_threads, ignored, nullptr, sizeof(unsigned long));
  const auto said = said_by({.name = "a",
                             .argv = {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status"},
                             .standard_output = StandardOutput::capture});
  signal(SIGUSR2, handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_EQ(said.size(), 2U);
  for (const auto& line : said) EXPECT_NE(line.find("\t0000000000000000"), std::string::npos) << line;
}

TEST(Spawn, PassesTheEnvironmentOn) {
  auto spec = shell("a", "echo $YOKE_TEST $YOKE_READY_FD.");
  spec.environment = {"YOKE_TEST=1", "YOKE_TEST=two words"};
  setenv("YOKE_TEST", "outer", 1);
  setenv(kReadyVariable, "77", 1);
  EXPECT_EQ(said_by(spec), Strings{"a> two words ."}) << "somebody else's ready pipe is not passed on";
  unsetenv("YOKE_TEST");
  unsetenv(kReadyVariable);
}

TEST(Spawn, LooksAlongThePath) {
  EXPECT_EQ(programs_on_path("./a", {"PATH=/x"}), Strings{"./a"});
  EXPECT_EQ(programs_on_path("a", {"PATHS=/y", "PATH=/x:/y/z"}), (Strings{"/x/a", "/y/z/a"}));
  EXPECT_EQ(programs_on_path("a", {"PATH=:/x:"}), (Strings{"a", "/x/a", "a"}));
  EXPECT_EQ(programs_on_path("a", {}), (Strings{"/usr/bin/a", "/bin/a"}));
  auto spec = shell("a", "echo found");
  spec.environment = {"PATH=/no/such/folder:/etc/passwd:/usr/bin:/bin"};
  EXPECT_EQ(said_by(spec), Strings{"a> found"});
}

TEST(Spawn, OneEntryForEachName) {
  const char* const inherited[] = {"A=1", "B=2", "YOKE_READY_FD=9", "AB=3", nullptr};
  EXPECT_EQ(child_environment(inherited, {"A=4", "C=5=6"}, ""), (Strings{"B=2", "AB=3", "A=4", "C=5=6"}));
  EXPECT_EQ(child_environment(inherited, {}, "YOKE_READY_FD=5"), (Strings{"A=1", "B=2", "AB=3", "YOKE_READY_FD=5"}));
}

}  // namespace
}  // namespace yoke::launch
