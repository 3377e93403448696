// Small histories written by hand, for the tests of the rules: good ones, to be broken in one place.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "history/checker.h"

namespace yoke::history {

using wire::Fate;
using wire::GradientId;

// Replica r, its life l, its gradient s.
inline GradientId gradient(std::uint32_t r, std::uint64_t s = 1, std::uint64_t l = 1) { return {{r, l}, s}; }

// Two shards with a block each (block = shard), two samples a range.
struct Story {
  std::vector<Event> events;
  Terms terms;
  wire::Ticket next_ticket = 1;
  std::uint64_t next_record = 0;
  std::map<std::pair<GradientId, wire::BlockId>, wire::Ticket> tickets;

  explicit Story(bool async = false) {
    terms.options.replicas = 2;
    terms.options.shards = 2;
    terms.options.async = async;
    terms.shard_blocks = {1, 1};
    terms.samples = 4;
    terms.batch = 2;
  }
  template <class T>
  T& add(T what) {
    events.push_back({Time(events.size()), std::move(what)});
    return std::get<T>(events.back().what);
  }
  void join(std::uint32_t replica, std::uint64_t life = 1) { add(Joined{{replica, life}}); }
  void assign(GradientId id, wire::Version step, std::uint64_t begin) {
    add(Assigned{{id, step, wire::Range{0, begin, begin + 2}}});
  }
  void work(GradientId id, wire::Version version, bool ok = true) {
    for (wire::ShardId shard = 0; shard < 2; ++shard) add(Installed{id, shard, version});
    for (wire::BlockId block = 0; block < 2; ++block) {
      tickets[{id, block}] = next_ticket;
      add(Examined{next_ticket++, id, block, ok});
    }
  }
  wire::Contribution part(GradientId id, wire::Version base, wire::Version step, double weight, std::uint64_t begin) {
    return {id, base, step - base, 2, weight, wire::Range{0, begin, begin + 2}};
  }
  wire::Record& decide(wire::Version step, std::vector<wire::Contribution> applied,
                       std::vector<wire::Verdict> turned_away = {}) {
    const auto quorum = static_cast<std::uint32_t>(applied.size());
    wire::Record record{next_record++, step, std::move(applied), std::move(turned_away), quorum};
    return add(Decided{record}).record;
  }
  void make(wire::Version version, const std::vector<std::pair<GradientId, double>>& of) {
    for (wire::ShardId shard = 0; shard < 2; ++shard) {
      Made made{shard, shard, version};
      for (const auto& [id, weight] : of) made.used.push_back({tickets.at({id, shard}), id, weight});
      add(std::move(made));
    }
  }
  void show(wire::Version version) {
    add(Committed{version});
    for (wire::ShardId shard = 0; shard < 2; ++shard) add(Published{shard, version});
  }
  void tell(GradientId id, Fate fate, wire::Version version, std::uint64_t staleness = 0) {
    add(Told{{id, fate, version, staleness, ""}});
  }
  template <class T>
  T& find(std::size_t nth = 0) {
    for (auto& event : events)
      if (auto* what = std::get_if<T>(&event.what); what && nth-- == 0) return *what;
    throw std::out_of_range("no such event");
  }
  template <class T>
  void erase(std::size_t nth = 0) {
    const auto* what = &find<T>(nth);
    std::erase_if(events, [&](const auto& event) { return std::get_if<T>(&event.what) == what; });
  }
  std::vector<std::string> check() const {
    std::vector<Event> all{{Time(0), terms}};
    all.insert(all.end(), events.begin(), events.end());
    return history::check(all);
  }
};

// One synchronous step of two replicas, and training is over.
inline Story sync_story() {
  Story s;
  const auto a = gradient(0), b = gradient(1);
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.assign(b, 0, 2);
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 0.5, 0), s.part(b, 0, 0, 0.5, 2)});
  s.make(1, {{a, 0.5}, {b, 0.5}});
  s.show(1);
  s.tell(a, Fate::applied, 1);
  s.tell(b, Fate::applied, 1);
  s.add(Finished{1});
  return s;
}

// Two replicas, asynchronous: the second gradient is one version stale.
inline Story async_story() {
  Story s(true);
  const auto a = gradient(0), b = gradient(1);
  s.terms.options.stale.max_staleness = 1;
  s.join(0);
  s.join(1);
  s.assign(a, 0, 0);
  s.assign(b, 0, 2);
  s.work(a, 0);
  s.work(b, 0);
  s.decide(0, {s.part(a, 0, 0, 1, 0)});
  s.decide(1, {s.part(b, 0, 1, 1, 2)});
  s.make(1, {{a, 1}});
  s.show(1);
  s.tell(a, Fate::applied, 1);
  s.make(2, {{b, 1}});
  s.show(2);
  s.tell(b, Fate::applied, 2, 1);
  s.add(Finished{2});
  return s;
}

inline void expect_clean(const Story& story) {
  for (const auto& finding : story.check()) ADD_FAILURE() << finding;
}

inline void expect_found(const Story& story, std::string_view text) {
  const auto findings = story.check();
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(),
                          [&](const auto& finding) { return finding.find(text) != std::string::npos; }))
      << "expected: " << text << (findings.empty() ? ", found nothing" : ", found: " + findings.front());
}

}  // namespace yoke::history
