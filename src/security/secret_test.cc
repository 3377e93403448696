#include "security/secret.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include "security/memory_search.h"
#include "security/scratch_folder.h"

namespace yoke::security {
namespace {

const std::string kText = "correct-horse-battery-staple-0123456789";

std::span<const std::byte> bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string hex(const Proof& proof) {
  std::string text;
  for (const auto byte : proof) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

Secret::Ptr taken(const std::string& text) {
  std::string value = text;
  auto secret = Secret::from_environment(value.data(), "YOKE_SECRET");
  EXPECT_TRUE(secret.ok()) << secret.error().message;
  return secret ? *secret : nullptr;
}

TEST(Secret, MakesANewOneEachTime) {
  ScratchFolder folder;
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    const auto secret = Secret::make();
    ASSERT_TRUE(secret.ok()) << secret.error().message;
    const auto name = std::to_string(i);
    ASSERT_TRUE((*secret)->write(folder.path(name)).ok());
    const auto text = folder.read(name);
    ASSERT_EQ(text.size(), 44u);
    EXPECT_EQ(text.back(), '\n');
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 43u);
    seen.insert(text);
  }
  EXPECT_EQ(seen.size(), 100u);
}

// 256 bits in 43 characters: the last has only four of them, and its two lowest are nought. All signs occur.
TEST(Secret, HasAllItsBits) {
  ScratchFolder folder;
  std::set<char> signs, last;
  for (int i = 0; i < 300; ++i) {
    const auto name = std::to_string(i);
    ASSERT_TRUE((*Secret::make())->write(folder.path(name)).ok());
    const auto text = folder.read(name);
    signs.insert(text.begin(), text.begin() + 42);
    last.insert(text[42]);
  }
  EXPECT_EQ(signs.size(), 64u);
  EXPECT_EQ(last, (std::set<char>{'A', 'E', 'I', 'M', 'Q', 'U', 'Y', 'c', 'g', 'k', 'o', 's', 'w', '0', '4', '8'}));
}

TEST(Secret, ProvesAsOpensslDoes) {
  ScratchFolder folder;
  for (const std::size_t size : {0, 1, 64, 5000}) {
    const std::string message(size, 'm');
    folder.write("message", message);
    for (const auto& key :
         {kText, std::string(32, 'k'), std::string(64, 'k'), std::string(65, 'k'), std::string(1024, 'k')}) {
      const auto other = openssl("dgst -sha256 -mac HMAC -macopt key:" + key + " " + folder.path("message"));
      ASSERT_EQ(other.status, 0) << other.text;
      const auto secret = taken(key);
      ASSERT_TRUE(secret);
      EXPECT_NE(other.text.find(hex(secret->prove(bytes(message)))), std::string::npos) << other.text;
    }
  }
}

TEST(Secret, FileAndEnvironmentSayTheSame) {
  ScratchFolder folder;
  const auto file = Secret::from_file(folder.write("secret", kText + " \t\r\n\n"));
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ((*file)->prove(bytes("x")), taken(kText)->prove(bytes("x")));
  EXPECT_NE((*file)->prove(bytes("x")), taken(kText + "-")->prove(bytes("x")));
  EXPECT_NE((*file)->prove(bytes("x")), (*file)->prove(bytes("y")));
}

TEST(Secret, WhatIsWrittenIsReadAgain) {
  ScratchFolder folder;
  const auto secret = *Secret::make();
  const auto mask = ::umask(0);
  ASSERT_TRUE(secret->write(folder.path("open-mask")).ok());
  ::umask(0777);
  ASSERT_TRUE(secret->write(folder.path("closed-mask")).ok());
  ::umask(mask);
  for (const auto* name : {"open-mask", "closed-mask"}) {
    EXPECT_EQ(folder.mode(name), 0600u);
    const auto again = Secret::from_file(folder.path(name));
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ((*again)->prove(bytes("x")), secret->prove(bytes("x")));
  }
}

TEST(Secret, LeavesAFileThatIsThere) {
  ScratchFolder folder;
  folder.write("secret", kText);
  const auto written = (*Secret::make())->write(folder.path("secret"));
  ASSERT_FALSE(written.ok());
  EXPECT_NE(written.error().message.find("is there already"), std::string::npos);
  EXPECT_EQ(folder.read("secret"), kText);
  // Nor what a link points to, be it there or not.
  std::filesystem::create_symlink(folder.path("nowhere"), folder.path("link"));
  EXPECT_FALSE((*Secret::make())->write(folder.path("link")).ok());
  EXPECT_FALSE(std::filesystem::exists(folder.path("nowhere")));
}

TEST(Secret, RefusesFilesThatOthersMayRead) {
  ScratchFolder folder;
  for (const unsigned mode : {0640u, 0604u, 0620u, 0602u, 0610u, 0601u, 0666u}) {
    const auto file = folder.write("secret", kText, mode);
    const auto secret = Secret::from_file(file);
    ASSERT_FALSE(secret.ok()) << mode;
    EXPECT_NE(secret.error().message.find("`chmod 600 " + file + "`"), std::string::npos) << secret.error().message;
  }
  for (const unsigned mode : {0600u, 0400u, 0700u})
    EXPECT_TRUE(Secret::from_file(folder.write("own" + std::to_string(mode), kText, mode)).ok()) << mode;
}

TEST(Secret, RefusesFilesOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ScratchFolder folder;
  const auto file = folder.write("secret", kText);
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  const auto secret = Secret::from_file(file);
  ASSERT_FALSE(secret.ok());
  EXPECT_NE(secret.error().message.find("belongs to user 12345"), std::string::npos) << secret.error().message;

  // A link of another user's to a file of ours.
  folder.write("ours", kText);
  std::filesystem::create_symlink(folder.path("ours"), folder.path("link"));
  EXPECT_TRUE(Secret::from_file(folder.path("link")).ok());
  ASSERT_EQ(::lchown(folder.path("link").c_str(), 12345, 12345), 0);
  const auto linked = Secret::from_file(folder.path("link"));
  ASSERT_FALSE(linked.ok());
  EXPECT_NE(linked.error().message.find("the link belongs to user 12345"), std::string::npos);
}

TEST(Secret, ALinkDoesNotHideTheMode) {
  ScratchFolder folder;
  folder.write("open", kText, 0644);
  std::filesystem::create_symlink(folder.path("open"), folder.path("link"));
  EXPECT_FALSE(Secret::from_file(folder.path("link")).ok());
}

TEST(Secret, RefusesWhatIsNoPlainFile) {
  ScratchFolder folder;
  EXPECT_FALSE(Secret::from_file(folder.path("nowhere")).ok());
  EXPECT_FALSE(Secret::from_file(folder.path("")).ok());
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);  // and does not wait for a writer
  EXPECT_FALSE(Secret::from_file(folder.path("pipe")).ok());
}

