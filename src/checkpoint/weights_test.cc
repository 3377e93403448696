#include "checkpoint/weights.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/scratch_folder.h"
#include "checkpoint/checkpoint_fixture.h"
#include "checkpoint/model_file.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

TEST(Weights, AreFoundInFilesCheckpointsAndFoldersOfThem) {
  ScratchFolder folder;
  expect_error(read_weights(folder.path()), Code::missing, {folder.path(), "no checkpoint in this folder"});
  expect_error(read_weights(folder.path() + "/absent"), Code::missing, {"absent"});
  std::vector<Moment> moments;
  for (const wire::Version version : {100, 200}) {
    moments.push_back(moment_of({small_layout()}, version, version));
    ASSERT_TRUE(save(posix_disk(), folder.path(), moments.back(), deal(moments.back(), 2), version).ok());
  }
  const auto expect_weights = [&](const std::string& path, const Moment& moment, const std::string& from) {
    const auto weights = read_weights(path);
    ASSERT_TRUE(weights.ok()) << weights.error().message;
    EXPECT_EQ(weights->from, from);
    ASSERT_EQ(weights->state.tensors.size(), 6U);
    for (const auto& tensor : weights->state.tensors) EXPECT_EQ(*floats_of(tensor), moment.arrays.at({0, tensor.name}));
  };
  const auto first = sealed_path(folder.path(), 100), second = sealed_path(folder.path(), 200);
  expect_weights(folder.path(), moments[1], second);
  expect_weights(first, moments[0], first);
  const auto file = folder.path() + "/m.safetensors";
  ASSERT_TRUE(write_model(file, read_weights(first)->state).ok());
  expect_weights(file, moments[0], file);

  std::filesystem::resize_file(second + "/part-0-of-2.values.safetensors", 10);
  expect_error(read_weights(second), Code::corrupt, {second, "part-0-of-2.values.safetensors"});
  expect_weights(folder.path(), moments[0], first);
  EXPECT_EQ(read_weights(folder.path())->passed_over.at(0).folder, second);
}

}  // namespace
}  // namespace yoke::checkpoint
