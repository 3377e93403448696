#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "launch/launch_fixture.h"
#include "launch/meeting.h"
#include "launch/scratch.h"

namespace yoke::launch {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

Place rank(std::uint32_t number, std::uint32_t ranks) {
  return {.kind = Place::Kind::by_hand, .rank = number, .ranks = ranks, .node = "host", .job = "job"};
}

class FolderMeeting : public testing::Test {
 protected:
  FolderMeeting()
      : scratch_(Scratch::make([](const char*) { return nullptr; }).value()), folder_(scratch_->path() + "/meet") {}

  std::unique_ptr<Meeting> come(std::uint32_t number, std::uint32_t ranks) {
    auto meeting = meet_in_folder(folder_, rank(number, ranks));
    EXPECT_TRUE(meeting) << meeting.error().message;
    return meeting ? std::move(*meeting) : nullptr;
  }

  // Two rounds of all ranks, each a thread; what each has heard in the second.
  std::vector<Texts> hold(std::uint32_t ranks, const std::string& prefix) {
    std::vector<std::future<Texts>> started;
    for (std::uint32_t number = 0; number < ranks; ++number)
      started.push_back(std::async(std::launch::async, [this, ranks, prefix, number] {
        const auto meeting = come(number, ranks);
        const auto own = prefix + std::to_string(number);
        const auto first = meeting->exchange(own, patient());
        EXPECT_TRUE(first);
        EXPECT_EQ(first->at(number), own);
        const auto second = meeting->exchange(own + " again\n", patient());
        return second ? *second : Texts{second.error().message};
      }));
    std::vector<Texts> heard;
    for (auto& each : started) heard.push_back(each.get());
    return heard;
  }

  std::unique_ptr<Scratch> scratch_;
  const std::string folder_;
};

unsigned mode(const std::string& path) {
  struct stat about = {};
  EXPECT_EQ(stat(path.c_str(), &about), 0) << path;
  return about.st_mode & 07777U;
}

TEST_F(FolderMeeting, EveryoneHearsEveryoneAndNothingIsLeft) {
  for (const auto& heard : hold(4, "I am ")) {
    EXPECT_EQ(heard, (Texts{"I am 0 again\n", "I am 1 again\n", "I am 2 again\n", "I am 3 again\n"}));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FolderMeeting, WhatIsSaidIsForThisUserAlone) {
  const auto meeting = come(0, 2);
  const Waiting once{Waiting::Clock::now(), [](std::chrono::milliseconds) { return true; }};
  fs::copy_file(folder_ + "/job/hello.0", folder_ + "/job/hello.1");
  EXPECT_FALSE(meeting->exchange("secret", once));
  EXPECT_EQ(mode(folder_), 0700U);
  EXPECT_EQ(mode(folder_ + "/job"), 0700U);
  EXPECT_EQ(mode(folder_ + "/job/hello.0"), 0600U);
  EXPECT_EQ(mode(folder_ + "/job/say0.0"), 0600U);
}

// Whatever the moment at which it was killed: the hello of a rank alone, or all that it has ever said.
TEST_F(FolderMeeting, LeftoversOfAJobThatDiedAreNotMistaken) {
  const auto kept = scratch_->path() + "/kept";
  {
    std::vector<std::unique_ptr<Meeting>> dead;
    for (std::uint32_t number = 0; number < 3; ++number) dead.push_back(come(number, 3));
    std::vector<std::future<void>> said;
    for (auto& meeting : dead)
      said.push_back(std::async(std::launch::async, [&] { EXPECT_TRUE(meeting->exchange("old", patient())); }));
    for (auto& each : said) each.get();
    fs::copy(folder_ + "/job", kept);
  }
  fs::create_directory(folder_ + "/job");
  fs::permissions(folder_ + "/job", fs::perms::owner_all);
  fs::copy(kept, folder_ + "/job");
  for (const auto& heard : hold(3, "new ")) {
    EXPECT_EQ(heard, (Texts{"new 0 again\n", "new 1 again\n", "new 2 again\n"}));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(FolderMeeting, WhoDoesNotComeIsNamed) {
  const auto meeting = come(1, 3);
  const auto heard = meeting->exchange("x", {Waiting::Clock::now(), [](std::chrono::milliseconds) { return true; }});
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, Code::timed_out);
  EXPECT_NE(heard.error().message.find("for rank 0, 2"), std::string::npos) << heard.error().message;
}

TEST_F(FolderMeeting, AWaitCanBeCancelled) {
  auto meeting = come(0, 2);
  const auto heard = meeting->exchange(
      "x", {Waiting::Clock::now() + std::chrono::hours(1), [](std::chrono::milliseconds) { return false; }});
  ASSERT_FALSE(heard);
  EXPECT_EQ(heard.error().code, Code::cancelled);
  meeting.reset();
  EXPECT_TRUE(fs::is_empty(folder_ + "/job"));
}

TEST_F(FolderMeeting, FoldersThatOthersCanWriteToAreRefused) {
  fs::create_directory(folder_);
  for (const auto open : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(folder_, fs::perms::owner_all | open);
    const auto meeting = meet_in_folder(folder_, rank(0, 2));
    ASSERT_FALSE(meeting);
    EXPECT_NE(meeting.error().message.find("chmod 700"), std::string::npos) << meeting.error().message;
  }
  fs::permissions(folder_, fs::perms::owner_all);
  fs::create_symlink("/tmp", folder_ + "/job");
  EXPECT_FALSE(meet_in_folder(folder_, rank(0, 2)));
  EXPECT_FALSE(meet_in_folder("/dev/null", rank(0, 2)));
  EXPECT_FALSE(meet_in_folder("/no/such/folder", rank(0, 2)));
  // Another user's: this one is root's, or root is not who tests.
  if (geteuid() == 0) {
    const auto others = scratch_->path() + "/others";
    fs::create_directory(others);
    ASSERT_EQ(chown(others.c_str(), 12345, 12345), 0);
    const auto meeting = meet_in_folder(others, rank(0, 2));
    ASSERT_FALSE(meeting);
    EXPECT_NE(meeting.error().message.find("another user"), std::string::npos) << meeting.error().message;
  }
}

}  // namespace
}  // namespace yoke::launch
