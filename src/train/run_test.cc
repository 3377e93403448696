// The three strategies with real threads, against plain loops and against the checker of the promises.
#include "yoke/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <limits>
#include <mutex>

#include "core/permutation.h"
#include "history/checker.h"
#include "history/recorder.h"
#include "train/session.h"
#include "train/toy_model.h"

namespace yoke {
namespace {

using train::ToyModel;

constexpr std::uint64_t kRunSamples = 101;  // does not divide by anything: epochs end in small steps

struct Trained {
  Summary summary;
  std::vector<std::vector<std::vector<float>>> values;  // by replica and slot
  std::vector<std::string> broken;                      // promises
};

struct Plan {
  Options options;
  std::uint32_t batch = 5;
  Optimizer optimizer = SGD{.lr = 0.1};
  // Called before each computation; may throw, and may spoil a gradient by returning true.
  std::function<bool(std::uint32_t replica, std::uint64_t step)> before = [](auto, auto) { return false; };
};

Result<Trained> train_toy(Plan plan) {
  Trained trained;
  trained.values.resize(plan.options.replicas);
  auto recorder = std::make_shared<history::Recorder>();
  plan.options.recorder = recorder;
  auto summary = run_job(plan.options, [&](Replica& replica) {
    auto model = std::make_shared<ToyModel>(static_cast<float>(replica.id()), plan.optimizer);
    auto& session = replica.open(model->layout(), model->places(), model, true);
    for (const auto& batch : replica.samples(kRunSamples, plan.batch)) {
      if (plan.before(replica.id(), session.assignment().step)) {
        auto bad = std::make_shared<std::vector<float>>(7, std::numeric_limits<float>::quiet_NaN());
        session.exchange().ready(1, {*bad, bad}).or_throw();
      } else {
        model->compute(batch, session.exchange());
      }
      session.step().or_throw();
    }
    trained.values[replica.id()] = model->values();
  });
  if (!summary) return summary.error();
  trained.summary = *summary;
  trained.broken = history::check(recorder->events());
  return trained;
}

// One replica, one thread, no library: the same order of samples in batches of `batch`, plain SGD.
std::vector<std::vector<float>> plain_loop(std::uint64_t seed, std::uint32_t epochs, std::uint32_t batch, float lr) {
  ToyModel model(0);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    const core::Permutation order(seed, epoch, kRunSamples);
    for (std::uint64_t begin = 0; begin < kRunSamples; begin += batch) {
      Batch samples;
      for (auto i = begin; i < std::min<std::uint64_t>(kRunSamples, begin + batch); ++i) samples.push_back(order(i));
      for (std::size_t slot = 0; slot < model.values().size(); ++slot) {
        const auto g = model.gradient(slot, samples);
        for (std::size_t i = 0; i < g.size(); ++i) model.values()[slot][i] -= lr * g[i];
      }
    }
  }
  return model.values();
}

void expect_close(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  ASSERT_EQ(a.size(), b.size());
  double worst = 0;
  for (std::size_t s = 0; s < a.size(); ++s)
    for (std::size_t i = 0; i < a[s].size(); ++i)
      worst =
          std::max(worst, std::abs(static_cast<double>(a[s][i]) - b[s][i]) / std::max(1e-3, std::abs(1.0 * b[s][i])));
  EXPECT_LT(worst, 1e-5);
}

Options options_for(Strategy strategy, std::uint32_t replicas, std::uint32_t shards = 1) {
  Options options;
  options.strategy = strategy;
  options.replicas = replicas;
  options.shards = shards;
  options.epochs = 3;
  return options;
}

struct Case {
  Strategy strategy;
  std::uint32_t shards;
};

class Synchronous : public testing::TestWithParam<Case> {};

// N replicas of batch B are one replica of batch N * B, also in the small steps at the ends of epochs.
TEST_P(Synchronous, EqualsOneReplicaOfTheWholeBatch) {
  const auto trained = train_toy({options_for(GetParam().strategy, 4, GetParam().shards)});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_EQ(trained->summary.samples, 3 * kRunSamples);
  const auto reference = plain_loop(1, 3, 20, 0.1f);
  for (const auto& values : trained->values) expect_close(values, reference);
}

TEST_P(Synchronous, GivesTheSameBitsAgain) {
  auto options = options_for(GetParam().strategy, 3, GetParam().shards);
  options.deterministic = true;
  const auto first = train_toy({options}), second = train_toy({options});
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->values, second->values);
  EXPECT_EQ(first->values[0], first->values[1]);
}

