#include "cluster/container_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <numeric>

#include "base/scratch_folder.h"
#include "cluster/silent_outlet.h"

namespace yoke::cluster {
namespace {

class ContainerFile : public testing::Test {
 protected:
  ContainerFile() {
    file_ = folder_.file(container_file_name("job", 0, 1));
    Layout layout{{{"weight", {1000}, 0}, {"fixed", {3}, 0, true}}, {SGD{.lr = 0.1, .momentum = 0.9}}};
    auto network = std::make_shared<HostedNetwork>(0, 0, wire::JobTerms{}, layout, wire::About{{"model", "toy"}},
                                                   outlet_, workers_, arena_, nullptr);
    for (const auto id : network->plan().of_shard[0]) {
      const auto& block = network->plan().blocks[id];
      std::vector<float> values(block.size);
      std::iota(values.begin(), values.end(), static_cast<float>(block.offset));
      EXPECT_TRUE(network->bring({0, id, false, 0}, values));
      const std::vector<std::vector<float>> momentum{std::vector<float>(block.size, 0.25f)};
      network->store()->updates().memory_of(0).restore(id, 7, momentum);
    }
    EXPECT_TRUE(network->bring({0, 1, true, 0}, std::vector<float>{1, 2, 3}));
    network->restored(60);
    networks_[0] = std::move(network);
  }

  Result<Networks> read() { return read_container(file_, "job", 0, 1, workers_, arena_); }
  std::string bytes() const {
    std::ifstream in(file_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(file_, std::ios::binary) << bytes; }

  SilentOutlet outlet_;
  Workers workers_{0};
  std::shared_ptr<transport::Arena> arena_ = transport::Arena::make();
  Networks networks_;
  ScratchFolder folder_;
  std::string file_;
};

TEST_F(ContainerFile, comes_back_with_everything) {
  ASSERT_TRUE(ContainerCopy("job", 0, 1, networks_).write(file_));
  const auto back = read();
  ASSERT_TRUE(back) << back.error().message;
  const auto &was = *networks_.at(0), &is = *back->at(0);
  EXPECT_EQ(is.version(), 60u);
  EXPECT_TRUE(is.initialised());
  EXPECT_EQ(is.about(), was.about());
  EXPECT_EQ(is.frozen(), was.frozen());
  for (const auto id : was.plan().of_shard[0]) {
    const auto before = was.first(id).values, after = is.first(id).values;
    EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin(), after.end()));
    const auto& memory = is.store()->updates().memories().at(0);
    EXPECT_EQ(memory.updates(id), 7u);
    ASSERT_EQ(memory.present(id).size(), 1u);
    EXPECT_EQ(memory.present(id)[0][0], 0.25f);
  }
}

// The first may have no part on a server, or no updates yet.
TEST_F(ContainerFile, has_any_of_the_networks) {
  const Layout layout{{{"weight", {10}, 0}}, {SGD{}}};
  for (const std::uint32_t index : {2u, 5u}) {
    const auto network = std::make_shared<HostedNetwork>(index, 0, wire::JobTerms{}, layout, wire::About{}, outlet_,
                                                         workers_, arena_, nullptr);
    for (const auto id : network->plan().of_shard[0])
      ASSERT_TRUE(network->bring({index, id, false, 0}, std::vector<float>(network->plan().blocks[id].size, 1.0f)));
    network->restored(index);
    networks_[index] = network;
  }
  networks_.erase(0);
  const ContainerCopy copy("job", 0, 1, networks_);
  EXPECT_EQ(copy.version(), 7u);
  ASSERT_TRUE(copy.write(file_));
  const auto back = read();
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ(back->at(2)->version(), 2u);
  EXPECT_EQ(back->at(5)->version(), 5u);
}

TEST_F(ContainerFile, no_damage_goes_unnoticed) {
  ASSERT_TRUE(ContainerCopy("job", 0, 1, networks_).write(file_));
  const auto whole = bytes();
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    write(whole.substr(0, size));
    EXPECT_FALSE(read()) << size;
  }
  for (std::size_t at = 0; at < whole.size(); at += 89) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write(changed);
    const auto back = read();
    ASSERT_FALSE(back) << at;
    EXPECT_EQ(back.error().code, Code::corrupt);
  }
  write(whole);
  EXPECT_TRUE(read());
}

TEST_F(ContainerFile, is_of_the_container_and_the_server_that_its_name_says) {
  ASSERT_TRUE(ContainerCopy("other", 0, 1, networks_).write(file_));
  EXPECT_NE(read().error().message.find("another container"), std::string::npos);
  ASSERT_TRUE(ContainerCopy("job", 1, 2, networks_).write(file_));
  EXPECT_NE(read().error().message.find("another server"), std::string::npos);
  EXPECT_EQ(container_named("a.b.0of2.container", 0, 2), "a.b");
  EXPECT_EQ(container_named("a.b.0of2.container", 1, 2), "");
  EXPECT_EQ(container_named(".0of2.container", 0, 2), "");
  EXPECT_EQ(container_named("a.0of2.container.tmp-7", 0, 2), "");
}

}  // namespace
}  // namespace yoke::cluster
