#include "cli/checkpoint_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/processes.h"
#include "launch/words.h"

namespace yoke::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kEvery = std::chrono::minutes(10);
constexpr milliseconds kLongest = std::chrono::hours(24 * 365);
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 53;
constexpr std::uint32_t kMostKept = 1'000'000;

Error wrong_every(const std::string& text) {
  return {
      Code::invalid_argument,
      fmt::format("--every {}: give a time (30s, 10m, 2h), a number of steps (500steps), or both with a comma", text)};
}

// How many milliseconds a unit has; 0: it is none of time.
std::uint64_t milliseconds_of(std::string_view unit) {
  if (unit == "s") return 1000;
  if (unit == "m") return 60'000;
  return unit == "h" ? 3'600'000 : 0;
}

std::string every_in_words(const Checkpoints& checkpoints) {
  const auto seconds = checkpoints.every.count() / 1000;
  if (checkpoints.every_steps == 0) return fmt::format("{}s", seconds);
  const auto steps = fmt::format("{}steps", checkpoints.every_steps);
  return seconds == 0 ? steps : fmt::format("{}s,{}", seconds, steps);
}

// There is an older flag of this name.
void take_kept(const std::string& text, Checkpoints& checkpoints) {
  if (text == "best" || text == "last")
    throw CLI::ValidationError("--keep " + text,
                               "that is called --result " + text + " now; --keep is how many checkpoints are kept");
  const auto* const end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, checkpoints.keep);
  if (problem != std::errc() || rest != end || checkpoints.keep == 0 || checkpoints.keep > kMostKept)
    throw CLI::ValidationError("--keep " + text,
                               fmt::format("it is how many checkpoints are kept, from 1 to {}", kMostKept));
}

}  // namespace

Status parse_every(const std::string& text, Checkpoints& checkpoints) {
  if (text.ends_with(',')) return wrong_every(text);
  std::uint64_t steps = 0, time = 0;
  for (const auto& item : CLI::detail::split(text, ',')) {
    std::uint64_t number = 0;
    const auto* const end = item.data() + item.size();
    const auto [rest, problem] = std::from_chars(item.data(), end, number);
    const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
    if (problem != std::errc() || number == 0 || number > kMostSteps) return wrong_every(text);
    const bool counts_steps = unit == "steps" || unit == "step";
    auto& value = counts_steps ? steps : time;
    const auto factor = counts_steps ? 1 : milliseconds_of(unit);
    if (value != 0 || factor == 0) return wrong_every(text);
    if (!counts_steps && number > static_cast<std::uint64_t>(kLongest.count()) / factor)
      return Error{Code::invalid_argument, fmt::format("--every {}: a year is the longest (8760h)", text)};
    value = number * factor;
  }
  checkpoints.every_steps = steps;
  checkpoints.every = milliseconds(time);
  return {};
}

void add_checkpoint_flags(CLI::App& app, Checkpoints& checkpoints) {
  const std::string group = "Checkpoints";
  app.add_option("--checkpoint", checkpoints.folder,
                 "keep checkpoints in this folder, which every process of the job sees; made if it is not there")
      ->type_name("DIR")
      ->group(group);
  app.add_option_function<std::string>(
         "--every",
         [&checkpoints](const std::string& text) {
           if (auto parsed = parse_every(text, checkpoints); !parsed)
             throw CLI::ValidationError(parsed.error().message);
         },
         "how often one is made: after a time (30s, 10m, 2h), a number of updates (500steps), or whichever comes first "
         "(10m,500steps)")
      ->type_name("TIME|STEPS")
      ->default_str("10m")
      ->group(group);
  app.add_option_function<std::string>(
         "--keep", [&checkpoints](const std::string& text) { take_kept(text, checkpoints); },
         "how many checkpoints are kept, the newest; the best model on held-out data is kept besides")
      ->type_name("N")
      ->default_str(std::to_string(checkpoints.keep))
      ->group(group);
  // CLI11 takes options in the order in which they were added: what --checkpoint says is known by now.
  app.add_option_function<std::string>(
         "--resume",
         [&checkpoints](const std::string& folder) {
           checkpoints.resume = folder;
           if (checkpoints.folder.empty()) checkpoints.folder = folder;
         },
         "go on from the newest checkpoint in this folder, and keep new ones there unless --checkpoint says where; "
         "from the beginning where there is none yet")
      ->type_name("DIR")
      ->group(group);
}

Status check_checkpoints(const Checkpoints& checkpoints, const std::string& container) {
  const auto refuse = [](std::string why) { return Error{Code::invalid_argument, std::move(why)}; };
  if (checkpoints.folder.empty()) {
    const bool said = checkpoints.every_steps != 0 || (checkpoints.every.count() != 0 && checkpoints.every != kEvery);
    if (said) return refuse("--every is how often a checkpoint is made, and none is: say --checkpoint DIR");
    if (checkpoints.keep != Checkpoints().keep)
      return refuse("--keep is how many checkpoints are kept, and none is made: say --checkpoint DIR");
    return {};
  }
  if (!container.empty())
    return refuse(
        fmt::format("--checkpoint and --resume do not go with --container {}: what is in a container its servers save "
                    "(`yoke serve --state DIR`), and the same command goes on from there; leave them out",
                    container));
  for (const auto& [flag, folder] : {std::pair{"--checkpoint", checkpoints.folder}, {"--resume", checkpoints.resume}}) {
    std::error_code unknown;
    const auto kind = std::filesystem::status(folder, unknown).type();
    if (!folder.empty() && std::filesystem::exists(std::filesystem::file_status(kind)) &&
        kind != std::filesystem::file_type::directory)
      return Error{Code::missing, fmt::format("{} {} is no folder: name one, which is made if need be", flag, folder)};
  }
  return {};
}

std::vector<std::string> checkpoint_words(const Checkpoints& checkpoints) {
  if (checkpoints.folder.empty()) return {};
  std::vector<std::string> words{"--checkpoint", checkpoints.folder, "--keep", std::to_string(checkpoints.keep)};
  if (checkpoints.every_steps != 0 || checkpoints.every.count() != 0)
    words.insert(words.end(), {"--every", every_in_words(checkpoints)});
  if (!checkpoints.resume.empty()) words.insert(words.end(), {"--resume", checkpoints.resume});
  return words;
}

std::vector<std::string> words_typed(std::vector<std::string> own) {
  if (const char* typed = std::getenv(kCommandVariable))
    if (auto split = launch::split_words(typed)) return std::move(*split);
  return own;
}

std::vector<std::string> whole_command(std::vector<std::string> words) {
  words.insert(words.begin(), "yoke");
  return words;
}

}  // namespace yoke::cli