// As torch::nn::utils::clip_grad_norm_ of the mean gradient.
TEST_P(Synchronous, ClipsTheMeanByItsGlobalNorm) {
  auto options = options_for(GetParam().strategy, 2, GetParam().shards);
  options.steps = 1;
  options.clip_norm = 0.5;
  const auto trained = train_toy({options});
  ASSERT_TRUE(trained) << trained.error().message;
  double squares = 0;
  for (const auto& slot : trained->values[0])
    for (auto value : slot) squares += static_cast<double>(value) * value;  // it started at 0
  EXPECT_NEAR(std::sqrt(squares), 0.1 * 0.5, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Strategies, Synchronous,
                         testing::Values(Case{Strategy::sync, 1}, Case{Strategy::sync, 3}, Case{Strategy::mirrored, 1}),
                         [](const auto& it) {
                           return (it.param.strategy == Strategy::sync ? "sync" : "mirrored") +
                                  std::to_string(it.param.shards);
                         });

TEST(Mirrored, ReplicasAreBitIdenticalAtEveryStep) {
  auto options = options_for(Strategy::mirrored, 4);
  std::mutex mutex;
  std::map<std::uint64_t, std::vector<std::vector<std::vector<float>>>> at_step;
  const auto summary = run_job(options, [&](Replica& replica) {
    auto model = std::make_shared<ToyModel>(static_cast<float>(replica.id()), Adam{});
    auto& session = replica.open(model->layout(), model->places(), model, true);
    for (const auto& batch : replica.samples(kRunSamples, 5)) {
      {
        const std::lock_guard lock(mutex);
        at_step[session.assignment().step].push_back(model->values());
      }
      model->compute(batch, session.exchange());
      session.step().or_throw();
    }
  });
  ASSERT_TRUE(summary) << summary.error().message;
  ASSERT_EQ(at_step.size(), 18u);  // 3 epochs of 6 steps: 5 of 20 samples, 1 of the last one
  for (const auto& [step, values] : at_step)
    for (const auto& one : values) EXPECT_EQ(one, values.front()) << "step " << step;
}

TEST(Sync, CountsEverySampleOnceThoughOneIsSlowAndOneDies) {
  auto options = options_for(Strategy::sync, 5, 2);
  options.spares = 2;
  options.epochs = 5;
  std::atomic<int> computed{0};
  const auto trained = train_toy({.options = options, .before = [&](std::uint32_t replica, std::uint64_t step) {
                                    ++computed;
                                    if (replica == 3 && step >= 7) throw std::runtime_error("a planned death");
                                    // Slow without a clock: it gives way until others have got ahead.
                                    if (replica == 0)
                                      for (int others = computed; computed < others + 8 && step < 15;)
                                        std::this_thread::yield();
                                    return false;
                                  }});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_EQ(trained->summary.samples, 5 * kRunSamples);
  EXPECT_EQ(trained->summary.replicas[3].lost, "a planned death");
  EXPECT_GT(trained->summary.replicas[0].dropped, 0u);
  EXPECT_EQ(trained->summary.assigned, trained->summary.applied + trained->summary.dropped + trained->summary.refused);
}

TEST(Sync, RefusesAGradientThatIsNotFiniteAndGoesOn) {
  auto options = options_for(Strategy::sync, 3, 2);
  const auto trained = train_toy({.options = options, .before = [](std::uint32_t replica, std::uint64_t step) {
                                    return replica == 1 && step == 4;
                                  }});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_GE(trained->summary.replicas[1].refused, 1u);
  EXPECT_EQ(trained->summary.samples, 3 * kRunSamples);
  for (auto value : trained->values[0][1]) EXPECT_TRUE(std::isfinite(value));
}

TEST(Sync, StrikesOffAReplicaThatKeepsSendingNonsense) {
  const auto trained = train_toy({.options = options_for(Strategy::sync, 3, 2),
                                  .before = [](std::uint32_t replica, std::uint64_t) { return replica == 2; }});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_NE(trained->summary.replicas[2].lost.find("struck off after 3 refused gradients"), std::string::npos)
      << trained->summary.replicas[2].lost;
  EXPECT_EQ(trained->summary.samples, 3 * kRunSamples);
}

TEST(Sync, EndsWhenNobodyIsLeftAndSaysWhy) {
  const auto trained =
      train_toy({.options = options_for(Strategy::sync, 2), .before = [](auto, std::uint64_t step) -> bool {
                   if (step == 2) throw std::runtime_error("out of paper");
                   return false;
                 }});
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().code, Code::peer_down);
  EXPECT_NE(trained.error().message.find("replica 1: out of paper"), std::string::npos) << trained.error().message;
}

