// yoke-sim: runs seeds of the simulated world and says what they found.
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string_view>

#include "sim/outcome.h"
#ifdef YOKE_PLANTED_BUGS
#include "sim/bugs.h"
#endif

namespace {

using namespace yoke;

constexpr std::string_view kHelp =
    R"(Runs Yoke's protocol in a simulated world: seeded, hostile, checked against its promises.

  yoke-sim --seed N           one seed, with a trace of all that happens
  yoke-sim --seeds COUNT      seeds 1 to COUNT
  yoke-sim --seeds FROM:TO    seeds FROM to TO
  yoke-sim --seeds ... --all  go on after the first seed that finds something
  yoke-sim --bug NAME         plant a bug first (in yoke-sim-planted only)

Exits with 0 when every promise held, 1 when one was broken, 2 when the arguments make no sense.
)";

struct Arguments {
  std::optional<std::uint64_t> seed;
  std::uint64_t from = 1, to = 1000;
  bool all = false, help = false;
  std::string bug;
};

bool number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_seeds(std::string_view text, Arguments& out) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return number(text, out.to);
  return number(text.substr(0, colon), out.from) && number(text.substr(colon + 1), out.to);
}

bool plant(std::string_view name) {
#ifdef YOKE_PLANTED_BUGS
  for (const auto& [known, bug] : sim::kBugs)
    if (known == name) {
      core::planted_bug = bug;
      return true;
    }
  fmt::print(stderr, "yoke-sim: no bug is called {}; there are:\n", name);
  for (const auto& [known, bug] : sim::kBugs) fmt::print(stderr, "  {}\n", known);
#else
  fmt::print(stderr, "yoke-sim: --bug {}: this program has no planted bugs; use yoke-sim-planted\n", name);
#endif
  return false;
}

// What cannot be understood is said on stderr.
std::optional<Arguments> read(int argc, char** argv) {
  Arguments out;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const std::string_view value = i + 1 < argc ? argv[i + 1] : "";
    std::uint64_t seed = 0;
    if (flag == "--help" || flag == "-h") {
      out.help = true;
    } else if (flag == "--all") {
      out.all = true;
    } else if (flag == "--seed" && number(value, seed)) {
      out.seed = seed;
      ++i;
    } else if (flag == "--seeds" && read_seeds(value, out) && out.from <= out.to) {
      ++i;
    } else if (flag == "--bug") {
      if (!plant(value)) return std::nullopt;
      out.bug = value;
      ++i;
    } else {
      fmt::print(stderr, "yoke-sim: cannot make sense of {} {}; see --help\n", flag, value);
      return std::nullopt;
    }
  }
  return out;
}

void say_findings(const sim::Outcome& outcome) {
  for (const auto& violation : outcome.violations) fmt::print("  {}\n", violation);
}

int run_one(std::uint64_t seed) {
  const auto outcome = sim::run_seed(seed, {.trace = true});
  for (const auto& line : outcome.trace) fmt::print("{}\n", line);
  fmt::print(
      "seed {}: {} events, {} updates, {} gradients turned away, {} crashes, {} resets, {} checkpoints, {} losses of "
      "the whole job, {} departures, {} views formed anew with {} slices from twins, {} findings\n",
      seed, outcome.counts.events, outcome.counts.updates, outcome.counts.turned_away, outcome.counts.crashes,
      outcome.counts.resets, outcome.counts.checkpoints, outcome.counts.losses, outcome.counts.departures,
      outcome.counts.views, outcome.counts.from_twins, outcome.violations.size());
  say_findings(outcome);
  return outcome.violations.empty() ? 0 : 1;
}

int run_many(const Arguments& arguments, const char* program) {
  const auto start = std::chrono::steady_clock::now();
  sim::Counts counts;
  std::uint64_t seeds = 0, failed = 0;
  for (auto seed = arguments.from; seed <= arguments.to && (arguments.all || failed == 0); ++seed, ++seeds) {
    const auto outcome = sim::run_seed(seed);
    counts += outcome.counts;
    if (outcome.violations.empty()) continue;
    ++failed;
    fmt::print("seed {}: {}\n", seed, outcome.shape);
    say_findings(outcome);
    fmt::print("  to see it again: {} --seed {}{}\n", program, seed,
               arguments.bug.empty() ? "" : " --bug " + arguments.bug);
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "{} seeds, {} steps simulated, {} gradients turned away, {} messages, {} crashes, {} resets, {} drains, {} "
      "stops, {} checkpoints and {} that failed, {} losses of the whole job, {} departures, {} views formed anew with "
      "{} slices from twins, {:.1f} s ({:.0f} seeds/s): {}\n",
      seeds, counts.updates, counts.turned_away, counts.messages, counts.crashes, counts.resets, counts.drains,
      counts.stops, counts.checkpoints, counts.discarded, counts.losses, counts.departures, counts.views,
      counts.from_twins, seconds, static_cast<double>(seeds) / seconds,
      failed ? fmt::format("{} seeds found something", failed) : "no findings");
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read(argc, argv);
  if (!arguments) return 2;
  if (arguments->help) {
    fmt::print("{}", kHelp);
    return 0;
  }
  return arguments->seed ? run_one(*arguments->seed) : run_many(*arguments, argv[0]);
}
