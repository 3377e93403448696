#include "data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace yoke::data {
namespace {

using Samples = std::vector<std::uint64_t>;

// Sample i is the features 2i and 2i + 1 and the class i. Says what was begun, and waits before it goes on while
// closed.
class Watched : public Source {
 public:
  Watched() { schema_.shape = {2}; }

  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return 100; }
  Result<Normalisation> learn(std::span<const std::uint64_t>) const override { return Normalisation{}; }
  Status fill(std::span<const std::uint64_t> samples, const Normalisation&, Batch& batch) const override {
    std::unique_lock lock(mutex_);
    begun_.emplace_back(samples.begin(), samples.end());
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
    if (std::exchange(fail_, false)) return Error{Code::corrupt, "the disk hums"};
    lock.unlock();
    batch = {};
    batch.size = samples.size();
    for (auto sample : samples) {
      batch.features.insert(batch.features.end(),
                            {2.0F * static_cast<float>(sample), 2.0F * static_cast<float>(sample) + 1});
      batch.classes.push_back(static_cast<std::int64_t>(sample));
    }
    return {};
  }

  void set_open(bool open) {
    const std::lock_guard lock(mutex_);
    open_ = open;
    changed_.notify_all();
  }
  void fail_next() {
    const std::lock_guard lock(mutex_);
    fail_ = true;
  }
  void wait_until_begun(const Samples& samples) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::find(begun_.begin(), begun_.end(), samples) != begun_.end(); });
  }
  std::vector<Samples> begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 private:
  Schema schema_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable std::vector<Samples> begun_;
  bool open_ = true;
  mutable bool fail_ = false;
};

struct LoaderTest : testing::Test {
  Part part() const {
    Samples backwards(source->size());
    std::iota(backwards.rbegin(), backwards.rend(), 0);
    return {"watched", source, {}, backwards};
  }
  // As the source sees it: part() has the samples backwards.
  static Samples of_source(Samples samples) {
    for (auto& sample : samples) sample = 99 - sample;
    return samples;
  }
  // The loader's thread has been through all that was expected before, because this was expected last.
  void wait_for(const Samples& samples) const { source->wait_until_begun(of_source(samples)); }
  std::ptrdiff_t times_begun(const Samples& samples) const {
    const auto begun = source->begun();
    return std::count(begun.begin(), begun.end(), of_source(samples));
  }

  const std::shared_ptr<Watched> source = std::make_shared<Watched>();
};

void expect_equal(const Result<Batch>& got, const Result<Batch>& wanted) {
  ASSERT_TRUE(got.ok()) << got.error().message;
  ASSERT_TRUE(wanted.ok());
  EXPECT_EQ(got->size, wanted->size);
  EXPECT_EQ(got->features, wanted->features);
  EXPECT_EQ(got->tokens, wanted->tokens);
  EXPECT_EQ(got->classes, wanted->classes);
  EXPECT_EQ(got->values, wanted->values);
}

void expect_counts(const Loader& loader, std::uint64_t ready, std::uint64_t late) {
  EXPECT_EQ(loader.counts().ready, ready);
  EXPECT_EQ(loader.counts().late, late);
}

