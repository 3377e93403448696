// Many jobs on one set of servers, each in its container.
#include <gtest/gtest.h>

#include <latch>

#include "cluster/keeper.h"
#include "train/members_fixture.h"

namespace yoke::train {
namespace {

Options in_container(const std::string& name, std::uint64_t seed = 1, std::uint32_t replicas = 2) {
  auto options = options_for(Strategy::sync, replicas, 1);
  options.processes.container = name;
  options.processes.about = {{"model", name}};
  options.seed = seed;
  return options;
}

// Runs a job to its end; the chief's values.
Values run_in(const Options& options, const std::string& join) {
  Ends ends;
  run_members(
      options, join, [&](Replica& replica) { train_toy(replica, ends); }, ends);
  for (const auto& [id, summary] : ends.summaries) EXPECT_TRUE(summary) << summary.error().message;
  return ends.values[0];
}

std::string refusal_of(const Options& options, const std::string& join, const std::function<void(Replica&)>& body) {
  Ends ends;
  run_members(options, join, body, ends);
  const auto& end = ends.summaries.at(0);
  return end ? "" : end.error().message;
}

Values snapshot_of(const std::string& name, const std::string& at) {
  return cluster::take_snapshot({.at = at, .container = name}).or_throw().at(0).values;
}

// Between the last client's farewell and the job's end there is a moment.
wire::ContainerAccount when_idle(const std::string& name, const std::string& at) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    for (auto& container : cluster::list_containers({.at = at}).or_throw())
      if (container.name == name && !container.running) return container;
    if (std::chrono::steady_clock::now() > give_up) throw Exception({Code::timed_out, name + " is not idle"});
    std::this_thread::yield();
  }
}

class ContainersOver : public testing::TestWithParam<const char*> {};

