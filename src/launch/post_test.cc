#include "launch/post.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>

#include "launch/launch_fixture.h"
#include "launch/scratch.h"

namespace yoke::launch {
namespace {

namespace fs = std::filesystem;
using Variables = std::map<std::string, std::string>;

Lookup from(Variables variables) {
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

// The ranks of one job as threads, one for each node that is named.
class PostTest : public testing::Test {
 protected:
  PostTest() : scratch_(Scratch::make([](const char*) { return nullptr; }).value()) {}

  std::vector<Result<std::unique_ptr<Post>>> take(const std::vector<std::string>& nodes,
                                                  const std::vector<RolesAsked>& asked,
                                                  const Variables& variables = {}) {
    std::vector<std::future<Result<std::unique_ptr<Post>>>> started;
    for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
      started.push_back(std::async(std::launch::async, [&, rank] {
        const auto own = scratch_->path() + "/" + std::to_string(rank);
        fs::create_directory(own);
        fs::permissions(own, fs::perms::owner_all);
        const Place place{.kind = Place::Kind::by_hand,
                          .rank = rank,
                          .ranks = static_cast<std::uint32_t>(nodes.size()),
                          .node = nodes[rank],
                          .job = "job"};
        return Post::take(from(variables), place,
                          {.roles = asked[rank % asked.size()],
                           .folder = scratch_->path() + "/meet",
                           .host = "127.0.0.1",
                           .transport = "shm",
                           .scratch = own},
                          patient());
      }));
    std::vector<Result<std::unique_ptr<Post>>> posts;
    for (auto& each : started) posts.push_back(each.get());
    return posts;
  }

  std::string path(const std::string& name) const { return scratch_->path() + "/" + name; }

  std::unique_ptr<Scratch> scratch_;
};

TEST_F(PostTest, OnOneNodeSocketsLieWhereRankZeroSays) {
  const auto posts = take({"a", "a"}, {{.servers = 2}});
  for (const auto& post : posts) {
    ASSERT_TRUE(post) << post.error().message;
    EXPECT_EQ(*(*post)->listen("s1", "shm:x"), "shm:" + path("0/s1"));
    EXPECT_TRUE((*post)->environment().empty());
    EXPECT_FALSE((*post)->alone());
  }
  EXPECT_TRUE((*posts[0])->has_first());
  EXPECT_FALSE((*posts[1])->has_first());
}

TEST_F(PostTest, OnSeveralNodesTheyTalkOverTcpWithKeysOfRankZero) {
  const auto posts = take({"a", "b"}, {{.servers = 1}});
  std::string secret;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(posts[rank]) << posts[rank].error().message;
    EXPECT_EQ(*(*posts[rank])->listen("s0", ""), "tcp:127.0.0.1:0");
    const auto own = path(std::to_string(rank));
    EXPECT_EQ((*posts[rank])->environment(),
              (std::vector<std::string>{"YOKE_SECRET_FILE=" + own + "/secret", "YOKE_CERTS=" + own + "/certs",
                                        "YOKE_PEER_NAME=job.yoke.internal"}));
    EXPECT_EQ(fs::status(own + "/secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(own + "/certs/key.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    for (const auto* file : {"ca.pem", "cert.pem"}) EXPECT_TRUE(fs::exists(own + "/certs/" + file));
    EXPECT_FALSE(fs::exists(own + "/certs/ca-key.pem"));
    std::ifstream in(own + "/secret");
    std::string text((std::istreambuf_iterator<char>(in)), {});
    EXPECT_GE(text.size(), 43u);
    if (rank == 0) secret = text;
    EXPECT_EQ(text, secret);
  }
}

TEST_F(PostTest, KeysOfOnesOwnAreNotReplaced) {
  for (const auto* name : {"YOKE_SECRET_FILE", "YOKE_CERTS", "YOKE_INSECURE"}) {
    const auto posts = take({"a", "b"}, {{}}, {{name, "1"}});
    for (const auto& post : posts) {
      ASSERT_TRUE(post) << post.error().message;
      EXPECT_TRUE((*post)->environment().empty());
    }
  }
}

TEST_F(PostTest, WhereTheFirstListensIsHeardByAll) {
  auto posts = take({"a", "b", "b"}, {{}});
  std::vector<std::future<Result<std::string>>> heard;
  for (std::uint32_t rank = 1; rank < 3; ++rank)
    heard.push_back(std::async(std::launch::async, [&, rank] { return (*posts[rank])->hear(patient()); }));
  ASSERT_TRUE((*posts[0])->announce("tcp:10.0.0.1:7000", patient()));
  for (auto& each : heard) EXPECT_EQ(*each.get(), "tcp:10.0.0.1:7000");
  EXPECT_TRUE(fs::is_empty(path("meet")));
}

TEST_F(PostTest, DifferentFlagsAreRefused) {
  const auto posts = take({"a", "b"}, {{.servers = 1}, {.servers = 2}});
  for (const auto& post : posts) {
    ASSERT_FALSE(post);
    EXPECT_NE(post.error().message.find("different flags"), std::string::npos) << post.error().message;
  }
}

TEST_F(PostTest, WhereMirroredReplicasListenIsKnownBeforehand) {
  const auto alone = [&](const std::string& transport) {
    return Post::take(
        from({}), Place{},
        {.roles = {.mirrored = true, .replicas = 2}, .folder = "", .host = "", .transport = transport, .scratch = "/x"},
        patient());
  };
  EXPECT_EQ(*(*alone("unix"))->listen_replicas(""), (std::vector<std::string>{"unix:/x/r0", "unix:/x/r1"}));
  const auto ports = *(*alone("tcp"))->listen_replicas("");
  ASSERT_EQ(ports.size(), 2u);
  EXPECT_NE(ports[0], ports[1]);
  for (const auto& port : ports) EXPECT_TRUE(port.starts_with("tcp:127.0.0.1:")) << port;

  const auto posts = take({"a", "b"}, {{.mirrored = true, .replicas = 4}});
  for (const auto& post : posts) ASSERT_TRUE(post) << post.error().message;
  EXPECT_EQ((*posts[1])->listen_replicas("tcp:127.0.0.1:7000")->size(), 2u);
}

TEST_F(PostTest, AloneThereIsNobodyToMeet) {
  const auto post = Post::take(
      from({}), Place{},
      {.roles = {.replicas = 3, .servers = 2}, .folder = "", .host = "", .transport = "unix", .scratch = "/x"},
      patient());
  ASSERT_TRUE(post);
  EXPECT_TRUE((*post)->alone());
  EXPECT_EQ((*post)->part().replicas.size(), 3u);
  EXPECT_EQ(*(*post)->listen("s1", "unix:/x/s0"), "unix:/x/s1");
  EXPECT_TRUE((*post)->announce("unix:/x/s0", patient()));
}

TEST_F(PostTest, PodsKnowTheFirstByItsName) {
  Place place{.kind = Place::Kind::kubernetes,
              .rank = 0,
              .ranks = 2,
              .node = "x",
              .job = "k",
              .pmix = false,
              .first = "localhost:7000"};
  const PostAsked asked{.roles = {.servers = 2}, .folder = "", .host = "10.1.2.3", .transport = "shm", .scratch = "/x"};
  const auto first = Post::take(from({}), place, asked, patient());
  ASSERT_TRUE(first);
  EXPECT_EQ(*(*first)->listen("s0", ""), "tcp:10.1.2.3:7000");
  place.rank = 1;
  const auto second = Post::take(from({}), place, asked, patient());
  ASSERT_TRUE(second);
  EXPECT_EQ(*(*second)->hear(patient()), "tcp:localhost:7000");
  EXPECT_EQ(*(*second)->listen("s1", "tcp:localhost:7000"), "tcp:10.1.2.3:0");
  place.first = "no-such-host.invalid:7000";
  const auto lost = Post::take(from({}), place, asked, patient());
  ASSERT_TRUE(lost);
  const auto heard = (*lost)->hear({Waiting::Clock::now(), [](std::chrono::milliseconds) { return true; }});
  ASSERT_FALSE(heard);
  EXPECT_NE(heard.error().message.find("YOKE_FIRST"), std::string::npos);
}

}  // namespace
}  // namespace yoke::launch
