#include "data/loader.h"

#include <algorithm>
#include <utility>

namespace yoke::data {

// `samples` never change; the rest is under the loader's lock.
struct Loader::Entry {
  explicit Entry(std::vector<std::uint64_t> list) : samples(std::move(list)) {}

  const std::vector<std::uint64_t> samples;
  bool begun = false;
  std::optional<Result<Batch>> result;
};

Loader::Loader(Part part, std::size_t capacity)
    : part_(std::move(part)), capacity_(capacity), thread_([this](const std::stop_token& stop) { work(stop); }) {}

Loader::~Loader() = default;

Loader::Entries::iterator Loader::find(std::span<const std::uint64_t> samples) {
  return std::find_if(entries_.begin(), entries_.end(),
                      [&](const auto& entry) { return std::ranges::equal(entry->samples, samples); });
}

void Loader::expect(std::vector<std::uint64_t> samples) {
  std::shared_ptr<Entry> dropped;  // let go after the lock: it may hold a large batch
  std::unique_lock lock(mutex_);
  if (capacity_ == 0 || find(samples) != entries_.end()) return;
  if (entries_.size() == capacity_) {
    dropped = std::move(entries_.front());
    entries_.pop_front();
  }
  entries_.push_back(std::make_shared<Entry>(std::move(samples)));
  lock.unlock();  // whom it wakes wants it
  wake_.notify_all();
}

Result<Batch> Loader::take(std::span<const std::uint64_t> samples) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Entry> entry;
  if (const auto found = find(samples); found != entries_.end()) {
    entry = std::move(*found);
    entries_.erase(found);
  }
  if (!entry || !entry->begun) {
    ++counts_.late;
    lock.unlock();
    return part_.batch(samples);
  }
  ++counts_.ready;
  wake_.wait(lock, [&] { return entry->result.has_value(); });
  return std::move(*entry->result);
}

Loader::Counts Loader::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void Loader::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  std::shared_ptr<Entry> entry;
  const auto next = [&] {
    const auto found = std::find_if(entries_.begin(), entries_.end(), [](const auto& e) { return !e->begun; });
    if (found == entries_.end()) return false;
    entry = *found;
    return true;
  };
  while (wake_.wait(lock, stop, next) && !stop.stop_requested()) {
    entry->begun = true;
    lock.unlock();
    auto result = part_.batch(entry->samples);
    lock.lock();
    entry->result = std::move(result);
    wake_.notify_all();
    entry.reset();
  }
}

}  // namespace yoke::data