// A replica that never got as far as attaching is lost like any other, and nobody waits for it.
TEST(Sync, GoesOnWithoutAReplicaThatNeverAttached) {
  for (auto strategy : {Strategy::sync, Strategy::mirrored, Strategy::async}) {
    auto options = options_for(strategy, 3);
    const auto summary = run_job(options, [&](Replica& replica) {
      if (replica.id() == 2) throw std::runtime_error("no data on this machine");
      auto model = std::make_shared<ToyModel>();
      auto& session = replica.open(model->layout(), model->places(), model, true);
      for (const auto& batch : replica.samples(kRunSamples, 5)) {
        model->compute(batch, session.exchange());
        session.step().or_throw();
      }
    });
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_EQ(summary->samples, 3 * kRunSamples);
    EXPECT_EQ(summary->replicas[2].lost, "no data on this machine");
  }
}

TEST(Sync, SaysThatTheChiefWasLostBeforeItBegan) {
  const auto summary = run_job(options_for(Strategy::sync, 2), [&](Replica& replica) {
    if (replica.chief()) throw std::runtime_error("no data on this machine");
    auto model = std::make_shared<ToyModel>();
    replica.open(model->layout(), model->places(), model, true);
  });
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("the chief, was lost"), std::string::npos) << summary.error().message;
}

// All of them, also the one that hangs: it is not what is left when the others have had enough.
TEST(Sync, EndsForAllAtTheDeadlineAndNamesWhoIsWaitedFor) {
  auto options = options_for(Strategy::sync, 3);
  options.deadline = std::chrono::seconds(2);  // long enough for a start, also on a machine that is busy
  std::latch pushed{2};                        // by those that do not hang, before any of them waits
  std::atomic<int> others{2};
  std::atomic<bool> went_on{false};
  const auto summary = run_job(options, [&](Replica& replica) {
    auto model = std::make_shared<ToyModel>();
    auto& session = replica.open(model->layout(), model->places(), model, false);
    auto samples = replica.samples(kRunSamples, 5);
    const bool hangs = replica.id() == 1;
    if (hangs)
      while (!session.exchange().abandoned() && others > 0) std::this_thread::yield();
    model->compute(*samples.begin(), session.exchange());
    if (!hangs) pushed.arrive_and_wait();
    const auto outcome = session.step();
    if (outcome.ok()) went_on = true;
    if (!hangs) --others;
    if (!outcome) throw Exception(outcome.error());
  });
  EXPECT_FALSE(went_on);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("training ended at step 0: the job hangs: "), std::string::npos)
      << summary.error().message;
  EXPECT_NE(summary.error().message.find("waiting for replica 1 (step 0)"), std::string::npos)
      << summary.error().message;
}

TEST(Sync, EndsForAllWhenTheChiefDoesNotAttachInTime) {
  auto options = options_for(Strategy::sync, 2);
  options.deadline = std::chrono::milliseconds(50);
  std::atomic<bool> other_left{false};
  const auto summary = run_job(options, [&](Replica& replica) {
    auto model = std::make_shared<ToyModel>();
    while (replica.chief() && !other_left) std::this_thread::yield();
    try {
      replica.open(model->layout(), model->places(), model, false);
    } catch (...) {
      other_left = true;
      throw;
    }
  });
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("the chief, has not attached network 0 within 0.1 s"), std::string::npos)
      << summary.error().message;
}

TEST(Warmup, OnlyOneReplicaWorksAtFirstAndTheOthersJoinFromItsParameters) {
  for (auto strategy : {Strategy::sync, Strategy::async, Strategy::mirrored}) {
    auto options = options_for(strategy, 3);
    options.warmup_epochs = 1;
    std::mutex mutex;
    std::map<std::uint32_t, std::uint64_t> first_step;
    const auto trained = train_toy({.options = options, .before = [&](std::uint32_t replica, std::uint64_t step) {
                                      const std::lock_guard lock(mutex);
                                      first_step.try_emplace(replica, step);
                                      return false;
                                    }});
    ASSERT_TRUE(trained) << trained.error().message;
    EXPECT_EQ(trained->broken, std::vector<std::string>{});
    EXPECT_EQ(first_step.at(0), 0u);
    for (const auto& [replica, step] : first_step)
      EXPECT_GE(step, replica == 0 ? 0u : 21u) << "replica " << replica;  // 101 samples in batches of 5
  }
}

