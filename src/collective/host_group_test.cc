#include "yoke/host_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "base/scratch_folder.h"

namespace yoke {
namespace {

using std::chrono::milliseconds;

float value(int rank, std::size_t at, int call) {
  return static_cast<float>((rank * 31 + static_cast<int>(at % 1009) * 7 + call * 13) % 257) * 0.5f;
}

// Threads stand for processes: each has mappings of its own.
template <class Body>
void among(int size, std::size_t values, Body body) {
  const ScratchFolder folder;
  const auto path = folder.file("group");
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      auto group = HostGroup::join(path, rank, size, values);
      ASSERT_TRUE(group.ok()) << group.error().message;
      body(*group);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HostGroupTest, SumsUpAnyNumberOfValuesAmongAnyNumberOfRanks) {
  const std::vector<std::size_t> counts = {0, 1, 15, 16, 17, 1000, 8192, 8193, 65536, 131073, 300007};
  for (const int size : {1, 2, 3, 5}) {
    among(size, 300007, [&](HostGroup& group) {
      int call = 0;
      for (const auto count : counts) {
        const auto values = group.values();
        ++call;
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(group.rank(), i, call);
        ASSERT_TRUE(group.all_reduce(count, 0.25).ok());
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          float sum = 0;
          for (int rank = 0; rank < size; ++rank) sum += value(rank, i, call);
          wrong += values[i] != (i < count ? sum * 0.25f : value(group.rank(), i, call));
        }
        ASSERT_EQ(wrong, 0u) << count << " values among " << size;
      }
    });
  }
}

// Each writes its next values as soon as it has the sum of the last ones, small and large in turn: what others still
// read may not change under them.
TEST(HostGroupTest, NobodyOverwritesWhatAnotherStillReads) {
  among(3, 40000, [&](HostGroup& group) {
    for (int call = 0; call < 300; ++call) {
      const std::size_t count = call % 3 == 2 ? 40000 : 17;
      const auto values = group.values().first(count);
      for (std::size_t i = 0; i < count; ++i) values[i] = value(group.rank(), i, call);
      ASSERT_TRUE(group.all_reduce(count).ok());
      for (std::size_t i = 0; i < count; i += 97)
        ASSERT_EQ(values[i], value(0, i, call) + value(1, i, call) + value(2, i, call));
    }
  });
}

TEST(HostGroupTest, WhoAsksForMoreThanThereIsIsTold) {
  among(1, 10, [](HostGroup& group) {
    EXPECT_EQ(group.all_reduce(11).error().code, Code::invalid_argument);
    EXPECT_TRUE(group.all_reduce(10).ok()) << "nothing was done, and nobody waits";
  });
  EXPECT_EQ(HostGroup::join("/tmp/never", 2, 2, 1).error().code, Code::invalid_argument);
  EXPECT_EQ(HostGroup::join(std::string(200, 'x'), 0, 2, 1).error().code, Code::invalid_argument);
}

TEST(HostGroupTest, TheOneThatDoesNotComeIsNamed) {
  const ScratchFolder folder;
  const auto path = folder.file("group");
  const auto alone = HostGroup::join(path, 0, 2, 1, milliseconds(30));
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().code, Code::timed_out);
  EXPECT_NE(alone.error().message.find(" 1"), std::string::npos) << alone.error().message;
  EXPECT_EQ(HostGroup::join(path, 1, 2, 1, milliseconds(30)).error().code, Code::timed_out);
}

TEST(HostGroupTest, OfAnotherSizeIsRefused) {
  for (const std::size_t values : {2, 100'000'000}) {
    const ScratchFolder folder;
    const auto path = folder.file("group");
    std::thread other([&] { EXPECT_EQ(HostGroup::join(path, 1, 2, values).error().code, Code::invalid_argument); });
    EXPECT_EQ(HostGroup::join(path, 0, 2, 1).error().code, Code::invalid_argument);
    other.join();
  }
}

TEST(HostGroupTest, TheDeadAreNotWaitedFor) {
  const ScratchFolder folder;
  const auto path = folder.file("group");
  const auto child = fork();
  if (child == 0) {
    auto group = HostGroup::join(path, 1, 2, 100000);
    if (group.ok() && group->all_reduce(100000).ok()) _exit(0);
    _exit(1);
  }
  auto group = HostGroup::join(path, 0, 2, 100000);
  ASSERT_TRUE(group.ok()) << group.error().message;
  ASSERT_TRUE(group->all_reduce(100000).ok());
  const auto late = group->all_reduce(100000);
  EXPECT_EQ(late.error().code, Code::peer_down);
  EXPECT_NE(late.error().message.find("rank 1"), std::string::npos);
  EXPECT_EQ(group->barrier().error().code, Code::peer_down) << "and it stays so";
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace yoke
