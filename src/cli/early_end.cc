#include "cli/early_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>

#include "launch/words.h"

namespace yoke::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpoint = "checkpoint-";
constexpr std::size_t kDigits = 12;

// Of a folder with this name; none: it is no checkpoint.
std::optional<std::uint64_t> version_of(const std::string& name) {
  if (!name.starts_with(kCheckpoint) || name.size() < kCheckpoint.size() + kDigits) return std::nullopt;
  std::uint64_t version = 0;
  const auto* const end = name.data() + name.size();
  const auto [rest, problem] = std::from_chars(name.data() + kCheckpoint.size(), end, version);
  if (problem != std::errc() || rest != end) return std::nullopt;
  return version;
}

// Where the next run finds the newest: an empty folder has none, and what was gone on from still has its own.
std::string resumes_from(const Checkpoints& checkpoints) {
  return !checkpoints.resume.empty() && !newest_checkpoint(checkpoints.folder) ? checkpoints.resume
                                                                               : checkpoints.folder;
}

std::string what_was_saved(const EarlyEnd& end) {
  std::string text;
  const auto& folder = end.checkpoints.folder;
  if (const auto newest = folder.empty() ? std::nullopt : newest_checkpoint(folder)) {
    text += fmt::format("  {}: version {}\n", newest->folder, newest->version);
  } else if (!folder.empty()) {
    text += fmt::format("  no checkpoint yet in {}\n", folder);
  }
  std::error_code unknown;
  if (const auto best = folder + "/best/model.safetensors"; !folder.empty() && fs::exists(best, unknown))
    text += fmt::format("  {}: the best model on held-out data\n", best);
  if (!end.result.empty()) text += fmt::format("  {}: the model as it was then\n", end.result);
  if (!end.container.empty()) text += fmt::format("  container {} has what came of it so far\n", end.container);
  return text.empty() ? "  nothing: no --checkpoint DIR was given\n" : text;
}

}  // namespace

std::optional<SavedCheckpoint> newest_checkpoint(const std::string& folder) {
  std::optional<SavedCheckpoint> newest;
  std::error_code unknown;
  for (const auto& entry : fs::directory_iterator(folder, unknown)) {
    const auto version = version_of(entry.path().filename().string());
    if (!version || (newest && newest->version >= *version)) continue;
    std::error_code missing;
    if (fs::is_regular_file(entry.path() / "manifest.json", missing)) newest = {entry.path().string(), *version};
  }
  return newest;
}

std::string resume_command(const std::vector<std::string>& words, const Checkpoints& checkpoints) {
  std::vector<std::string> all{"yoke"};
  const auto program = std::find(words.begin(), words.end(), "--");
  for (auto word = words.begin(); word != program; ++word) {
    if (word->starts_with("--resume=")) continue;
    if (*word == "--resume") {
      if (++word == program) break;  // and its value
      continue;
    }
    all.push_back(*word);
  }
  all.insert(all.end(), {"--resume", resumes_from(checkpoints)});
  all.insert(all.end(), program, words.end());
  return launch::join_words(all);
}

std::string in_words(const EarlyEnd& end) {
  std::string text = "the job ended early\nwhat failed:\n";
  for (const auto& line : end.failed) text += fmt::format("  {}\n", line);
  text += "what was saved:\n" + what_was_saved(end) + "to go on:\n";
  if (!end.checkpoints.folder.empty()) return text + fmt::format("  {}\n", resume_command(end.words, end.checkpoints));
  auto anew = end.words;
  anew.insert(anew.begin(), "yoke");
  if (!end.container.empty()) return text + fmt::format("  {}\n", launch::join_words(anew));
  anew.insert(std::find(anew.begin(), anew.end(), "--"), {"--checkpoint", "DIR"});
  return text + fmt::format("  {}\n  begins anew, and can be gone on with the next time\n", launch::join_words(anew));
}

}  // namespace yoke::cli
