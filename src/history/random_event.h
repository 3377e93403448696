// For tests: events with random contents, and whether two are the same to the last bit. It has its own list of what
// there is, apart from event_fields.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "history/event.h"

namespace yoke::history {

// How many fields a struct has.
template <class T>
inline constexpr int kFields = 0;
template <>
inline constexpr int kFields<wire::Life> = 2;
template <>
inline constexpr int kFields<wire::GradientId> = 2;
template <>
inline constexpr int kFields<wire::Range> = 3;
template <>
inline constexpr int kFields<wire::Verdict> = 5;
template <>
inline constexpr int kFields<wire::Contribution> = 6;
template <>
inline constexpr int kFields<wire::Record> = 11;
template <>
inline constexpr int kFields<wire::Assign> = 4;
template <>
inline constexpr int kFields<BatchChange> = 2;
template <>
inline constexpr int kFields<ScheduleOptions> = 6;
template <>
inline constexpr int kFields<StaleOptions> = 5;
template <>
inline constexpr int kFields<core::SequencerOptions> = 17;
template <>
inline constexpr int kFields<Terms> = 4;
template <>
inline constexpr int kFields<Joined> = 1;
template <>
inline constexpr int kFields<Left> = 2;
template <>
inline constexpr int kFields<Assigned> = 1;
template <>
inline constexpr int kFields<Installed> = 3;
template <>
inline constexpr int kFields<Examined> = 4;
template <>
inline constexpr int kFields<Decided> = 1;
template <>
inline constexpr int kFields<Made::Used> = 3;
template <>
inline constexpr int kFields<Made> = 6;
template <>
inline constexpr int kFields<Committed> = 1;
template <>
inline constexpr int kFields<Published> = 2;
template <>
inline constexpr int kFields<Told> = 1;
template <>
inline constexpr int kFields<Stopped> = 1;
template <>
inline constexpr int kFields<Finished> = 1;
template <>
inline constexpr int kFields<core::LedgerStanding> = 5;
template <>
inline constexpr int kFields<core::Standing> = 6;
template <>
inline constexpr int kFields<Captured> = 3;
template <>
inline constexpr int kFields<Announced> = 2;
template <>
inline constexpr int kFields<Resumed> = 4;

template <class T>
auto fields_of(T& whole) {
  constexpr int n = kFields<std::remove_const_t<T>>;
  if constexpr (n == 1) {
    auto& [a] = whole;
    return std::tie(a);
  } else if constexpr (n == 2) {
    auto& [a, b] = whole;
    return std::tie(a, b);
  } else if constexpr (n == 3) {
    auto& [a, b, c] = whole;
    return std::tie(a, b, c);
  } else if constexpr (n == 4) {
    auto& [a, b, c, d] = whole;
    return std::tie(a, b, c, d);
  } else if constexpr (n == 5) {
    auto& [a, b, c, d, e] = whole;
    return std::tie(a, b, c, d, e);
  } else if constexpr (n == 6) {
    auto& [a, b, c, d, e, f] = whole;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (n == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r] = whole;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r);
  }
}

class RandomEvents {
 public:
  explicit RandomEvents(std::uint64_t seed) : random_(seed) {}

  // Of the kind at this place in What.
  template <std::size_t kKind>
  Event make() {
    Event event{Time(static_cast<std::int64_t>(random_())), {}};
    fill(event.what.emplace<kKind>());
    return event;
  }

 private:
  void fill(bool& value) { value = random_() % 2 == 0; }
  template <std::integral T>
  void fill(T& value) {
    const T special[] = {0, 1, std::numeric_limits<T>::max(), static_cast<T>(random_())};
    value = special[random_() % std::size(special)];
  }
  void fill(double& value) {
    using Limits = std::numeric_limits<double>;
    const double special[] = {0.0,
                              -0.0,
                              1.0,
                              0.1,
                              1.0 / 3,
                              9007199254740993.0,
                              Limits::max(),
                              Limits::min(),
                              Limits::lowest(),
                              Limits::denorm_min(),
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::quiet_NaN()};
    const auto which = random_() % (2 * std::size(special));
    value = which < std::size(special) ? special[which] : std::bit_cast<double>(random_());
  }
  void fill(wire::Fate& value) { value = static_cast<wire::Fate>(random_() % 3); }
  void fill(ScheduleOptions::Kind& value) { value = static_cast<ScheduleOptions::Kind>(random_() % 3); }
  void fill(Stale& value) { value = static_cast<Stale>(random_() % 4); }
  void fill(std::string& value) {
    const std::string special[] = {"",
                                   "struck off",
                                   "a \"word\", a \\ and\n\ta line",
                                   "gr\xc3\xbc\xc3\x9f, \xf0\x9f\x90\x82",
                                   std::string("\0\x01\x1f\x7f", 4),
                                   "\xe2\x80\xa8null,{}[]"};
    value = special[random_() % std::size(special)];
  }
  template <class T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (random_() % 2 == 0) fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(random_() % 4);
    for (auto& value : values) fill(value);
  }
  void fill(std::map<std::uint32_t, std::uint64_t>& values) {
    values.clear();
    for (auto left = random_() % 4; left > 0; --left) fill(values[static_cast<std::uint32_t>(random_())]);
  }
  template <class T>
  requires(kFields<T> > 0) void fill(T& value) {
    std::apply([&](auto&... parts) { (fill(parts), ...); }, fields_of(value));
  }

  std::mt19937_64 random_;
};

class Same {
 public:
  static bool events(const Event& a, const Event& b) {
    return a.at == b.at && a.what.index() == b.what.index() &&
           std::visit([&]<class T>(const T& what) { return same(what, std::get<T>(b.what)); }, a.what);
  }

 private:
  template <class T>
  static bool same(const T& a, const T& b) {
    return a == b;
  }
  static bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }
  template <class T>
  static bool same(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  }
  template <class T>
  static bool same(const std::vector<T>& a, const std::vector<T>& b) {
    const auto equal = [](const T& x, const T& y) { return same(x, y); };
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
  }
  template <class T>
  requires(kFields<T> > 0) static bool same(const T& a, const T& b) {
    return same_each(fields_of(a), fields_of(b), std::make_index_sequence<kFields<T>>());
  }
  template <class Fields, std::size_t... I>
  static bool same_each(const Fields& a, const Fields& b, std::index_sequence<I...>) {
    return (same(std::get<I>(a), std::get<I>(b)) && ...);
  }
};

}  // namespace yoke::history
