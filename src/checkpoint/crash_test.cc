// The power goes at every operation, the disk is full at every operation: what was there before stays, or the new one
// is there whole.
#include <gtest/gtest.h>

#include <algorithm>

#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/faulty_disk.h"
#include "checkpoint/memory_disk.h"

namespace yoke::checkpoint {
namespace {

struct PowerCut {};
constexpr std::uint64_t kSeeds = 20;

using Answer = FaultyDisk::Answer;

// Nothing goes wrong.
Answer fine(std::uint64_t, std::string_view, const std::string&) { return {}; }

// The power goes before operation `n`.
FaultyDisk::Fault cut_at(std::uint64_t n) {
  return [n](std::uint64_t number, std::string_view, const std::string&) -> Answer {
    if (number == n) throw PowerCut{};
    return {};
  };
}

std::uint64_t operations_of(const std::function<void(Disk&)>& work, const std::function<void(Disk&)>& before) {
  MemoryDisk disk;
  before(disk);
  FaultyDisk counted(disk, fine);
  work(counted);
  return counted.operations();
}

class Crash : public testing::Test {
 protected:
  // Two that were sealed, whose folders were flushed.
  void prepare(Disk& disk) const {
    ASSERT_TRUE(save(disk, "dir", first_, deal(first_, 2), 1).ok());
    ASSERT_TRUE(save(disk, "dir", second_, deal(second_, 2), 2).ok());
  }

  // What is found after a cut; `sealed`: `expected` was said to be there.
  void expect_whole(MemoryDisk& disk, const Moment& before, const Moment& expected, bool sealed) const {
    const auto found = newest(disk, "dir");
    ASSERT_TRUE(found.ok()) << found.error().message;
    ASSERT_TRUE(found->checkpoint);
    const bool fresh = found->checkpoint->manifest().command == expected.manifest.command;
    if (sealed) {
      EXPECT_TRUE(fresh) << "it was sealed, and is gone";
    }
    // No reading of the sums: bit by bit what was written.
    expect_equal(*found->checkpoint, fresh ? expected : before);
  }

  // `work` writes `moment`; the power goes before its operation number n, for every n.
  void cut_everywhere(const std::function<Status(Disk&)>& work, const Moment& before, const Moment& moment) const {
    const auto all =
        operations_of([&](Disk& disk) { ASSERT_TRUE(work(disk).ok()); }, [&](Disk& disk) { prepare(disk); });
    ASSERT_GT(all, 10U);
    for (std::uint64_t n = 0; n <= all; ++n) {
      for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        SCOPED_TRACE(testing::Message() << "operation " << n << " of " << all << ", seed " << seed);
        MemoryDisk disk(seed);
        prepare(disk);
        FaultyDisk faulty(disk, cut_at(n));
        bool sealed = false;
        try {
          sealed = work(faulty).ok();
        } catch (const PowerCut&) {
        }
        disk.power_cut();
        expect_whole(disk, before, moment, sealed);
        // The next life tidies up, is cut off once more, and goes on.
        ASSERT_TRUE(clean(disk, "dir").ok());
        expect_whole(disk, before, moment, sealed);
        disk.power_cut();
        expect_whole(disk, before, moment, sealed);
        if (HasFailure()) return;
      }
    }
  }

  const Moment first_ = moment_of({small_layout()}, 100, 1), second_ = moment_of({small_layout()}, 200, 2);
};

TEST_F(Crash, AtEveryOperationOfSaving) {
  const auto third = moment_of({small_layout()}, 300, 3);
  cut_everywhere([&](Disk& disk) { return save(disk, "dir", third, deal(third, 2), 3); }, second_, third);
}

TEST_F(Crash, AtEveryOperationOfReplacingOneOfTheSameVersion) {
  const auto again = moment_of({small_layout()}, 200, 3);
  cut_everywhere([&](Disk& disk) { return save(disk, "dir", again, deal(again, 2), 3); }, second_, again);
}

TEST_F(Crash, AtEveryOperationOfSavingAndPruning) {
  const auto third = moment_of({small_layout()}, 300, 3);
  cut_everywhere(
      [&](Disk& disk) {
        auto status = save(disk, "dir", third, deal(third, 2), 3);
        return status ? prune(disk, "dir", 1, 300) : status;
      },
      second_, third);
}

// The first checkpoint of all, in a folder that is not there yet.
TEST_F(Crash, BeforeAnythingWasThere) {
  const auto work = [&](Disk& disk) { return save(disk, "runs/a", first_, deal(first_, 2)); };
  const auto all = operations_of([&](Disk& disk) { ASSERT_TRUE(work(disk).ok()); }, [](Disk&) {});
  for (std::uint64_t n = 0; n <= all; ++n) {
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      SCOPED_TRACE(testing::Message() << "operation " << n << " of " << all << ", seed " << seed);
      MemoryDisk disk(seed);
      FaultyDisk faulty(disk, cut_at(n));
      bool sealed = false;
      try {
        sealed = work(faulty).ok();
      } catch (const PowerCut&) {
      }
      disk.power_cut();
      const auto found = newest(disk, "runs/a");
      ASSERT_TRUE(found.ok() || found.error().code == Code::missing) << found.error().message;
      const bool there = found.ok() && found->checkpoint;
      ASSERT_TRUE(there || !sealed);
      if (there) expect_equal(*found->checkpoint, first_);
    }
  }
}

