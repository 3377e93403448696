#include "history/recorder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "history/history_file.h"

namespace yoke::history {
namespace {

constexpr std::size_t kFull = 256u << 10;

// 0, or the errno that says why not.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return 0;
}

Error unwritable(const std::string& file, int problem) {
  return {Code::missing, fmt::format("{}: the history cannot be written: {}", file, std::strerror(problem))};
}

}  // namespace

Recorder::~Recorder() {
  if (file_ < 0) return;
  static_cast<void>(flush());
  ::close(file_);
}

Status Recorder::stream_to(const std::string& file) {
  const std::lock_guard writing(writing_);
  const std::lock_guard lock(mutex_);
  if (file_ >= 0) return Error{Code::invalid_argument, fmt::format("{}: the history goes to {} already", file, name_)};
  const int opened = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (opened < 0) return unwritable(file, errno);
  file_ = opened;
  name_ = file;
  buffer_ = to_json_lines(events_);
  events_ = {};
  return {};
}

Status Recorder::flush() {
  const std::lock_guard writing(writing_);
  {
    const std::lock_guard lock(mutex_);
    if (file_ < 0 || !status_) return status_;
    outgoing_.swap(buffer_);
  }
  const int problem = write_all(file_, outgoing_);
  outgoing_.clear();
  if (problem == 0) return {};
  // What follows a line that is cut short could not be read.
  const std::lock_guard lock(mutex_);
  status_ = unwritable(name_, problem);
  buffer_ = {};
  return status_;
}

void Recorder::add(Time at, What what) {
  if (const auto* resumed = std::get_if<Resumed>(&what)) {  // a new log, and lives of its own
    next_record_ = 0;
    committed_ = resumed->standing.version;
    joined_.clear();
  }
  std::unique_lock lock(mutex_);
  if (file_ < 0) {
    events_.push_back({at, std::move(what)});
    return;
  }
  if (!status_) return;
  buffer_ += to_json_line({at, std::move(what)});
  const bool full = buffer_.size() >= kFull;
  lock.unlock();
  if (full) static_cast<void>(flush());  // an error is remembered
}

void Recorder::add_effect(Time at, const wire::Address& actor, const core::Effect& effect) {
  if (const auto* publish = std::get_if<core::Publish>(&effect)) return add(at, Published{actor.id, publish->version});
  if (const auto* capture = std::get_if<core::Capture>(&effect))
    return add(at, Captured{actor.id, capture->token, capture->version});
  if (const auto* announce = std::get_if<core::Announce>(&effect))
    return add(at, Announced{announce->token, announce->version});
  const auto* send = std::get_if<core::Send>(&effect);
  if (!send || actor != wire::kSequencer) return;
  if (const auto* assign = std::get_if<wire::Assign>(&send->message)) {
    add(at, Assigned{*assign});
  } else if (const auto* record = std::get_if<wire::Record>(&send->message)) {
    if (record->index < next_record_) return;
    next_record_ = record->index + 1;
    add(at, Decided{*record});
  } else if (const auto* commit = std::get_if<wire::Commit>(&send->message)) {
    if (commit->version <= committed_) return;
    committed_ = commit->version;
    add(at, Committed{committed_});
  } else if (const auto* fence = std::get_if<wire::Fence>(&send->message)) {
    if (joined_.insert(fence->life).second) add(at, Joined{fence->life});
  } else if (const auto* turned = std::get_if<wire::Turned>(&send->message)) {
    add(at, Left{turned->life, turned->reason});
  } else if (const auto* done = std::get_if<wire::Done>(&send->message)) {
    add(at, Finished{done->version});
  }
}

std::vector<Event> Recorder::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

}  // namespace yoke::history