TEST(Secret, RefusesWhatIsNoSecret) {
  ScratchFolder folder;
  const auto why = [&](const std::string& text) {
    const auto secret = Secret::from_file(folder.write("secret", text));
    return secret ? "" : secret.error().message;
  };
  EXPECT_NE(why("").find("this has 0"), std::string::npos);
  EXPECT_NE(why(std::string(31, 'x') + "\n").find("this has 31"), std::string::npos);
  EXPECT_EQ(why(std::string(32, 'x')), "");
  EXPECT_EQ(why(std::string(1024, 'x') + "\n"), "");
  EXPECT_NE(why(std::string(1025, 'x')).find("this has 1025"), std::string::npos);
  EXPECT_NE(why(std::string(100000, 'x')).find("more than"), std::string::npos);
  EXPECT_NE(why(kText + "\n" + kText).find("one word"), std::string::npos);
  EXPECT_NE(why(kText + std::string(1, '\0')).find("one word"), std::string::npos);
  EXPECT_EQ(why(kText + "\n" + kText).find(kText), std::string::npos) << "the message has the secret in it";
}

TEST(Secret, WipesTheEnvironment) {
  for (const auto& text : {kText, std::string("short"), std::string(9000, 'x'), std::string()}) {
    std::string value = text;
    const auto secret = Secret::from_environment(value.data(), "YOKE_SECRET");
    EXPECT_EQ(value, std::string(text.size(), '\0'));
    EXPECT_EQ(secret.ok(), text == kText);
    EXPECT_TRUE(secret.ok() || secret.error().message.starts_with("YOKE_SECRET: "));
  }
}

// What a core file would have of it, while it is held, used, and after.
TEST(Secret, IsInNoCoreFile) {
  ScratchFolder folder;
  const auto path = folder.path("secret");
  auto secret = Secret::make();
  ASSERT_TRUE((*secret)->write(path).ok());
  const auto wanted = Disguised::from_file(path, 0, 43);
  ASSERT_EQ(wanted.size(), 43u);
  EXPECT_EQ(search_memory(wanted).dumped, 0u);
  EXPECT_EQ(search_memory(wanted).kept_out, 1u);

  auto again = Secret::from_file(path);
  ASSERT_TRUE(again.ok());
  (void)(*again)->prove(bytes("x"));
  EXPECT_EQ(search_memory(wanted).dumped, 0u);
  EXPECT_GE(search_memory(wanted).kept_out, 1u);  // two pages may lie side by side

  secret = Error{};
  again = Error{};
  EXPECT_EQ(search_memory(wanted).dumped, 0u);
  EXPECT_EQ(search_memory(wanted).kept_out, 0u);

  auto copy = folder.read("secret");  // and a search that found nothing would be none
  EXPECT_GE(search_memory(wanted).dumped, 1u);
}

TEST(Equal, LooksAtEveryByte) {
  Proof a{}, b{};
  EXPECT_TRUE(equal(a, b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    b[i] = std::byte{1};
    EXPECT_FALSE(equal(a, b)) << i;
    b[i] = std::byte{0};
  }
  EXPECT_FALSE(equal(a, std::span(b).first(31)));
  EXPECT_TRUE(equal({}, {}));
}

}  // namespace
}  // namespace yoke::security