// A disk that only says that it flushed is found out, or these tests could not fail.
TEST_F(Crash, EveryFlushMatters) {
  const auto third = moment_of({small_layout()}, 300, 3);
  std::vector<std::string> flushes;
  // Notes every flush, and only says that it did number `skipped`.
  const auto save_without = [&](MemoryDisk& disk, std::size_t skipped) {
    flushes.clear();
    FaultyDisk liar(disk, [&](std::uint64_t, std::string_view operation, const std::string& path) -> Answer {
      if (!operation.starts_with("flush")) return {};
      flushes.push_back(path);
      return flushes.size() - 1 == skipped ? Answer(Status{}) : std::nullopt;
    });
    ASSERT_TRUE(save(liar, "dir", third, deal(third, 2), 3).ok());
  };
  constexpr std::size_t kFlushes = 11;
  for (std::size_t skipped = 0; skipped < kFlushes; ++skipped) {
    bool lost = false;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      MemoryDisk disk(seed);
      prepare(disk);
      save_without(disk, skipped);
      ASSERT_EQ(flushes.size(), kFlushes);
      disk.power_cut();
      const auto found = newest(disk, "dir");
      ASSERT_TRUE(found.ok()) << found.error().message;
      lost = lost || found->checkpoint->manifest().version != 300;
    }
    // Flushing a folder once more makes up for the time before.
    const auto later = flushes.begin() + static_cast<std::ptrdiff_t>(skipped) + 1;
    EXPECT_EQ(lost, std::count(later, flushes.end(), flushes[skipped]) == 0) << flushes[skipped];
  }
}

TEST_F(Crash, AnOperationThatFailsIsAnErrorAndTheLastOneStays) {
  const auto third = moment_of({small_layout()}, 300, 3);
  const auto work = [&](Disk& disk) { return save(disk, "dir", third, deal(third, 2), 3); };
  const auto all = operations_of([&](Disk& disk) { ASSERT_TRUE(work(disk).ok()); }, [&](Disk& disk) { prepare(disk); });
  for (std::uint64_t n = 0; n < all; ++n) {
    SCOPED_TRACE(n);
    MemoryDisk disk(n);
    prepare(disk);
    FaultyDisk full(disk, [&](std::uint64_t number, std::string_view, const std::string& path) -> Answer {
      if (number == n) return Error{Code::missing, path + ": cannot be written: no space left"};
      return {};
    });
    const auto status = work(full);
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("dir"), std::string::npos) << status.error().message;
    ASSERT_TRUE(discard(disk, {"dir", 300, 3}).ok());
    expect_whole(disk, second_, third, false);
    disk.power_cut();
    expect_whole(disk, second_, third, false);
  }
}

TEST_F(Crash, ADiskThatFillsUpIsAnErrorAndTheLastOneStays) {
  const auto third = moment_of({small_layout()}, 300, 3);
  std::uint64_t failed = 0;
  for (std::uint64_t room = 0;; room += 97) {
    MemoryDisk disk(room);
    prepare(disk);
    disk.hold_at_most(20'000 + room);
    const auto status = save(disk, "dir", third, deal(third, 2), 3);
    if (status.ok()) break;
    ++failed;
    EXPECT_NE(status.error().message.find("no space left"), std::string::npos) << status.error().message;
    expect_whole(disk, second_, third, false);
    disk.power_cut();
    expect_whole(disk, second_, third, false);
  }
  EXPECT_GT(failed, 20U);
}

}  // namespace
}  // namespace yoke::checkpoint
