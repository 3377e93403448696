#include "cluster/view_journal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>
#include <vector>

#include "base/scratch_folder.h"
#include "cluster/storing.h"

namespace yoke::cluster::storing {
namespace {

TEST(ViewStore, says_what_is_wrong_with_a_place) {
  const auto expect_wrong = [](const std::string& where, const std::string& why) {
    expect_error(open_view_store(where), Code::invalid_argument, {why, "etcd://HOST:PORT"});
  };
  expect_wrong("", "empty");
  expect_wrong("http://host:2379/job", "only kind");
  expect_wrong("etcd://", "empty");
  expect_wrong("etcd:///job", "empty");
  expect_wrong("etcd://host", "'host'");
  expect_wrong("etcd://a:1,,b:2/job", "empty");
  expect_wrong("etcd://a:1,b:2,/job", "empty");
  expect_wrong("etcd://a:1,b:0/job", "'b:0'");
  expect_wrong("etcd://a:1,unix:/tmp/x", "'unix:'");
  expect_wrong("etcd://::1:2379/job", "'::1:2379'");
  expect_wrong("etcd://a:1/a/b", "'a/b'");
  expect_wrong("etcd://a:1/.job", "'.job'");
  std::string many = "etcd://a:1";
  for (int i = 0; i < 16; ++i) many += ",a:1";
  expect_wrong(many, "17 addresses");
  for (const auto* where : {"etcd://a:1", "etcd://a:1/", "etcd://a:1,[::1]:2379/my-job"})
    EXPECT_TRUE(open_view_store(where)) << where;
}

// --- a folder ---

class ViewJournal : public testing::Test {
 protected:
  StorePtr open() { return open_view_store(folder_.path()).or_throw(); }
  std::string file() const { return folder_.file("views.journal"); }
  std::string bytes() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { folder_.write("views.journal", bytes); }

  ScratchFolder folder_;
};

TEST_F(ViewJournal, comes_back_with_what_was_saved_last) {
  std::string binary(300, '\0');
  for (std::size_t i = 0; i < binary.size(); ++i) binary[i] = static_cast<char>(i);
  {
    const auto store = open();
    expect_stored(*store, "", 0);
    EXPECT_EQ(save(*store, "first", 0), 1u);
    EXPECT_EQ(save(*store, "", 1), 2u);
    expect_stored(*store, "", 2);
    EXPECT_EQ(save(*store, binary, 2), 3u);
    expect_stored(*store, binary, 3);
  }
  const auto store = open();
  expect_stored(*store, binary, 3);
  EXPECT_EQ(save(*store, "next", 3), 4u);
}

TEST_F(ViewJournal, refuses_what_was_made_from_another_revision) {
  const auto store = open();
  expect_error(store->save("early", 1), Code::refused, {file(), "revision 0"});
  save(*store, "first", 0);
  expect_error(store->save("again", 0), Code::refused, {file(), "revision 1", "from 0"});
  expect_error(store->save(std::string(kMaxViewBytes + 1, 'x'), 1), Code::invalid_argument, {file()});
  expect_stored(*store, "first", 1);
}

TEST_F(ViewJournal, makes_the_folder) {
  const auto where = folder_.file("a/b");
  {
    const auto store = open_view_store(where);
    ASSERT_TRUE(store) << store.error().message;
    save(**store, "view", 0);
  }
  const auto store = open_view_store(where + "/");
  ASSERT_TRUE(store) << store.error().message;
  expect_stored(**store, "view", 1);
  folder_.write("plain", "a file");
  expect_error(open_view_store(folder_.file("plain")), Code::missing, {"plain"});
}

TEST_F(ViewJournal, drops_what_a_crash_left_of_the_last_entry) {
  auto store = open();
  save(*store, "first", 0);
  const auto one = bytes();
  save(*store, "second", 1);
  store.reset();
  const auto both = bytes();
  ASSERT_TRUE(both.starts_with(one) && both.size() > one.size());
  for (auto size = one.size(); size < both.size(); ++size)
    // As it was cut off, and as some file systems leave it: the length is right, and the rest is zeros.
    for (const auto& torn : {both.substr(0, size), both.substr(0, size) + std::string(both.size() - size, '\0')}) {
      write(torn == both ? both.substr(0, size) : torn);
      expect_stored(*open(), "first", 1);
      EXPECT_EQ(bytes(), one);
      save(*open(), "other", 1);
      expect_stored(*open(), "other", 2);
    }
  write(both);
  expect_stored(*open(), "second", 2);
}

TEST_F(ViewJournal, damage_before_the_end_is_an_error) {
  auto store = open();
  save(*store, "first", 0);
  save(*store, "second", 1);
  const auto two = bytes();
  save(*store, "third", 2);
  store.reset();
  const auto whole = bytes();
  for (std::size_t at = 0; at < two.size(); ++at) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write(changed);
    expect_error(open_view_store(folder_.path()), Code::corrupt, {file()});
    EXPECT_EQ(bytes(), changed) << "it is left alone";
  }
  write(whole + two);
  expect_error(open_view_store(folder_.path()), Code::corrupt, {file()});
  write(whole);
  expect_stored(*open(), "third", 3);
}

// It came with a rename: no crash tears it.
TEST_F(ViewJournal, damage_to_the_first_entry_is_an_error) {
  save(*open(), "first", 0);
  const auto whole = bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(whole.substr(0, size));
    expect_error(open_view_store(folder_.path()), Code::corrupt, {file()});
  }
}

