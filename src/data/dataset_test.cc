#include "data/dataset.h"

#include "data/byte_images.h"
#include "data/expect_error.h"

namespace yoke::data {
namespace {

Part part() {
  auto schema = image_schema("", 1, 2, numbered(3), nullptr).value();
  auto source = std::make_shared<ByteImages>(schema, std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5},
                                             std::vector<std::uint8_t>{0, 1, 2});
  return {"made up train", source, Normalisation{{1}, {2}, {}, {}}, {2, 0}};
}

TEST(Part, NumbersItsSamplesFromZero) {
  const auto two = part();
  EXPECT_EQ(two.size(), 2U);
  EXPECT_EQ(two.name(), "made up train");
  EXPECT_EQ(two.schema().width(), 2);
  const auto batch = two.batch(std::vector<std::uint64_t>{0, 1, 0});
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch->size, 3U);
  EXPECT_EQ(batch->features, (std::vector<float>{1.5, 2, -0.5, 0, 1.5, 2}));
  EXPECT_EQ(batch->classes, (std::vector<std::int64_t>{2, 0, 2}));
}

TEST(Part, RefusesASampleItDoesNotHave) {
  expect_error(part().batch(std::vector<std::uint64_t>{1, 2}), Code::invalid_argument,
               {"made up train has 2 samples", "no sample 2"});
  expect_error(Part().batch(std::vector<std::uint64_t>{0}), Code::invalid_argument, {"no sample 0"});
  EXPECT_EQ(Part().size(), 0U);
  EXPECT_EQ(Part().batch({}).value().size, 0U);
}

TEST(Schema, WidthAndTasks) {
  Schema schema;
  schema.shape = {3, 8, 5};
  EXPECT_EQ(schema.width(), 120);
  EXPECT_STREQ(name_of(Task::classes), "classes");
  EXPECT_STREQ(name_of(Task::values), "values");
  EXPECT_STREQ(name_of(Task::binary), "binary");
  EXPECT_STREQ(name_of(Task::flags), "flags");
}

TEST(Normalisation, OneForAllOrOneEachOrNone) {
  EXPECT_EQ(Normalisation().feature(7, 3), 7);
  EXPECT_EQ((Normalisation{{1}, {2}, {}, {}}.feature(7, 3)), 3);
  EXPECT_EQ((Normalisation{{1, 5}, {2, 4}, {}, {}}.feature(7, 1)), 0.5);
  EXPECT_EQ((Normalisation{{1}, {2}, {}, {}}.target(7, 0)), 7);
  EXPECT_EQ((Normalisation{{}, {}, {1, 5}, {2, 4}}.target(7, 1)), 0.5);
}

}  // namespace
}  // namespace yoke::data
