// A coordinator driven by hand, for the tests of what it decides.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/coordinator.h"

namespace yoke::core::coordinating {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Attend;
using wire::Holding;
using wire::Host;
using wire::Incarnation;
using wire::ServerView;
using wire::ShardId;
using wire::Standing;
using wire::Version;

using Lives = std::set<Incarnation>;

inline Host host(Incarnation life) { return {life, "place " + std::to_string(life)}; }

inline Standing standing_of(Version version) { return {.version = version, .samples = 100 + version}; }

// A slice of the first of the networks, of two shards.
inline Holding slice(ShardId shard, Version version, std::uint64_t view = 1) {
  return {view, 0, shard, 2, version, standing_of(version)};
}

// Primary, backup, and a star where that is filled: "1+3 2+4*".
inline std::string seats(const ServerView& view) {
  std::string text;
  for (const auto& shard : view.shards) {
    text += (text.empty() ? "" : " ") + std::to_string(shard.primary.life);
    if (shard.backup) text += "+" + std::to_string(shard.backup->life) + (shard.filled ? "*" : "");
    EXPECT_EQ(shard.primary, host(shard.primary.life));
    EXPECT_EQ(shard.backup.value_or(host(0)), host(shard.backup.value_or(host(0)).life));
  }
  return text;
}

inline CoordinatorOptions two_shards(std::uint32_t backups = 1) {
  return {.shards = 2, .backups = backups, .patience = milliseconds(1500), .gathering = seconds(5)};
}

struct Bench {
  explicit Bench(CoordinatorOptions options = two_shards(), std::optional<ServerView> stored = {})
      : coordinator(std::move(options), std::move(stored)) {}

  void on(const CoordinatorEvent& event) {
    if (const auto* attended = std::get_if<Attended>(&event)) connected.insert(attended->host.life);
    if (const auto* departed = std::get_if<Departed>(&event)) connected.erase(departed->life);
    out.clear();
    coordinator.on(event, now, out);
  }
  void attend(Incarnation life, Attend said = {}) { on(Attended{host(life), std::move(said)}); }
  void serve(Incarnation life, const ServerView& view) { attend(life, {.serves = view}); }
  void serve(Incarnation life) { serve(life, view()); }
  void lay_down(Incarnation life, std::vector<Holding> holdings, std::uint64_t number = 1, std::uint64_t revision = 0) {
    attend(life, {.laid_down = number,
                  .laid_revision = revision,
                  .holdings = std::move(holdings),
                  .why = "server " + std::to_string(life) + " has laid it down"});
  }
  void die(Incarnation life) { on(Departed{life, true, "server " + std::to_string(life) + " is dead"}); }
  void vanish(Incarnation life) { on(Departed{life, false, "its connection is gone"}); }
  void lose(Incarnation primary, ShardId shard, Incarnation backup, std::uint64_t since = 0, std::uint64_t number = 1) {
    on(BackupSaid{primary, {number, shard, backup, since, "its connection is gone"}});
  }
  void stored() { on(Stored{}); }
  void pass(Duration duration) {
    now += duration;
    on(Tick{});
  }

  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& effect : out)
      if (const auto* e = std::get_if<T>(&effect)) found.push_back(*e);
    return found;
  }
  bool decides() const { return !all<Store>().empty(); }
  // The view that is to be stored, and is the only one.
  ServerView decided() const {
    const auto stores = all<Store>();
    EXPECT_EQ(stores.size(), 1u);
    return stores.empty() ? ServerView{} : stores[0].view;
  }
  // Who hears of the view that stands.
  Lives told() const {
    Lives lives;
    for (const auto& tell : all<TellView>()) {
      if (!connected.contains(tell.to)) continue;
      EXPECT_TRUE(lives.insert(tell.to).second) << "twice";
      EXPECT_EQ(tell.view, view());
    }
    return lives;
  }
  // Who is to lay this view down.
  Lives recalled(std::uint64_t number = 1) const {
    Lives lives;
    for (const auto& tell : all<TellRecall>()) {
      EXPECT_TRUE(lives.insert(tell.to).second) << "twice";
      EXPECT_EQ(tell.recall.view, number);
      EXPECT_FALSE(tell.recall.why.empty());
    }
    return lives;
  }
  Lives probed() const {
    Lives lives;
    for (const auto& probe : all<Probe>()) {
      lives.insert(probe.host.life);
      EXPECT_EQ(probe.host, host(probe.host.life));
    }
    return lives;
  }
  // Nobody hears of anything, and nothing is to be done. What a person reads does not count.
  bool quiet() const { return out.size() == all<CoordinatorSays>().size(); }
  ServerView view() const { return coordinator.view().value_or(ServerView{}); }

  Coordinator coordinator;
  Lives connected;
  Time now = seconds(100);
  CoordinatorEffects out;
};

// The first view of two shards with backups stands: "1+3 2+4", and servers up to `last` are idle.
inline Bench first_view(Incarnation last = 4) {
  Bench b;
  for (Incarnation life = 1; life <= 4; ++life) b.attend(life);
  b.stored();
  for (Incarnation life = 5; life <= last; ++life) b.attend(life);
  EXPECT_EQ(seats(b.view()), "1+3 2+4");
  return b;
}

// The same without backups: "1 2".
inline Bench first_view_without_backups(Incarnation last = 2) {
  Bench b(two_shards(0));
  for (Incarnation life = 1; life <= 2; ++life) b.attend(life);
  b.stored();
  for (Incarnation life = 3; life <= last; ++life) b.attend(life);
  EXPECT_EQ(seats(b.view()), "1 2");
  return b;
}

// And the first primary is dead, its backup was filled: "3+5 2+4*", at version 5. Decided, not stored.
inline Bench second_view_pending() {
  auto b = first_view(5);
  b.die(1);
  b.lay_down(2, {slice(1, 5)});
  b.lay_down(3, {slice(0, 5)});
  b.lay_down(4, {slice(1, 5)});
  EXPECT_EQ(seats(b.decided()), "3+5 2+4*");
  return b;
}

inline Bench second_view() {
  auto b = second_view_pending();
  b.stored();
  EXPECT_EQ(b.view().number, 2u);
  return b;
}

// As a coordinator before has stored it.
inline ServerView stored_view(std::uint64_t number = 1, std::uint64_t revision = 0) {
  ServerView view{.number = number, .revision = revision, .from = number - 1};
  view.shards = {{host(1), host(3)}, {host(2), host(4)}};
  return view;
}

}  // namespace yoke::core::coordinating
