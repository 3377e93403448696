#include "transport/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <set>
#include <thread>

namespace yoke::transport {
namespace {

TEST(Arena, HandsOutPiecesAtCacheLinesThatDoNotOverlap) {
  const auto arena = Arena::make();
  std::vector<std::shared_ptr<std::byte>> pieces;
  for (std::size_t size = 1; size < 5000; size = size * 2 + 1) {
    pieces.push_back(arena->allocate(size));
    ASSERT_TRUE(pieces.back());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces.back().get()) % 64, 0U);
    std::memset(pieces.back().get(), static_cast<int>(pieces.size()), size);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) EXPECT_EQ(*pieces[i], static_cast<std::byte>(i + 1));
  EXPECT_TRUE(arena->allocate(0)) << "a piece of no size is a piece";
}

TEST(Arena, WhatIsGivenBackIsHandedOutAgain) {
  const auto arena = Arena::make();
  std::set<const void*> seen;
  for (int i = 0; i < 1000; ++i) {
    const auto piece = arena->allocate(1u << 20);
    const auto copy = piece;
    seen.insert(copy.get());
  }
  EXPECT_EQ(seen.size(), 1U);
}

TEST(Arena, FindsWhatIsItsOwn) {
  const auto arena = Arena::make();
  const auto piece = arena->allocate(1000);
  const auto large = arena->allocate(100u << 20);
  ASSERT_TRUE(large);
  EXPECT_EQ(arena->find(piece.get(), 1000)->region, 0U);
  EXPECT_EQ(arena->find(piece.get() + 10, 100)->offset, arena->find(piece.get(), 1)->offset + 10);
  EXPECT_EQ(arena->find(large.get(), 100u << 20)->region, 1U);
  EXPECT_EQ(arena->size(1), 100u << 20);
  EXPECT_FALSE(arena->find(large.get(), (100u << 20) + 1)) << "beyond the end";
  int elsewhere = 0;
  EXPECT_FALSE(arena->find(&elsewhere, sizeof elsewhere));
  EXPECT_FALSE(arena->find(nullptr, 0));
}

TEST(Arena, SaysWhenThereIsNoMore) {
  const auto arena = Arena::make();
  for (const auto size : {~std::size_t{0}, ~std::size_t{0} - 4096, std::size_t{1} << 60, (std::size_t{1} << 47) + 1})
    EXPECT_FALSE(arena->allocate(size)) << size;
  EXPECT_TRUE(arena->allocate(100)) << "and goes on";
}

TEST(Arena, IsUsedFromManyThreads) {
  const auto arena = Arena::make();
  std::vector<std::jthread> threads;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 500; ++i) {
        const auto size = 64 + i % 7 * 1000;
        const auto piece = arena->allocate(size);
        std::memset(piece.get(), t, size);
        ASSERT_EQ(piece.get()[size - 1], static_cast<std::byte>(t));
        ASSERT_TRUE(arena->find(piece.get(), size));
      }
    });
}

TEST(Arena, LivesAsLongAsItsPieces) {
  auto piece = Arena::make()->allocate(1000);
  std::memset(piece.get(), 1, 1000);
  piece.reset();
}

TEST(Arena, CannotBeWrittenOrShrunkByThoseItIsShownTo) {
  const auto arena = Arena::make();
  const auto piece = arena->allocate(8);
  std::memcpy(piece.get(), "before", 7);
  const int fd = arena->descriptor(0);
  EXPECT_NE(ftruncate(fd, 0), 0);
  EXPECT_NE(ftruncate(fd, static_cast<off_t>(arena->size(0) * 2)), 0);
  EXPECT_LT(pwrite(fd, "x", 1, 0), 0);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
  // Its owner writes on, and the others see it.
  auto mapping = Mapping::open(dup(fd), arena->size(0));
  ASSERT_TRUE(mapping) << mapping.error().message;
  std::memcpy(piece.get(), "after", 6);
  const auto* there = (*mapping)->data() + arena->find(piece.get(), 8)->offset;
  EXPECT_STREQ(reinterpret_cast<const char*>(there), "after");
}

TEST(Mapping, RefusesWhatCouldFault) {
  const int open_ended = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(open_ended, 4096), 0);
  EXPECT_FALSE(Mapping::open(dup(open_ended), 4096));
  ASSERT_EQ(fcntl(open_ended, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
  EXPECT_FALSE(Mapping::open(dup(open_ended), 8192));
  EXPECT_FALSE(Mapping::open(dup(open_ended), 0));
  EXPECT_TRUE(Mapping::open(dup(open_ended), 4096));
  close(open_ended);
  EXPECT_FALSE(Mapping::open(open("/dev/zero", O_RDONLY | O_CLOEXEC), 4096));
}

}  // namespace
}  // namespace yoke::transport
