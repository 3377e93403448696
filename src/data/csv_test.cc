#include "data/csv.h"

#include <numeric>

#include "data/expect_error.h"
#include "data/scratch_folder.h"

namespace yoke::data {
namespace {

using Names = std::vector<std::string>;
using Floats = std::vector<float>;

// Opens tables that are written down in the test.
class Csv : public testing::Test {
 protected:
  Csv() { options_.test_share = 0; }

  Result<Opened> open(const std::string& content, const Schema* like = nullptr) {
    return open_csv(folder_.plain("t.csv", content), options_, like);
  }
  void wrong(const std::string& content, Code code, std::initializer_list<std::string> words,
             const Schema* like = nullptr) {
    const auto opened = open(content, like);
    expect_error(opened, code, words);
    ASSERT_FALSE(opened.ok());
    EXPECT_NE(opened.error().message.find("/t.csv: "), std::string::npos) << opened.error().message;
  }
  // All samples.
  static Batch all(const Opened& opened, const Normalisation& normalisation = {}) {
    std::vector<std::uint64_t> samples(opened.source->size());
    std::iota(samples.begin(), samples.end(), 0);
    Batch batch;
    EXPECT_TRUE(opened.source->fill(samples, normalisation, batch).ok());
    return batch;
  }

  ScratchFolder folder_;
  OpenOptions options_;
};

TEST_F(Csv, NumbersAndWordsBecomeFeatures) {
  options_.target = {"price"};
  options_.ignore = {"id"};
  const auto opened = open("id,size,color,price\nx1,2,red,10\nx2,4,blue,20\nx3,6.5,red,30\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->name, "t.csv");
  EXPECT_EQ(opened->train, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_TRUE(opened->test.empty());
  const auto& schema = opened->source->schema();
  EXPECT_EQ(schema.shape, std::vector<std::int64_t>{3});
  EXPECT_EQ(schema.features, (Names{"size", "color=blue", "color=red"}));
  EXPECT_EQ(schema.task, Task::values);
  EXPECT_EQ(schema.outputs, 1);
  EXPECT_EQ(schema.labels, Names{"price"});
  const auto batch = all(*opened);
  EXPECT_EQ(batch.size, 3U);
  EXPECT_EQ(batch.features, (Floats{2, 0, 1, 4, 1, 0, 6.5, 0, 1}));
  EXPECT_EQ(batch.values, (Floats{10, 20, 30}));
  EXPECT_TRUE(batch.classes.empty());
}

TEST_F(Csv, LearnsEveryColumnAndTheTarget) {
  options_.target = {"y"};
  const auto opened = open("a,c,k,y\n1,u,0.1,10\n3,v,0.1,20\n5,v,0.1,30\n100,w,7,9\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  const auto learnt = opened->source->learn(std::vector<std::uint64_t>{0, 1, 2});  // not the last
  ASSERT_TRUE(learnt.ok());
  EXPECT_EQ(opened->source->schema().features, (Names{"a", "c=u", "c=v", "c=w", "k"}));
  const Floats mean{3, 1.F / 3, 2.F / 3, 0, 0.1F}, deviation{1.6329932F, 0.4714045F, 0.4714045F, 1, 1};
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_FLOAT_EQ(learnt->mean.at(i), mean[i]) << i;
    EXPECT_FLOAT_EQ(learnt->deviation.at(i), deviation[i]) << i;
  }
  EXPECT_FLOAT_EQ(learnt->target_mean.at(0), 20);
  EXPECT_FLOAT_EQ(learnt->target_deviation.at(0), 8.1649658F);
  const auto raw = all(*opened), normal = all(*opened, *learnt);
  for (std::size_t i = 0; i < raw.features.size(); ++i) {
    EXPECT_EQ(normal.features[i], (raw.features[i] - learnt->mean[i % 5]) / learnt->deviation[i % 5]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(normal.values[i], (raw.values[i] - learnt->target_mean[0]) / learnt->target_deviation[0]);
  }
  expect_error(opened->source->learn({}), Code::invalid_argument, {"no samples"});
}

TEST_F(Csv, ClassesAreSortedWordsOrIntegers) {
  options_.target = {"kind"};
  auto opened = open("a,kind\n1,pear\n2,apple\n3,pear\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().task, Task::classes);
  EXPECT_EQ(opened->source->schema().labels, (Names{"apple", "pear"}));
  EXPECT_EQ(opened->source->schema().outputs, 2);
  EXPECT_EQ(all(*opened).classes, (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_TRUE(all(*opened).values.empty());
  EXPECT_TRUE(opened->source->learn(opened->train)->target_mean.empty());

  options_.task = Task::classes;
  opened = open("a,kind\n1,10\n2,9\n3,-1\n4,9.0\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels, (Names{"-1", "9", "10"}));
  EXPECT_EQ(all(*opened).classes, (std::vector<std::int64_t>{2, 1, 0, 1}));

  options_.task.reset();
  options_.categories = {"kind", "a"};
  opened = open("a,kind\n1,10\n2,9\n2,10\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().task, Task::classes);
  EXPECT_EQ(opened->source->schema().labels, (Names{"10", "9"}));
  EXPECT_EQ(opened->source->schema().features, (Names{"a=1", "a=2"}));
}

TEST_F(Csv, BinaryAndFlagsAreZeroOrOne) {
  options_.target = {"y"};
  options_.task = Task::binary;
  auto opened = open("a,y\n1,1\n2,0\n3,1\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().outputs, 1);
  EXPECT_EQ(opened->source->schema().labels, (Names{"0", "1"}));
  EXPECT_EQ(all(*opened).values, (Floats{1, 0, 1}));
  opened = open("a,y\n1,yes\n2,no\n3,yes\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels, (Names{"no", "yes"}));
  EXPECT_EQ(all(*opened).values, (Floats{1, 0, 1}));
  EXPECT_TRUE(opened->source->learn(opened->train)->target_mean.empty());

  options_.target = {"z", "y"};
  options_.task = Task::flags;
  opened = open("y,a,z\n1,5,0\n0,6,1\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().labels, (Names{"z", "y"}));
  EXPECT_EQ(opened->source->schema().outputs, 2);
  EXPECT_EQ(all(*opened).values, (Floats{0, 1, 1, 0}));
  wrong("y,a,z\n1,5,0\n0,6,2\n", Code::invalid_argument, {"line 3, column 'z'", "'2' is neither 0 nor 1"});
}

TEST_F(Csv, SeveralTargetsAreValues) {
  options_.target = {"y", "x"};
  const auto opened = open("x,a,y\n1,5,10\n2,6,20\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema().task, Task::values);
  EXPECT_EQ(all(*opened).values, (Floats{10, 1, 20, 2}));
  EXPECT_EQ(opened->source->learn(opened->train)->target_mean, (Floats{15, 1.5}));
  for (auto task : {Task::classes, Task::binary}) {
    options_.task = task;
    wrong("x,a,y\n1,5,10\n", Code::invalid_argument, {"one target, not 2: y, x"});
  }
}

TEST_F(Csv, TheTestPartNeverChanges) {
  std::string content = "a,y\n";
  for (int i = 0; i < 200; ++i) content += std::to_string(i) + "," + std::to_string(2 * i) + "\n";
  options_.target = {"y"};
  options_.test_share = 0.1;
  const auto opened = open(content);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->train.size(), 180U);
  EXPECT_EQ(opened->test.size(), 20U);
  EXPECT_EQ(std::vector(opened->test.begin(), opened->test.begin() + 5),
            (std::vector<std::uint64_t>{9, 11, 14, 24, 32}));
  EXPECT_EQ(open(content)->test, opened->test);
  options_.test_share = 0.001;
  EXPECT_EQ(open(content)->test.size(), 1U);
  for (double share : {-0.1, 0.91, 1.0}) {
    options_.test_share = share;
    expect_error(open(content), Code::invalid_argument, {"test share", "from 0 to 0.9"});
  }
}

TEST_F(Csv, AnotherFileMayBeTheTestPart) {
  options_.target = {"kind"};
  options_.test = folder_.plain("test.csv", "kind;color;a\npear;red;7\n");
  const auto opened = open("a,color,kind\n1,red,apple\n2,blue,pear\n");
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->train, (std::vector<std::uint64_t>{0, 1}));
  EXPECT_EQ(opened->test, std::vector<std::uint64_t>{2});
  EXPECT_EQ(all(*opened).features, (Floats{1, 0, 1, 2, 1, 0, 7, 0, 1}));
  EXPECT_EQ(all(*opened).classes, (std::vector<std::int64_t>{0, 1, 1}));

  const auto wrong_test = [&](const std::string& content, Code code, std::initializer_list<std::string> words) {
    folder_.plain("test.csv", content);
    expect_error(open("a,color,kind\n1,red,apple\n2,blue,pear\n"), code, words);
  };
  wrong_test("a,color,kind\n1,red,pear\n1,green,pear\n", Code::invalid_argument,
             {"/test.csv: line 3, column 'color': 'green' is no word"});
  wrong_test("a,color,kind\n1,red,plum\n", Code::invalid_argument,
             {"/test.csv: line 2, column 'kind': 'plum' is no class"});
  wrong_test("a,kind\n1,pear\n", Code::invalid_argument, {"/test.csv: no column is called 'color'"});
  wrong_test("", Code::corrupt, {"/test.csv: the file is empty"});
  options_.test += "x";
  expect_error(open("a,color,kind\n1,red,apple\n"), Code::missing, {"/test.csvx: No such file"});
}

TEST_F(Csv, TakesColumnsWordsAndClassesFromAModel) {
  options_.target = {"kind"};
  const auto like = open("a,color,kind\n1,red,apple\n2,blue,pear\n3,green,plum\n")->source->schema();
  const auto opened = open("kind,further,color,a\npear,x,blue,5\n", &like);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(opened->source->schema(), like);
  EXPECT_EQ(all(*opened).features, (Floats{5, 1, 0, 0}));
  EXPECT_EQ(all(*opened).classes, std::vector<std::int64_t>{1});
  wrong("kind,color,a\npear,blue,5\npear,pink,5\n", Code::invalid_argument, {"line 3, column 'color'", "'pink'"},
        &like);
  wrong("kind,color,a\nkiwi,blue,5\n", Code::invalid_argument, {"line 2, column 'kind'", "'kiwi' is no class"}, &like);
  wrong("kind,colour,a\nplum,blue,5\n", Code::invalid_argument, {"'color'", "did you mean 'colour'?"}, &like);
  wrong("kind,color,a\nplum,,5\n", Code::corrupt, {"line 2, column 'color'", "empty"}, &like);
  options_.target = {"kind", "a"};
  wrong("kind,color,a\nplum,blue,5\n", Code::invalid_argument, {"another number of columns"}, &like);
  options_.target = {"kind"};
  options_.task = Task::binary;
  wrong("kind,color,a\nplum,blue,5\n", Code::invalid_argument, {"--task classes, not for binary"}, &like);
  options_.task.reset();
  Schema images;
  images.shape = {1, 8, 8};
  wrong("kind,color,a\nplum,blue,5\n", Code::invalid_argument, {"not made for tables"}, &images);
}

TEST_F(Csv, AModelKnowsItsTargetColumnsOfNumbers) {
  options_.target = {"y"};
  const auto like = open("a,y\n1,2\n")->source->schema();
  options_.target = {};
  const auto opened = open("y,a\n7,8\n", &like);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(all(*opened).features, Floats{8});
  EXPECT_EQ(all(*opened).values, Floats{7});
  wrong("x,a\n7,8\n", Code::invalid_argument, {"no column is called 'y'"}, &like);
}

TEST_F(Csv, NamesTheFieldThatIsWrong) {
  options_.target = {"y"};
  wrong("a,y\n1,2\nred,4\n", Code::corrupt, {"line 3, column 'a': 'red' is no number"});
  wrong("a,y\n1,2\n,4\n", Code::corrupt, {"line 3, column 'a': the field is empty"});
  wrong("a,y\n,2\n", Code::corrupt, {"line 2, column 'a': the field is empty"});
  wrong("a,y\nnan,2\n", Code::corrupt, {"line 2, column 'a': 'nan' is not finite"});
  wrong("a,y\n1e50,2\n", Code::corrupt, {"line 2, column 'a': '1e50' is out of range"});
  wrong("a,y\n1,2\n1,inf\n", Code::corrupt, {"line 3, column 'y': 'inf' is not finite"});
  wrong("a,y\n1,2\n1,two\n", Code::corrupt, {"line 3, column 'y': 'two' is no number"});
  wrong("a,y\n1,red\n1,\n", Code::corrupt, {"line 3, column 'y': the field is empty"});
  wrong("a,y\n1,2,3\n", Code::corrupt, {"line 2: 3 fields"});
  options_.task = Task::values;
  wrong("a,y\n1,red\n", Code::corrupt, {"line 2, column 'y': 'red' is no number"});
  options_.task = Task::classes;
  wrong("a,y\n1,2\n1,2.5\n", Code::corrupt, {"line 3, column 'y': '2.5' is no integer", "--task values"});
}

TEST_F(Csv, NamesTheOptionThatIsWrong) {
  const std::string table = "size,color,price\n1,red,2\n2,blue,3\n3,green,4\n";
  wrong(table, Code::invalid_argument, {"say which column to predict: --target NAME (there are size, color, price)"});
  options_.target = {"prize"};
  wrong(table, Code::invalid_argument, {"'prize'", "did you mean 'price'?", "size, color, price"});
  options_.target = {"price", "price"};
  wrong(table, Code::invalid_argument, {"'price' more than once"});
  options_.target = {"price"};
  options_.ignore = {"sise"};
  wrong(table, Code::invalid_argument, {"'sise'", "did you mean 'size'?"});
  options_.ignore = {"price"};
  wrong(table, Code::invalid_argument, {"'price' is to be predicted and ignored"});
  options_.ignore = {"size", "color"};
  wrong(table, Code::invalid_argument, {"no column is left to predict from"});
  options_.ignore = {};
  options_.categories = {"zzz"};
  wrong(table, Code::invalid_argument, {"no column is called 'zzz' (there are"});
  options_.categories = {};
  options_.task = Task::binary;
  wrong(table, Code::invalid_argument, {"'price' has 2, 3, 4", "--task values"});
  options_.target = {"color"};
  wrong(table, Code::invalid_argument, {"'color' has blue, green, red", "--task classes"});
  wrong("a,color\n1,red\n", Code::invalid_argument, {"'color' has red"});
  options_ = {.test_share = 0, .target = {"y"}};
  wrong("a=b,y\n1,2\n", Code::invalid_argument, {"'a=b' has a = in its name", "--ignore"});
  expect_error(open_csv(folder_.path() + "/none.csv", options_, nullptr), Code::missing, {"/none.csv: No such file"});
  options_.test_share = 0.5;
  expect_error(open("a,y\n1,2\n"), Code::invalid_argument, {"of 1 samples none can be held back"});
}

TEST_F(Csv, RefusesAColumnOfTooManyWords) {
  std::string content = "name,y\n";
  for (int i = 0; i < 1000; ++i) content += "n" + std::to_string(i) + ",1\n";
  options_.target = {"y"};
  EXPECT_EQ(open(content)->source->schema().features.size(), 1000U);
  wrong(content + "more,1\n", Code::invalid_argument, {"'name' has more than 1000 different words", "--ignore"});
}

}  // namespace
}  // namespace yoke::data
