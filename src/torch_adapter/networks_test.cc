#include "torch_adapter/networks.h"

#include <gtest/gtest.h>

namespace yoke::torch_adapter {
namespace {

const data::Schema kImages{.shape = {3, 20, 13}, .outputs = 7};
const data::Schema kTable{.shape = {11}, .task = data::Task::values, .outputs = 2};
const data::Schema kText{.shape = {9}, .tokens = true, .outputs = 30, .positions = 9};

std::uint64_t really(const Network& network) {
  std::int64_t count = 0;
  for (const auto& named : network.parameters) count += named.tensor.numel();
  return static_cast<std::uint64_t>(count);
}

// What is said of a network before it is built is true of the one that is.
void check(const std::string& model, const data::Schema& schema, const std::vector<std::int64_t>& scores) {
  SCOPED_TRACE(model);
  const auto design = design_of(model, schema);
  ASSERT_TRUE(design) << design.error().message;
  auto network = build_network(*design, schema, torch::kCPU);
  ASSERT_TRUE(network) << network.error().message;
  EXPECT_EQ(really(*network), count_parameters(*design, schema));
  std::vector<std::int64_t> shape{2};
  shape.insert(shape.end(), schema.shape.begin(), schema.shape.end());
  const auto inputs = schema.tokens ? torch::zeros(shape, torch::kLong) : torch::rand(shape);
  EXPECT_EQ(network->forward(inputs).sizes().vec(), scores);
  EXPECT_FALSE(words_for(*design).empty());
  // Spelled out it is the same network.
  const auto again = design_of(design->name(), schema);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->sizes, design->sizes);
}

TEST(Networks, have_as_many_parameters_as_was_said_and_give_what_the_data_needs) {
  check("mlp", kTable, {2, 2});
  check("mlp:11-5-2", kTable, {2, 2});
  check("mlp", kImages, {2, 7});
  check("cnn", kImages, {2, 7});
  check("cnn:4-6-8-10-12", kImages, {2, 7});  // the image is used up before the filters are
  check("resnet", kImages, {2, 7});
  check("resnet:4x2", kImages, {2, 7});
  check("lstm", kText, {2, 9, 30});
  check("lstm:24", kText, {2, 9, 30});
  check("lstm:100x3", kText, {2, 9, 30});
}

TEST(Networks, refuse_what_does_not_fit_and_say_what_would) {
  const auto message = [](const std::string& model, const data::Schema& schema) {
    const auto design = design_of(model, schema);
    return design ? "" : design.error().message;
  };
  EXPECT_NE(message("cnnn", kImages).find("did you mean cnn?"), std::string::npos);
  EXPECT_NE(message("mlp:3-4", kTable).find("mlp:11-...-2"), std::string::npos);
  EXPECT_NE(message("mlp:3-x", kTable).find("mlp:784-512-10"), std::string::npos);
  EXPECT_NE(message("mlp:11--2", kTable).find("mlp:784-512-10"), std::string::npos);
  EXPECT_NE(message("cnn", kTable).find("use --model mlp"), std::string::npos);
  EXPECT_NE(message("cnn:0", kImages).find("cnn:32-64-128"), std::string::npos);
  EXPECT_NE(message("resnet:8", kImages).find("resnet:16x1"), std::string::npos);
  EXPECT_NE(message("resnet", kText).find("use --model lstm"), std::string::npos);
  EXPECT_NE(message("lstm", kImages).find("cnn for images"), std::string::npos);
  EXPECT_NE(message("lstm:8x999", kText).find("lstm:128x1"), std::string::npos);
}

TEST(Networks, a_state_goes_out_and_comes_back_with_its_counters) {
  const auto design = design_of("resnet:4x1", kImages);
  auto network = build_network(*design, kImages, torch::kCPU);
  network->forward(torch::rand({4, 3, 20, 13}));
  const auto state = state_of(*network);
  ASSERT_NE(state.find("stem_bn.num_batches_tracked"), nullptr);
  EXPECT_EQ(state.find("stem_bn.num_batches_tracked")->type, DType::i64);
  auto other = build_network(*design, kImages, torch::kCPU);
  ASSERT_TRUE(restore(*other, state));
  const auto x = torch::rand({2, 3, 20, 13});
  network->train(false);
  other->train(false);
  EXPECT_TRUE(torch::equal(network->forward(x), other->forward(x)));
}

TEST(Networks, start_from_another_models_weights) {
  const data::Schema ten{.shape = {4}, .outputs = 10}, three{.shape = {4}, .outputs = 3};
  auto big = build_network(*design_of("mlp:4-8-10", ten), ten, torch::kCPU);
  auto small = build_network(*design_of("mlp:4-8-3", three), three, torch::kCPU);
  const auto state = state_of(*big);
  const auto refused = start_from(*small, state, {});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("3.weight is [10, 8] in the file and [3, 8] in the model"), std::string::npos);
  EXPECT_NE(refused.error().message.find("--init-skip"), std::string::npos);
  ASSERT_TRUE(start_from(*small, state, {"3.*"}));
  EXPECT_TRUE(torch::equal(small->parameters[0].tensor, big->parameters[0].tensor));
}

}  // namespace
}  // namespace yoke::torch_adapter
