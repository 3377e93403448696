#include "history/recorder.h"

namespace yoke::history {

void Recorder::add(Time at, What what) {
  const std::lock_guard lock(mutex_);
  events_.push_back({at, std::move(what)});
}

void Recorder::add_effect(Time at, const wire::Address& actor, const core::Effect& effect) {
  if (const auto* publish = std::get_if<core::Publish>(&effect)) return add(at, Published{actor.id, publish->version});
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