TEST_P(ContainersOver, two_jobs_at_once_end_with_the_bits_of_each_alone) {
  for (const std::uint32_t shards : {1, 2}) {
    Servers servers(GetParam(), shards, false, cluster::Lodging{});
    const auto a = in_container("a", 1), b = in_container("b", 2);
    Values values_a, values_b;
    {
      std::jthread first([&] { values_a = run_in(a, servers.join()); });
      std::jthread second([&] { values_b = run_in(b, servers.join()); });
    }
    EXPECT_EQ(values_a, in_one_process(a));
    EXPECT_EQ(values_b, in_one_process(b));
    EXPECT_NE(values_a, values_b);
    EXPECT_EQ(snapshot_of("a", servers.join()), values_a);
    EXPECT_EQ(snapshot_of("b", servers.join()), values_b);
  }
}
INSTANTIATE_TEST_SUITE_P(Transport, ContainersOver, testing::Values("shm", "unix", "tcp"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Containers, keep_what_was_trained_and_the_next_client_goes_on_from_there) {
  Servers servers("shm", 2, false, cluster::Lodging{});
  const auto options = in_container("kept");
  const auto first = run_in(options, servers.join());
  const auto container = when_idle("kept", servers.join());
  EXPECT_EQ(container.version, 16u);  // 64 samples, 2 replicas of 4, 2 epochs
  EXPECT_EQ(container.values, 40'008u);
  EXPECT_EQ(container.clients, 0u);
  const auto snapshot = cluster::take_snapshot({.at = servers.join(), .container = "kept"}).or_throw().at(0);
  EXPECT_EQ(snapshot.version, 16u);
  EXPECT_EQ(snapshot.about, (wire::About{{"model", "kept"}}));
  EXPECT_EQ(snapshot.values, first);

  Ends ends;
  const auto body = [&](Replica& replica) {
    ToyModel model(77);  // the container's values count, not these
    replica.open(model.layout(), model.places(), nullptr, false);
    const std::lock_guard lock(ends.mutex);
    ends.values[replica.id()] = model.values();
  };
  run_members(options, servers.join(), body, ends);
  EXPECT_EQ(ends.values.at(0), first);
  EXPECT_EQ(ends.values.at(1), first);
  // Somebody who looked, and made no step, changes nothing.
  EXPECT_EQ(when_idle("kept", servers.join()).version, 16u);
  run_in(options, servers.join());
  EXPECT_EQ(when_idle("kept", servers.join()).version, 32u);
}

TEST(Containers, another_model_is_told_the_difference_and_changes_nothing) {
  Servers servers("shm", 1, false, cluster::Lodging{});
  const auto values = run_in(in_container("mine"), servers.join());
  when_idle("mine", servers.join());
  const auto why = refusal_of(in_container("mine"), servers.join(), [](Replica& replica) {
    Layout layout{{{"weight", {5}, 0}}, {SGD{}}};
    std::vector<float> places(5);
    replica.open(layout, {std::span(places)}, nullptr, false);
  });
  EXPECT_NE(why.find("container mine has another model: 3 parameters there, 1 here"), std::string::npos) << why;
  EXPECT_EQ(snapshot_of("mine", servers.join()), values);
}

TEST(Containers, one_more_replica_joins_a_job_until_it_is_full) {
  Servers servers("shm", 1, false, cluster::Lodging{});
  auto options = in_container("shared");
  options.processes.join = servers.join();
  Ends ends;
  std::latch both{2};
  std::string full;
  const auto client = [&](std::uint32_t i) {
    auto summary = run_job(options, [&](Replica& replica) {
      both.arrive_and_wait();
      // Both seats are taken, and nobody leaves before the third has asked.
      if (replica.id() == 0) {
        auto third = options;
        third.processes.replica = 1;
        full = run_job(third, [](Replica&) {}).error().message;
      }
      train_toy(replica, ends);
    });
    const std::lock_guard lock(ends.mutex);
    ends.summaries.emplace(i, std::move(summary));
  };
  {
    std::jthread first([&] { client(0); });
    std::jthread second([&] { client(1); });
  }
  for (const auto& [i, end] : ends.summaries) EXPECT_TRUE(end) << end.error().message;
  EXPECT_EQ(ends.values.at(0), ends.values.at(1));
  EXPECT_NE(full.find("a run is going on in container shared"), std::string::npos) << full;
}

TEST(Containers, memory_is_refused_with_the_figures_before_it_is_taken) {
  // Of the toy model's 40,008 values one version takes 160 kB.
  Servers servers("shm", 1, false, cluster::Lodging{.container_memory = 1'500'000, .memory = 1'800'000});
  const auto toy = [](Replica& replica) {
    ToyModel model;
    replica.open(model.layout(), model.places(), nullptr, false);
  };
  const auto large = refusal_of(in_container("large", 1, 4), servers.join(), toy);
  EXPECT_NE(large.find("--container-memory"), std::string::npos) << large;
  EXPECT_NE(large.find("1.4 MiB"), std::string::npos) << large;
  for (const auto* name : {"a", "b", "c", "d", "e"}) {
    run_in(in_container(name), servers.join());
    when_idle(name, servers.join());
  }
  const auto many = refusal_of(in_container("f", 1, 3), servers.join(), toy);
  EXPECT_NE(many.find("--memory"), std::string::npos) << many;
}

TEST(Containers, are_removed_also_while_somebody_is_there) {
  Servers servers("unix", 2, false, cluster::Lodging{});
  const auto at = servers.join();
  const cluster::KeeperOptions keeper{.at = at, .container = "gone"};
  run_in(in_container("gone"), at);
  when_idle("gone", at);
  EXPECT_TRUE(cluster::give_order(keeper, wire::Order::Kind::remove));
  const auto again = cluster::give_order(keeper, wire::Order::Kind::remove);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("there is no container gone"), std::string::npos);

  Status refused = Error{}, forced = Error{};
  const auto why = refusal_of(in_container("gone", 1, 1), at, [&](Replica& replica) {
    ToyModel model;
    auto& session = replica.open(model.layout(), model.places(), nullptr, false);
    for (const auto& samples : replica.samples(kSamples, 4)) {
      model.compute(samples, session.exchange());
      session.step().or_throw();
      if (forced) continue;
      refused = cluster::give_order(keeper, wire::Order::Kind::remove);
      forced = cluster::give_order(keeper, wire::Order::Kind::remove, true);
    }
  });
  EXPECT_NE(refused.error().message.find("has 1 client"), std::string::npos) << refused.error().message;
  EXPECT_TRUE(forced);
  EXPECT_NE(why.find("the container was removed"), std::string::npos) << why;
  EXPECT_TRUE(cluster::list_containers({.at = at}).or_throw().empty());
}

TEST(Containers, outlive_the_servers_where_they_are_saved) {
  const ScratchFolder state;
  const cluster::Lodging lodging{.state = state.path()};
  Values values;
  {
    Servers servers("shm", 2, false, lodging);
    values = run_in(in_container("week"), servers.join());
    when_idle("week", servers.join());
    EXPECT_TRUE(cluster::give_order({.at = servers.join(), .container = "week"}, wire::Order::Kind::save));
    run_in(in_container("end"), servers.join());
    servers.stop();
    for (std::uint32_t i = 0; i < 2; ++i) EXPECT_TRUE(servers.ended(i));
  }
  // One is damaged: it is left alone, and the others are there.
  {
    std::filesystem::copy_file(state.path() + "/week.0of2.container", state.path() + "/bad.0of2.container");
    Servers servers("shm", 2, false, lodging);
    EXPECT_EQ(cluster::list_containers({.at = servers.join()}).or_throw().size(), 2u);
    run_in(in_container("end"), servers.join());  // which takes both servers: the second may still be on its way
    EXPECT_EQ(snapshot_of("week", servers.join()), values);
    EXPECT_EQ(when_idle("week", servers.join()).saved, 16u);
    // The optimizer goes on as well: the same bits as without the restart.
    Servers without("shm", 2, false, cluster::Lodging{});
    run_in(in_container("week"), without.join());
    when_idle("week", without.join());
    EXPECT_EQ(run_in(in_container("week"), servers.join()), run_in(in_container("week"), without.join()));
  }
  EXPECT_TRUE(std::filesystem::exists(state.path() + "/bad.0of2.container"));
}

TEST(Containers, only_keepers_give_orders_and_servers_of_one_job_have_none) {
  Servers one("shm", 1);
  const auto listed = cluster::list_containers({.at = one.join()});
  ASSERT_FALSE(listed);
  EXPECT_NE(listed.error().message.find("has no containers"), std::string::npos) << listed.error().message;
  const auto named = refusal_of(in_container("x", 1, 1), one.join(), [](Replica&) {});
  EXPECT_NE(named.find("leave out --container"), std::string::npos) << named;

  Servers many("shm", 1, false, cluster::Lodging{.most = 1});
  auto nameless = in_container("", 1, 1);
  EXPECT_NE(refusal_of(nameless, many.join(), [](Replica&) {}).find("--container NAME"), std::string::npos);
  run_in(in_container("x"), many.join());
  when_idle("x", many.join());
  const auto full = refusal_of(in_container("y", 1, 1), many.join(), [](Replica&) {});
  EXPECT_NE(full.find("as many as may be"), std::string::npos) << full;
  EXPECT_EQ(cluster::list_containers({.at = many.join(), .container = "x", .keeper_of = "x"}).or_throw().size(), 1u);
  const auto stopped = cluster::give_order({.at = many.join(), .keeper_of = "x"}, wire::Order::Kind::stop);
  ASSERT_FALSE(stopped);
}

}  // namespace
}  // namespace yoke::train
