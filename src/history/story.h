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
  void assign(GradientId id, wire::Version step, std::uint64_t begin, std::uint64_t counted = 0) {
    add(Assigned{{id, step, wire::Range{0, begin, begin + 2}, counted}});
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
  // Replicas 0 and 1, in their life `life`, make the next version of the four samples from `begin` on.
  void step_of_two(wire::Version step, std::uint64_t begin, std::uint64_t sequence, std::uint64_t life) {
    const auto a = gradient(0, sequence, life), b = gradient(1, sequence, life);
    assign(a, step, begin, begin);
    assign(b, step, begin + 2, begin);
    work(a, step);
    work(b, step);
    decide(step, {part(a, step, step, 0.5, begin), part(b, step, step, 0.5, begin + 2)});
    make(step + 1, {{a, 0.5}, {b, 0.5}});
    show(step + 1);
  }
  void mark(std::uint64_t token, wire::Version version) { decide(version, {}).mark = token; }
  void capture(std::uint64_t token, wire::Version version) {
    for (wire::ShardId shard = 0; shard < 2; ++shard) add(Captured{shard, token, version});
  }
  Resumed& resume(core::Standing standing) {
    next_record = 0;
    return add(Resumed{std::move(standing)});
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

// Where the checkpoint of version 1 in the next story stands.
inline core::Standing standing_at_1() { return {1, 8, 2, core::LedgerStanding{0, 4, {}, {{0, 4}}, 0}, 4, 0}; }

// Two synchronous steps with a checkpoint between them; the job is lost in the second, and goes on.
inline Story lost_story() {
  Story s;
  s.terms.samples = 8;
  s.join(0);
  s.join(1);
  s.step_of_two(0, 0, 1, 1);
  s.mark(7, 1);
  s.assign(gradient(0, 2), 1, 4, 4);
  s.capture(7, 1);
  s.add(Announced{7, 1});
  s.resume(standing_at_1());
  s.join(0, 2);
  s.join(1, 2);
  s.step_of_two(1, 4, 1, 2);
  s.add(Finished{2});
  return s;
}

// Two synchronous steps of a mirrored job; the second is decided and made when one is lost, and the others go on from
// there: two shards, as before, in other hands.
inline Story formed_story() {
  Story s;
  s.terms.samples = 12;
  s.terms.options.everybody = true;
  const core::Standing at_1{1, 12, 2, core::LedgerStanding{0, 4, {}, {{0, 4}}, 0}, 4, 0};
  const core::Standing at_2{2, 12, 2, core::LedgerStanding{0, 8, {}, {{0, 8}}, 0}, 8, 0};
  s.join(0);
  s.join(1);
  s.step_of_two(0, 0, 1, 1);
  s.step_of_two(1, 4, 2, 1);
  s.erase<Committed>(1);
  s.erase<Published>(2);
  s.erase<Published>(2);
  s.find<Decided>(0).record.standing = at_1;
  s.find<Decided>(1).record.standing = at_2;
  auto& formed = s.resume(at_2);
  formed.formed = true;
  formed.terms = s.terms;
  s.join(0, 2);
  s.join(1, 2);
  s.step_of_two(2, 8, 1, 2);
  s.add(Finished{3});
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
