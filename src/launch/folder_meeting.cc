// How ranks are told from the leftovers of others: every rank draws a number at random and leaves it as its hello. The
// hellos of all are the view. A text counts only if it was said under the view that one has oneself, and as one's own
// number is in that, nobody who is gone can have said it. A hello that was a leftover is written over when its rank
// comes; then the view changes, and what was said under the old one is said again.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/hash.h"
#include "launch/descriptor.h"
#include "launch/meeting.h"

namespace yoke::launch {
namespace {

namespace fs = std::filesystem;
constexpr std::chrono::milliseconds kLookIntoFolder{50};

Error problem(const std::string& path, const char* what) {
  return Error{Code::missing, fmt::format("the ranks cannot meet in {}: {}: {}", path, what, std::strerror(errno))};
}

// A folder that nobody else can put anything into.
Status own_folder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return problem(path, "it cannot be made");
  struct stat about = {};
  if (lstat(path.c_str(), &about) != 0) return problem(path, "it cannot be looked at");
  const char* why = !S_ISDIR(about.st_mode)         ? "it is no folder"
                    : about.st_uid != geteuid()     ? "it belongs to another user"
                    : (about.st_mode & 0022u) != 0u ? "others may write to it (chmod 700 closes it)"
                                                    : nullptr;
  if (why) return Error{Code::refused, fmt::format("the ranks cannot meet in {}: {}", path, why)};
  return {};
}

Status write_whole(const std::string& path, const std::string& text) {
  const auto unfinished = path + ".new";
  unlink(unfinished.c_str());
  const Descriptor file(open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return problem(unfinished, "it cannot be written");
  for (std::string_view rest = text; !rest.empty();) {
    const auto wrote = write(file.get(), rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return problem(unfinished, "it cannot be written");
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  // To be seen by other hosts whole or not at all.
  if (fsync(file.get()) != 0 || rename(unfinished.c_str(), path.c_str()) != 0)
    return problem(path, "it cannot be written");
  return {};
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(Meeting::kLongestText + 1024, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

Result<std::string> random_number() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return Error{Code::unsupported, "the system has no random numbers"};
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class FolderMeeting : public Meeting {
 public:
  FolderMeeting(std::string path, std::string number, const Place& place)
      : path_(std::move(path)), number_(std::move(number)), rank_(place.rank), ranks_(place.ranks) {}

  Status begin() { return write_whole(file("hello", rank_), number_); }

  ~FolderMeeting() override {
    // The last one out; ranks that were killed never say so, and then the folder stays until the next job of its name.
    if (view_.empty()) {
      if (read_whole(file("hello", rank_)) != number_) return;  // another's by now
      for (const auto* what : {"hello", "say0"}) unlink(file(what, rank_).c_str());
      return;
    }
    if (!write_whole(file("gone", rank_), view_)) return;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank)
      if (read_whole(file("gone", rank)) != view_) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  Result<std::vector<std::string>> exchange(const std::string& mine, const Waiting& waiting) override {
    const auto round = fmt::format("say{}", round_++);
    const bool settled = !view_.empty();
    std::string said_under;
    for (;;) {
      if (!settled)
        if (auto still = still_here(); !still) return still.error();
      const auto view = settled ? view_ : look_around();
      if (!view.empty() && view != said_under) {
        if (auto said = write_whole(file(round, rank_), view + "\n" + mine); !said) return said.error();
        said_under = view;
      }
      std::vector<std::string> heard;
      std::string missing;
      for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
        auto text = read_whole(file(round, rank));
        const auto counts = !view.empty() && text.size() > view.size() && text.compare(0, view.size(), view) == 0 &&
                            text[view.size()] == '\n';
        if (counts) heard.push_back(text.substr(view.size() + 1));
        if (!counts && rank != rank_) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", rank);
      }
      if (heard.size() == ranks_) {
        view_ = view;
        // Whoever speaks in this round has heard the one before, in which the keys were.
        if (settled) unlink(file(fmt::format("say{}", round_ - 2), rank_).c_str());
        return heard;
      }
      if (Waiting::Clock::now() >= waiting.deadline)
        return Error{Code::timed_out,
                     fmt::format("rank {} has waited in vain in {}, for rank {}", rank_, path_, missing)};
      if (!waiting.pause(kLookIntoFolder))
        return Error{Code::cancelled, fmt::format("told to stop while waiting for rank {}", missing)};
    }
  }

 private:
  std::string file(const std::string& what, std::uint32_t rank) const {
    return fmt::format("{}/{}.{}", path_, what, rank);
  }

  // The last rank of a job before may have taken the folder away; one of another job may have come in our place.
  Status still_here() {
    const auto hello = read_whole(file("hello", rank_));
    if (hello == number_) return {};
    if (!hello.empty())
      return Error{Code::refused,
                   fmt::format("another job meets in {}, as rank {} too: give each job a folder of its own (--meet)",
                               path_, rank_)};
    if (auto owned = own_folder(path_); !owned) return owned;
    return begin();
  }

  // "" until all are there.
  std::string look_around() const {
    std::uint64_t view = ranks_;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const auto hello = read_whole(file("hello", rank));
      if (hello.empty()) return "";
      for (const unsigned char letter : hello) view = mix(view, letter);
    }
    return fmt::format("{:016x}", view);
  }

  const std::string path_, number_;
  const std::uint32_t rank_, ranks_;
  unsigned round_ = 0;
  std::string view_;  // under which the first round was held
};

}  // namespace

Result<std::unique_ptr<Meeting>> meet_in_folder(const std::string& folder, const Place& place) {
  if (auto owned = own_folder(folder); !owned) return owned.error();
  const auto path = folder + "/" + place.job;
  if (auto owned = own_folder(path); !owned) return owned.error();
  auto number = random_number();
  if (!number) return number.error();
  auto meeting = std::make_unique<FolderMeeting>(path, *number, place);
  if (auto begun = meeting->begin(); !begun) return begun.error();
  return std::unique_ptr<Meeting>(std::move(meeting));
}

}  // namespace yoke::launch
