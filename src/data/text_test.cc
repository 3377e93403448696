#include "data/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/expect_error.h"
#include "data/scratch_folder.h"
#include "data/utf8.h"

namespace yoke::data {
namespace {

using Numbers = std::vector<std::int64_t>;

OpenOptions of(std::uint32_t sequence) {
  OpenOptions options;
  options.sequence = sequence;
  return options;
}

Batch all(const Opened& opened, const std::vector<std::uint64_t>& samples) {
  Batch batch;
  batch.values = {1};  // has to go
  EXPECT_TRUE(opened.source->fill(samples, {}, batch).ok());
  EXPECT_EQ(batch.size, samples.size());
  EXPECT_TRUE(batch.features.empty() && batch.values.empty());
  return batch;
}

TEST(Text, WindowsAndTheCharactersAfter) {
  ScratchFolder folder;
  auto opened = open_text(folder.gzip("a.txt.gz", "ba\r\nabé\rc"), of(2), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.labels, (std::vector<std::string>{"\uFFFD", "\n", "\r", "a", "b", "c", "é"}));
  EXPECT_EQ(schema.shape, (Numbers{2}));
  EXPECT_TRUE(schema.tokens);
  EXPECT_EQ(schema.task, Task::classes);
  EXPECT_EQ(schema.outputs, 7);
  EXPECT_EQ(schema.positions, 2);
  EXPECT_EQ(opened->name, "a.txt.gz");
  EXPECT_EQ(opened->train, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(opened->test, (std::vector<std::uint64_t>{2}));
  const auto batch = all(*opened, {2, 0, 1});  // of b a \n a b é \r c
  EXPECT_EQ(batch.tokens, (Numbers{4, 6, 4, 3, 1, 3}));
  EXPECT_EQ(batch.classes, (Numbers{6, 2, 3, 1, 3, 4}));
  EXPECT_EQ(opened->source->learn(opened->train).value(), Normalisation{});
}

TEST(Text, TheEndIsTheTestOrAnotherFileIs) {
  ScratchFolder folder;
  const auto file = folder.plain("a.txt", "\xef\xbb\xbf" + std::string(101, 'a') + "b");
  auto options = of(10);
  options.test_share = 0.25;
  auto opened = open_text(file, options, nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels.size(), 3U) << "the byte order mark counts as a character";
  EXPECT_EQ(opened->train.size(), 7U);
  EXPECT_EQ(opened->test, (std::vector<std::uint64_t>{7, 8, 9}));

  options.test = folder.plain("b.txt", "bbazabbbbaa!bbbbbbbbbbbb");
  opened = open_text(file, options, nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->train.size(), 10U);
  EXPECT_EQ(opened->test, (std::vector<std::uint64_t>{10, 11}));
  EXPECT_EQ(opened->source->schema().labels.size(), 3U) << "the test's characters are not learnt";
  const auto batch = all(*opened, {10});
  EXPECT_EQ(batch.tokens, (Numbers{2, 2, 1, 0, 1, 2, 2, 2, 2, 1}));
  EXPECT_EQ(batch.classes, (Numbers{2, 1, 0, 1, 2, 2, 2, 2, 1, 1}));
}

TEST(Text, ReplacementCharactersInTheTextAreUnknown) {
  ScratchFolder folder;
  auto opened = open_text(folder.plain("a", "a\uFFFDa\uFFFDa"), of(2), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels, (std::vector<std::string>{"\uFFFD", "a"}));
  EXPECT_EQ(all(*opened, {0}).tokens, (Numbers{1, 0}));
}

TEST(Text, LikeAnotherKeepsItsSymbolsAndSequence) {
  ScratchFolder folder;
  const auto first = open_text(folder.plain("a", "zxyzxyzxy"), of(3), nullptr).value();
  const auto& like = first.source->schema();
  auto opened = open_text(folder.plain("b", "yaxzyaxz"), of(0), &like);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema(), like);
  EXPECT_EQ(all(*opened, {0}).tokens, (Numbers{2, 0, 1}));

  Schema table;
  table.shape = {3};
  table.outputs = 3;
  expect_error(open_text(folder.path() + "/b", of(3), &table), Code::invalid_argument,
               {"the model", "not made for text"});
  auto endless = like;
  endless.shape = {0};
  endless.positions = 0;
  expect_error(open_text(folder.path() + "/b", of(3), &endless), Code::invalid_argument, {"the model", "not made"});
  auto words = like;
  words.labels[2] = "word";
  expect_error(open_text(folder.path() + "/b", of(3), &words), Code::invalid_argument, {"the model", "symbol 2"});
}

TEST(Text, RefusesWhatCannotBeRead) {
  ScratchFolder folder;
  const auto good = folder.plain("good", "0123456789");
  EXPECT_FALSE(open_text(folder.path() + "/none", of(2), nullptr).ok());
  expect_error(open_text(folder.plain("latin1", "caf\xe9 au lait"), of(2), nullptr), Code::corrupt,
               {"/latin1", "byte 3 (0xe9)"});
  for (std::string content : {"", "\xef\xbb\xbf"}) {
    expect_error(open_text(folder.plain("empty", content), of(2), nullptr), Code::corrupt, {"/empty", "empty"});
  }
  for (std::uint32_t sequence : {0U, 1U, 4097U}) {
    expect_error(open_text(good, of(sequence), nullptr), Code::invalid_argument, {"--sequence", "2 to 4096"});
  }
  EXPECT_TRUE(open_text(folder.plain("enough", "12345"), of(2), nullptr).ok());
  expect_error(open_text(folder.plain("short", "1234"), of(2), nullptr), Code::invalid_argument,
               {"/short", "4 characters, but 2 samples of 2 take 5"});
  auto options = of(2);
  options.test_share = 1;
  expect_error(open_text(good, options, nullptr), Code::invalid_argument, {"test share", "1"});
  options.test = folder.path() + "/none";
  EXPECT_FALSE(open_text(good, options, nullptr).ok());
  options.test = folder.plain("tiny", "12");
  expect_error(open_text(good, options, nullptr), Code::invalid_argument, {"/tiny", "2 characters, but 1 samples"});
}

TEST(Text, AtMostSoManyCharacters) {
  ScratchFolder folder;
  std::string text;
  for (char32_t i = 0; i < 4096; ++i) text += encode_utf8(0x4e00 + i);
  auto opened = open_text(folder.plain("a", text), of(4), nullptr);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().outputs, 4097);
  expect_error(open_text(folder.plain("b", text + "a"), of(4), nullptr), Code::invalid_argument,
               {"/b", "4097 different characters"});
}

// The whole computation at once: a map of pairs, a sum of logarithms.
double slow_perplexity(const std::string& train, const std::string& test, double symbols) {
  std::map<std::pair<char, char>, double> pairs;
  std::map<char, double> before;
  for (std::size_t i = 0; i + 1 < train.size(); ++i) ++pairs[{train[i], train[i + 1]}], ++before[train[i]];
  double sum = 0;
  for (std::size_t i = 0; i + 1 < test.size(); ++i) {
    sum += std::log((pairs[{test[i], test[i + 1]}] + 1) / (before[test[i]] + symbols));
  }
  return std::exp(-sum / static_cast<double>(test.size() - 1));
}

TEST(Text, BigramPerplexity) {
  ScratchFolder folder;
  std::string train, test;
  for (int i = 0; i < 1201; ++i) train += "abracadabra, "[i * i % 13];  // 300 windows: more than are counted at once
  for (int i = 0; i < 41; ++i) test += "cadabra abba"[i * 5 % 12];
  auto options = of(4);
  options.test = folder.plain("test", test);
  const auto opened = open_text(folder.plain("train", train), options, nullptr).value();
  const Part training("train", opened.source, {}, opened.train), testing("test", opened.source, {}, opened.test);
  const auto perplexity = bigram_perplexity(training, testing);
  ASSERT_TRUE(perplexity.ok()) << perplexity.error().message;
  const auto symbols = static_cast<double>(opened.source->schema().outputs);
  EXPECT_NEAR(*perplexity, slow_perplexity(train, test, symbols), 1e-9);
  // What is all one character surprises only by what was added: (n + V) / (n + 1).
  const auto same = open_text(folder.plain("same", std::string(101, 'a')), of(10), nullptr).value();
  const Part ones("ones", same.source, {}, same.train), one("one", same.source, {}, same.test);
  EXPECT_NEAR(bigram_perplexity(ones, one).value(), 92.0 / 91.0, 1e-12);

  expect_error(bigram_perplexity(training, Part()), Code::invalid_argument, {"''", "no samples"});
  expect_error(bigram_perplexity(training, one), Code::invalid_argument, {"'one'", "differently"});
}

}  // namespace
}  // namespace yoke::data