TEST_F(LoaderTest, GivesWhatThePartGivesToAnyThread) {
  constexpr int kThreads = 4, kTakes = 300;
  Loader loader(part(), 8);
  const auto replica = [&](unsigned seed) {
    std::mt19937 random(seed);
    // Few lists, so that threads ask for the same ones; the order matters.
    const auto list = [&] {
      Samples samples{random() % 5, random() % 5};
      if (random() % 2 == 0) samples.push_back(7);
      return samples;
    };
    auto next = list();
    for (int i = 0; i < kTakes; ++i) {
      const auto samples = std::exchange(next, list());
      loader.expect(next);
      if (random() % 4 == 0) loader.expect(list());
      expect_equal(loader.take(samples), part().batch(samples));
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(replica, i);
  }
  const auto counts = loader.counts();
  EXPECT_EQ(counts.ready + counts.late, kThreads * kTakes);
}

TEST_F(LoaderTest, PreparesAheadAndOnlyOnce) {
  Loader loader(part(), 4);
  loader.expect({1, 2});
  wait_for({1, 2});
  loader.expect({1, 2});
  loader.expect({3});
  loader.expect({3});
  wait_for({3});
  expect_equal(loader.take(Samples{1, 2}), part().batch(Samples{1, 2}));
  expect_equal(loader.take(Samples{3}), part().batch(Samples{3}));
  expect_counts(loader, 2, 0);
  EXPECT_EQ(times_begun({1, 2}), 2) << "once by the loader, once above to compare with";
  EXPECT_EQ(times_begun({3}), 2);

  expect_equal(loader.take(Samples{1, 2}), part().batch(Samples{1, 2}));  // taken is gone
  expect_equal(loader.take(Samples{2, 1}), part().batch(Samples{2, 1}));
  expect_equal(loader.take(Samples{}), part().batch(Samples{}));
  expect_counts(loader, 2, 3);
}

TEST_F(LoaderTest, WaitsForWhatIsBeingPrepared) {
  Loader loader(part(), 4);
  source->set_open(false);
  loader.expect({1});
  wait_for({1});
  std::optional<Result<Batch>> got;
  std::jthread taker([&] { got = loader.take(Samples{1}); });
  source->set_open(true);
  taker.join();
  expect_equal(*got, part().batch(Samples{1}));
  expect_counts(loader, 1, 0);
}

TEST_F(LoaderTest, MakesItselfWhatWasNotBegun) {
  Loader loader(part(), 4);
  source->set_open(false);
  loader.expect({1});
  wait_for({1});
  loader.expect({2});  // behind it
  std::optional<Result<Batch>> got;
  std::jthread taker([&] { got = loader.take(Samples{2}); });
  wait_for({2});
  source->set_open(true);
  taker.join();
  expect_counts(loader, 0, 1);
  expect_equal(*got, part().batch(Samples{2}));
  loader.expect({3});
  wait_for({3});
  EXPECT_EQ(times_begun({2}), 2) << "the loader made what had been taken; the other one is above";
}

TEST_F(LoaderTest, DropsTheOldestBeyondItsCapacity) {
  Loader loader(part(), 2);
  source->set_open(false);
  loader.expect({1});
  wait_for({1});
  for (std::uint64_t sample : {2, 3, 4}) loader.expect({sample});  // the one in work goes, then 2
  source->set_open(true);
  wait_for({4});
  EXPECT_EQ(source->begun(), (std::vector<Samples>{{98}, {96}, {95}}));
  for (std::uint64_t sample : {4, 3}) EXPECT_TRUE(loader.take(Samples{sample}).ok());
  expect_counts(loader, 2, 0);
  for (std::uint64_t sample : {1, 2}) expect_equal(loader.take(Samples{sample}), part().batch(Samples{sample}));
  expect_counts(loader, 2, 2);
}

TEST_F(LoaderTest, WithoutCapacityItPreparesNothing) {
  Loader loader(part(), 0);
  loader.expect({1});
  EXPECT_TRUE(loader.take(Samples{1}).ok());
  expect_counts(loader, 0, 1);
}

TEST_F(LoaderTest, AFailureComesWithItsBatchAndOnce) {
  Loader loader(part(), 4);
  source->fail_next();
  loader.expect({1});
  wait_for({1});
  loader.expect({2});
  wait_for({2});
  EXPECT_TRUE(loader.take(Samples{2}).ok());
  const auto failed = loader.take(Samples{1});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::corrupt);
  EXPECT_EQ(failed.error().message, "the disk hums");
  EXPECT_TRUE(loader.take(Samples{1}).ok());
  expect_counts(loader, 2, 1);

  loader.expect({1, 100});
  const auto beyond = loader.take(Samples{1, 100});
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().message, part().batch(Samples{1, 100}).error().message);
}

TEST_F(LoaderTest, EndsWithoutTheBatchesStillToCome) {
  { Loader idle(part(), 4); }
  source->set_open(false);
  std::optional<Loader> loader(std::in_place, part(), 50);
  for (std::uint64_t sample = 0; sample < 50; ++sample) loader->expect({sample});
  wait_for({0});
  std::jthread ender([&] { loader.reset(); });
  source->set_open(true);
  ender.join();
  const auto begun = source->begun();
  EXPECT_GE(begun.size(), 1U);
  EXPECT_LE(begun.size(), 50U);
}

}  // namespace
}  // namespace yoke::data