TEST_F(ViewJournal, stays_small) {
  auto store = open();
  std::uint64_t revision = 0;
  std::size_t largest = 0;
  const auto view = [](std::uint64_t number) { return std::string(100'000, static_cast<char>('a' + number % 26)); };
  for (int i = 0; i < 40; ++i) {
    revision = save(*store, view(revision), revision);
    largest = std::max(largest, static_cast<std::size_t>(std::filesystem::file_size(file())));
  }
  EXPECT_EQ(revision, 40u);
  EXPECT_GT(largest, 900'000u);
  EXPECT_LE(largest, 1u << 20);
  store.reset();
  store = open();
  expect_stored(*store, view(39), 40);

  const std::string large(kMaxViewBytes, 'x');
  EXPECT_EQ(save(*store, large, 40), 41u);
  EXPECT_EQ(save(*store, large, 41), 42u);
  EXPECT_LT(std::filesystem::file_size(file()), kMaxViewBytes + 100);
  store.reset();
  folder_.write("views.journal.tmp-1", "left by one that was killed");
  store = open();
  expect_stored(*store, large, 42);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("views.journal.tmp-1")));
}

TEST_F(ViewJournal, one_at_a_time) {
  auto store = open();
  expect_error(open_view_store(folder_.path()), Code::refused,
               {folder_.path(), "process " + std::to_string(::getpid()), "another folder"});
  store.reset();
  EXPECT_TRUE(open());
}

// A disk that takes no more in the middle of an entry.
TEST_F(ViewJournal, goes_on_after_a_save_that_failed) {
  auto store = open();
  save(*store, "first", 0);
  const auto size = std::filesystem::file_size(file());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  const auto limited = [&](const std::function<void()>& work) {
    const rlimit limit{static_cast<rlim_t>(size + 10), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
    work();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  };
  limited([&] { expect_error(store->save("second", 1), Code::missing, {file()}); });
  EXPECT_EQ(std::filesystem::file_size(file()), size + 10);
  expect_stored(*store, "first", 1);
  EXPECT_EQ(std::filesystem::file_size(file()), size);
  limited([&] { expect_error(store->save("second", 1), Code::missing, {file()}); });
  EXPECT_EQ(save(*store, "third", 1), 2u);
  EXPECT_EQ(save(*store, "fourth", 2), 3u);
  ::signal(SIGXFSZ, ignored);
  store.reset();
  expect_stored(*open(), "fourth", 3);
}

}  // namespace
}  // namespace yoke::cluster::storing
