#include "cli/going_on.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "launch/words.h"

namespace yoke::cli {
namespace {

// How many words from this one on are said anew, or not at all: the weights are the saved ones, all of them.
std::size_t replaced(const std::vector<std::string>& words, std::size_t at) {
  for (const std::string flag : {"--init", "--epochs", "--steps", "--init-skip"}) {
    if (words[at].starts_with(flag + "=")) return 1;
    if (words[at] != flag) continue;
    std::size_t count = 2;
    while (flag == "--init-skip" && at + count < words.size() && !words[at + count].starts_with("-")) ++count;
    return count;
  }
  return 0;
}

}  // namespace

std::string go_on_words(const std::vector<std::string>& words, const TrainFlags& flags, const std::string& saved,
                        const Summary& summary, std::uint64_t epoch_samples) {
  std::string text = "yoke";
  for (std::size_t i = 0; i < words.size();) {
    const auto count = replaced(words, i);
    if (count == 0) text += " " + launch::join_words({words[i]});
    i += std::max<std::size_t>(1, count);
  }
  if (!saved.empty()) text += " --init " + launch::join_words({saved});
  if (flags.options.steps > 0)
    return text +
           fmt::format(" --steps {}",
                       std::max<std::uint64_t>(1, flags.options.steps - std::min(flags.options.steps, summary.steps)));
  const double done = epoch_samples ? static_cast<double>(summary.samples) / static_cast<double>(epoch_samples) : 0;
  return text + fmt::format(" --epochs {}",
                            static_cast<std::uint64_t>(std::max(1.0, std::round(flags.options.epochs - done))));
}

}  // namespace yoke::cli
