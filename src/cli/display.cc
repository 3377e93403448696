#include "cli/display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace yoke::cli {
namespace {

constexpr unsigned kBar = 20;
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

std::string in_time(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::max(0.0, std::round(seconds)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

unsigned terminal_columns() {
  winsize size{};
  // A terminal without a width is one that mpirun puts between its ranks and itself: what comes out of it is a log.
  return isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string Display::figures(const FitProgress& progress) const {
  std::string text = fmt::format("loss {:.4f}", progress.loss);
  if (about_.has_perplexity) text += fmt::format("  perplexity {:.2f}", std::exp(progress.loss));
  if (about_.has_accuracy) text += fmt::format("  accuracy {:.3f}", progress.accuracy);
  if (progress.validation)
    text += progress.validation->accuracy ? fmt::format("  held out {:.3f}", *progress.validation->accuracy)
                                          : fmt::format("  held out loss {:.4f}", progress.validation->loss);
  text += fmt::format("  {:.0f} samples/s", progress.samples_per_second);
  if (about_.strategy == Strategy::async) text += fmt::format("  staleness {:.1f}", progress.mean_staleness);
  if (progress.dropped) text += fmt::format("  dropped {}", progress.dropped);
  if (progress.refused) text += fmt::format("  refused {}", progress.refused);
  return text;
}

std::string Display::show(const FitProgress& progress) const {
  std::string text;
  for (const auto& line : progress.news) text += (columns_ ? kClearLine : "") + line + "\n";
  const auto left = progress.done > 0 && progress.done < 1 ? in_time(progress.seconds_left) + " left" : std::string();
  const auto where = about_.steps
                         ? fmt::format("step {}/{}", progress.step, about_.steps)
                         : fmt::format("epoch {}/{}", std::min(progress.epoch + 1, about_.epochs), about_.epochs);
  if (columns_ == 0)
    return text + fmt::format("{}  {:3.0f} %  step {}  {}{}\n", where, 100 * progress.done, progress.step,
                              figures(progress), left.empty() ? "" : "  " + left);
  const auto full = static_cast<unsigned>(progress.done * kBar);
  auto line = fmt::format("{} [{}{}] {:3.0f} %  {}  {}", where, std::string(full, '='), std::string(kBar - full, ' '),
                          100 * progress.done, left, figures(progress));
  if (line.size() >= columns_) line.resize(columns_ - 1);
  return text + kClearLine + line;
}

std::string Display::clear() const { return columns_ ? kClearLine : ""; }

}  // namespace yoke::cli
