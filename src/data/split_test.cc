#include "data/split.h"

#include <numeric>
#include <set>

#include "data/byte_images.h"
#include "data/expect_error.h"

namespace yoke::data {
namespace {

using Samples = std::vector<std::uint64_t>;

// Samples 0 to train - 1 to train on, three more to test with; sample i is one pixel of value i.
Opened opened(std::uint64_t train) {
  std::vector<std::uint8_t> bytes(train + 3), labels(train + 3);
  std::iota(bytes.begin(), bytes.end(), 0);
  Opened set{"set", nullptr, Samples(train), {train, train + 1, train + 2}};
  std::iota(set.train.begin(), set.train.end(), 0);
  set.source = std::make_shared<ByteImages>(image_schema("", 1, 1, numbered(1), nullptr).value(), bytes, labels);
  return set;
}

TEST(Split, HoldsOutAShareByTheSeed) {
  const auto set = opened(100);
  const auto parts = split(set, {0.1, 0}, 0, 5);
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  EXPECT_EQ(parts->train.name(), "set train");
  EXPECT_EQ(parts->validation.name(), "set validation");
  EXPECT_EQ(parts->test.name(), "set test");
  EXPECT_EQ(parts->validation.size(), 10U);
  EXPECT_EQ(parts->test.samples(), set.test);
  const auto& train = parts->train.samples();
  EXPECT_TRUE(std::is_sorted(train.begin(), train.end()));
  std::set<std::uint64_t> all(train.begin(), train.end());
  all.insert(parts->validation.samples().begin(), parts->validation.samples().end());
  EXPECT_EQ(train.size(), 90U);
  EXPECT_EQ(Samples(all.begin(), all.end()), set.train);

  EXPECT_EQ(split(set, {0.1, 0}, 0, 5)->validation.samples(), parts->validation.samples());
  EXPECT_NE(split(set, {0.1, 0}, 0, 6)->validation.samples(), parts->validation.samples());
}

// Written down once: the same on every machine, and after every change.
TEST(Split, DrawsWhatItAlwaysDrew) {
  Samples ten(10);
  std::iota(ten.begin(), ten.end(), 0);
  const auto [rest, drawn] = draw(ten, 3, 1);
  EXPECT_EQ(drawn, (Samples{6, 7, 8}));
  EXPECT_EQ(rest.size(), 7U);
  EXPECT_TRUE(draw(ten, 0, 1).drawn.empty());
  EXPECT_EQ(draw(ten, 10, 1).drawn, ten);
}

TEST(Split, EveryFoldIsHeldOutOnce) {
  const auto set = opened(23);
  std::multiset<std::uint64_t> held_out;
  for (std::uint32_t fold = 0; fold < 5; ++fold) {
    const auto parts = split(set, {0, 5}, fold, 3);
    ASSERT_TRUE(parts.ok()) << parts.error().message;
    EXPECT_EQ(parts->validation.size(), fold < 3 ? 5U : 4U);
    EXPECT_EQ(parts->train.size() + parts->validation.size(), 23U);
    for (auto sample : parts->validation.samples()) {
      held_out.insert(sample);
      const auto& train = parts->train.samples();
      EXPECT_FALSE(std::binary_search(train.begin(), train.end(), sample));
    }
  }
  EXPECT_EQ(Samples(held_out.begin(), held_out.end()), set.train);
}

TEST(Split, NormalisesByTheTrainingPartAlone) {
  const auto set = opened(40);
  const auto parts = split(set, {0.5, 0}, 0, 1);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->train.normalisation(), set.source->learn(parts->train.samples()).value());
  EXPECT_EQ(parts->test.normalisation(), parts->train.normalisation());
  EXPECT_EQ(parts->validation.normalisation(), parts->train.normalisation());
  EXPECT_EQ(split(set, {}, 0, 1, false)->train.normalisation(), Normalisation{});
  const Normalisation known{{1}, {2}, {}, {}};
  EXPECT_EQ(split(set, {}, 0, 1, true, &known)->test.normalisation(), known);
}

TEST(Split, HoldsNothingOutUnlessAsked) {
  const auto parts = split(opened(2), {}, 0, 1);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->train.samples(), (Samples{0, 1}));
  EXPECT_EQ(parts->validation.size(), 0U);
  EXPECT_EQ(split(opened(2), {0.001, 0}, 0, 1)->validation.size(), 1U);
  EXPECT_EQ(split(opened(2), {0.9, 0}, 0, 1)->train.size(), 1U);
}

TEST(Split, SaysWhatCannotBe) {
  const auto wrong = [](std::uint64_t train, const Validation& validation, std::uint32_t fold, std::string words) {
    expect_error(split(opened(train), validation, fold, 1), Code::invalid_argument, {"set: ", std::move(words)});
  };
  wrong(1, {0.5, 0}, 0, "of 1 training samples none can be held out");
  wrong(0, {}, 0, "no samples to train on");
  wrong(10, {0.95, 0}, 0, "validation share 0.95: it goes from 0 to 0.9");
  wrong(10, {-0.1, 0}, 0, "validation share -0.1");
  wrong(10, {0, 1}, 0, "at least 2 folds");
  wrong(10, {0, 11}, 0, "kfold:11: there are only 10 training samples");
  wrong(10, {0, 5}, 5, "no fold 5");
  wrong(10, {0.1, 5}, 0, "only one of them");
  for (const auto& known :
       {Normalisation{{1, 2}, {1, 2}, {}, {}}, Normalisation{{1}, {1, 2}, {}, {}}, Normalisation{{1}, {0}, {}, {}}}) {
    expect_error(split(opened(10), {}, 0, 1, true, &known), Code::invalid_argument, {"set: the model's normalisation"});
  }
}

TEST(Split, ReadsHowToValidate) {
  EXPECT_EQ(parse_validation("0.1").value().share, 0.1);
  EXPECT_EQ(parse_validation("0.9").value().share, 0.9);
  EXPECT_EQ(parse_validation("0").value().share, 0);
  EXPECT_EQ(parse_validation("0").value().folds, 0U);
  EXPECT_EQ(parse_validation("kfold:5").value().folds, 5U);
  EXPECT_EQ(parse_validation("kfold:5").value().share, 0);
  for (const auto* text : {"0.91", "-0.1", "1", "nan", "inf"}) {
    expect_error(parse_validation(text), Code::invalid_argument, {"validation share", "from 0 to 0.9"});
  }
  for (const auto* text : {"kfold:1", "kfold:0", "kfold:", "kfold:x", "kfold:-3", "kfold:5x", "kfold:99999999999"}) {
    expect_error(parse_validation(text), Code::invalid_argument, {text, "at least 2 folds"});
  }
  for (const auto* text : {"", "ten", "0.1x", "5-fold", "0,1", "10%"}) {
    expect_error(parse_validation(text), Code::invalid_argument, {text, "0.1", "kfold:5"});
  }
}

}  // namespace
}  // namespace yoke::data
