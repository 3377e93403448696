#include "train/model_card.h"

#include <gtest/gtest.h>

namespace yoke::train {
namespace {

ModelCard card() {
  ModelCard card{"mlp:3-2", {}, {}};
  card.schema = {
      .shape = {3}, .task = data::Task::values, .outputs = 2, .labels = {"a", "b"}, .features = {"x", "y=\"q\"", "z"}};
  card.normalisation = {{0.1f, 1e-30f, 3}, {1, 2, 3}, {5, 6}, {7, 8}};
  card.loss = "mae";
  card.target = {"price", "size, in m"};
  card.test_share = 0.25;
  return card;
}

TEST(ModelCard, comes_back_as_it_went_in) {
  State state;
  write_card(card(), state);
  const auto read = read_card(state, "m.safetensors");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->model, card().model);
  EXPECT_EQ(read->schema, card().schema);
  EXPECT_EQ(read->normalisation, card().normalisation);  // floats to the last bit
  EXPECT_EQ(read->loss, "mae");
  EXPECT_EQ(read->target, card().target);
  EXPECT_EQ(read->test_share, 0.25);
}

TEST(ModelCard, a_file_of_somebody_else_has_none_and_the_message_says_what_to_do) {
  const auto read = read_card({}, "foreign.safetensors");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("foreign.safetensors"), std::string::npos);
  EXPECT_NE(read.error().message.find("--init"), std::string::npos);
}

TEST(ModelCard, nonsense_is_refused) {
  for (const char* schema : {"", "[", "{}", "{\"shape\": \"x\"}", "[[[[[[",
                             "{\"shape\":[-1],\"tokens\":false,\"task\":0,"
                             "\"outputs\":1,\"positions\":1,\"labels\":[],\"features\":[]}"}) {
    State state;
    write_card(card(), state);
    state.about["yoke.schema"] = schema;
    const auto read = read_card(state, "m.safetensors");
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().code, Code::corrupt);
  }
}

}  // namespace
}  // namespace yoke::train
