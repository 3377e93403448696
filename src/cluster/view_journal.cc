#include "cluster/view_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/write_all.h"
#include "base/write_whole.h"
#include "checkpoint/disk.h"
#include "checkpoint/folder.h"
#include "checkpoint/lock.h"
#include "checkpoint/model_file.h"
#include "checkpoint/read_text.h"
#include "wire/checksum.h"

namespace yoke::cluster {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr std::string_view kEntryMagic = "YOKEVIEW", kName = "views.journal";
constexpr std::size_t kNumber = sizeof(std::uint64_t), kHead = kEntryMagic.size() + 2 * kNumber;
constexpr std::size_t kRewriteAt = 1u << 20;

std::uint64_t sum_of(std::string_view text) {
  wire::Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.value();
}

void put(std::string& text, std::uint64_t number) { text.append(reinterpret_cast<const char*>(&number), kNumber); }

std::uint64_t number_at(std::string_view text, std::size_t at) {
  std::uint64_t number = 0;
  std::memcpy(&number, text.data() + at, kNumber);
  return number;
}

std::string encode(const ViewStore::Stored& view) {
  std::string entry(kEntryMagic);
  put(entry, view.revision);
  put(entry, view.bytes.size());
  entry += view.bytes;
  put(entry, sum_of(entry));
  return entry;
}

// The one that the text begins with, if it is whole.
std::optional<ViewStore::Stored> decode(std::string_view text) {
  if (text.size() < kHead + kNumber || !text.starts_with(kEntryMagic)) return {};
  const auto revision = number_at(text, kEntryMagic.size()), length = number_at(text, kEntryMagic.size() + kNumber);
  if (revision == 0 || length > kMaxViewBytes || length > text.size() - kHead - kNumber) return {};
  if (sum_of(text.substr(0, kHead + length)) != number_at(text, kHead + length)) return {};
  return ViewStore::Stored{std::string(text.substr(kHead, length)), revision};
}

bool has_whole_entry(std::string_view text) {
  for (auto at = text.find(kEntryMagic); at != text.npos; at = text.find(kEntryMagic, at + 1))
    if (decode(text.substr(at))) return true;
  return false;
}

Result<ViewStore::Stored> last_entry(const std::string& file, std::string_view text) {
  ViewStore::Stored last;
  std::size_t at = 0;
  for (auto entry = decode(text); entry; entry = decode(text.substr(at))) {
    if (at > 0 && entry->revision != last.revision + 1) break;
    at += kHead + entry->bytes.size() + kNumber;
    last = std::move(*entry);
  }
  if (at > 0 && !has_whole_entry(text.substr(at))) return last;
  return Error{Code::corrupt,
               fmt::format("{}: damaged at its byte {}, which no crash explains: put a copy of the file back, or name "
                           "another folder to begin without the views that are in it",
                           file, at)};
}

// Answers 0, or the errno that says why not.
int append(const std::string& file, std::string_view entry) {
  const int out = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (out < 0) return errno;
  int problem = write_all(out, std::as_bytes(std::span(entry)));
  if (problem == 0 && ::fdatasync(out) != 0) problem = errno;
  if (::close(out) != 0 && problem == 0) problem = errno;
  return problem;
}

Status replace(const std::string& file, std::string_view entry) {
  const auto bytes = std::as_bytes(std::span(entry));
  return write_whole(file, std::span(&bytes, 1));
}

class ViewJournal : public ViewStore {
 public:
  ViewJournal(checkpoint::Lock lock, std::string folder)
      : lock_(std::move(lock)), folder_(std::move(folder)), file_(fmt::format("{}/{}", folder_, kName)) {}

  // What can be read may never have reached the disk, if whoever wrote it was killed or told that it could not be
  // flushed. In a new file it does.
  Status settle() {
    auto& disk = checkpoint::posix_disk();
    const auto there = disk.exists(file_);
    if (!there) return there.error();
    Stored last;
    std::string entry;
    if (*there) {
      const auto text = checkpoint::read_text(disk, file_);
      if (!text) return text.error();
      auto found = last_entry(file_, *text);
      if (!found) return found.error();
      last = std::move(*found);
      entry = encode(last);
      if (auto replaced = replace(file_, entry); !replaced) return replaced;
    }
    last_ = std::move(last);
    size_ = entry.size();
    settled_ = true;
    return {};
  }

  // What processes that were killed while they replaced the journal left of the new one.
  void tidy_up() const {
    auto& disk = checkpoint::posix_disk();
    const auto names = disk.list(folder_);
    if (!names) return;
    for (const auto& name : *names)
      if (name.starts_with(fmt::format("{}.tmp-", kName)))
        static_cast<void>(disk.remove(fmt::format("{}/{}", folder_, name)));
  }

  Result<Stored> load() override {
    if (!settled_)
      if (auto settled = settle(); !settled) return settled.error();
    return last_;
  }

  Result<std::uint64_t> save(const std::string& bytes, std::uint64_t revision) override {
    if (bytes.size() > kMaxViewBytes)
      return Error{Code::invalid_argument, fmt::format("{}: a view of {} bytes is more than the {} that it may have",
                                                       file_, bytes.size(), kMaxViewBytes)};
    if (revision != last_.revision)
      return Error{Code::refused, fmt::format("{}: revision {} has been stored there, and this view was made from {}",
                                              file_, last_.revision, revision)};
    Stored next{bytes, revision + 1};
    const auto entry = encode(next);
    // After a failure it is not known what the file ends with.
    const bool anew = !settled_ || size_ == 0 || size_ + entry.size() > kRewriteAt;
    settled_ = false;
    if (anew) {
      if (auto replaced = replace(file_, entry); !replaced) return replaced.error();
    } else if (const int problem = append(file_, entry); problem != 0) {
      return Error{Code::missing, fmt::format("{}: cannot be written: {}", file_, std::strerror(problem))};
    }
    settled_ = true;
    size_ = anew ? entry.size() : size_ + entry.size();
    last_ = std::move(next);
    return last_.revision;
  }

 private:
  const checkpoint::Lock lock_;
  const std::string folder_, file_;
  Stored last_;
  std::size_t size_ = 0;  // of the file; 0: there is none
  bool settled_ = false;  // the file ends with last_
};

std::string holder(const std::string& folder) {
  const auto words = checkpoint::read_text(checkpoint::posix_disk(), folder + "/lock");
  if (!words || words->empty()) return "a process that does not say which";
  return checkpoint::printable(std::string_view(*words).substr(0, words->find('\n')));
}

}  // namespace

Result<std::unique_ptr<ViewStore>> open_view_journal(const std::string& folder) {
  auto& disk = checkpoint::posix_disk();
  if (auto made = checkpoint::make_lasting(disk, folder); !made) return made.error();
  // Made by a process that died before it could flush what is above; whoever may not look into that has not made it.
  static_cast<void>(disk.flush_folder(folder + "/.."));
  auto lock = checkpoint::lock_folder(folder);
  if (!lock && lock.error().code == Code::refused)
    return Error{Code::refused, fmt::format("{}: {} has it already, as a coordinator or for checkpoints: wait until it "
                                            "has ended, or name another folder",
                                            folder, holder(folder))};
  if (!lock) return lock.error();
  auto journal = std::make_unique<ViewJournal>(std::move(*lock), folder);
  journal->tidy_up();
  if (auto settled = journal->settle(); !settled) return settled.error();
  return std::unique_ptr<ViewStore>(std::move(journal));
}

}  // namespace yoke::cluster