// --- asynchronous ---

TEST(Async, OneReplicaIsAPlainLoop) {
  for (double compensation : {0.0, 0.5}) {  // of a delay that there is not
    auto options = options_for(Strategy::async, 1, 3);
    options.stale.delay_compensation = compensation;
    options.optimizer_state = OptimizerState::per_replica;
    const auto trained = train_toy({options});
    ASSERT_TRUE(trained) << trained.error().message;
    EXPECT_EQ(trained->broken, std::vector<std::string>{});
    expect_close(trained->values[0], plain_loop(1, 3, 5, 0.1f));
  }
}

struct AsyncCase {
  const char* name;
  StaleOptions stale;
  OptimizerState state = OptimizerState::shared;
};

class Asynchronous : public testing::TestWithParam<AsyncCase> {};

// Eight threads as fast as they can; what may happen is judged by the checker.
TEST_P(Asynchronous, KeepsEveryPromise) {
  auto options = options_for(Strategy::async, 8, 2);
  options.epochs = 6;
  options.stale = GetParam().stale;
  options.optimizer_state = GetParam().state;
  options.compute_at_once = 8;
  const auto trained = train_toy({options, 2, SGD{.lr = 0.02, .momentum = 0.5}});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_EQ(trained->summary.samples, 6 * kRunSamples);
  EXPECT_EQ(trained->summary.assigned, trained->summary.applied + trained->summary.dropped);
  EXPECT_LE(trained->summary.staleness.size(), GetParam().stale.max_staleness.value_or(1000) + 1);
  for (const auto& slot : trained->values[0])
    for (auto value : slot) ASSERT_TRUE(std::isfinite(value));
}

INSTANTIATE_TEST_SUITE_P(
    Policies, Asynchronous,
    testing::Values(AsyncCase{"apply", {}}, AsyncCase{"drop", {.max_staleness = 2}},
                    AsyncCase{"inverse", {.policy = Stale::scale_inverse}},
                    AsyncCase{"exponential", {.policy = Stale::scale_exponential, .strength = 0.3}},
                    AsyncCase{"linear", {.policy = Stale::scale_linear, .strength = 0.2}},
                    AsyncCase{"lead", {.max_lead = 1}}, AsyncCase{"compensated", {.delay_compensation = 0.1}},
                    AsyncCase{"own_state", {}, OptimizerState::per_replica}),
    [](const auto& it) { return it.param.name; });

TEST(Batches, FollowTheirSchedule) {
  auto options = options_for(Strategy::async, 1);
  options.batch_schedule = {{0, 10}, {1, 50}, {2, 101}};
  const auto trained = train_toy({options});
  ASSERT_TRUE(trained) << trained.error().message;
  EXPECT_EQ(trained->broken, std::vector<std::string>{});
  EXPECT_EQ(trained->summary.steps, 11u + 3u + 1u);
}

// --- mistakes ---

TEST(Mistakes, AreNamed) {
  const auto message = [](Options options) {
    const auto summary = run_job(options, [](Replica&) {});
    return summary.ok() ? std::string("ok") : summary.error().message;
  };
  auto spares = options_for(Strategy::mirrored, 4);
  spares.spares = 1;
  EXPECT_NE(message(spares).find("use --strategy sync"), std::string::npos);
  auto many = options_for(Strategy::sync, 2);
  many.spares = 2;
  EXPECT_NE(message(many).find("use at most 1"), std::string::npos);
  auto chance = options_for(Strategy::async, 2);
  chance.deterministic = true;
  EXPECT_NE(message(chance).find("use --strategy sync"), std::string::npos);
  auto nobody = options_for(Strategy::sync, 2);
  nobody.slow[5] = 2;
  EXPECT_NE(message(nobody).find("replica 5, but there are only 2"), std::string::npos);
}

TEST(Mistakes, NetworksThatDifferAreRefusedByName) {
  const auto summary = run_job(options_for(Strategy::sync, 2), [](Replica& replica) {
    ToyModel model;
    auto layout = model.layout();
    if (replica.id() == 1) layout.slots[1].shape = {8};
    auto values = std::make_shared<std::vector<float>>(8);
    auto places = model.places();
    if (replica.id() == 1) places[1] = *values;
    replica.open(layout, places, values, true);
    throw std::runtime_error("no difference was seen");
  });
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("slot1 is [7] there, [8] here"), std::string::npos) << summary.error().message;
}

}  // namespace
}  // namespace yoke
