// What a process shows to the others: a count of how far it has come, which only it writes, room for small sums, and
// its values. All take the same way through the same calls, so that a count means the same to everybody; each waits for
// the counts of the others. A large sum goes in pieces: while one's own piece is summed up, those of the others are
// ready to be fetched, still in the cache.
#include "yoke/host_group.h"

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "collective/meeting.h"
#include "kernel/pass.h"
#include "transport/arena.h"

namespace yoke {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLine = 64;
constexpr std::size_t kSmall = 8192;       // values: up to here everybody adds up everything
constexpr std::size_t kPiece = 64u << 10;  // values: of a large sum, so that it stays in the cache
constexpr std::size_t kFloatsALine = kLine / sizeof(float);
constexpr int kSpins = 20000;                          // about 100 us at most, while there are cores for all
constexpr auto kLook = std::chrono::milliseconds(50);  // how often somebody who sleeps looks whether all live

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

bool reached(std::uint32_t count, std::uint32_t target) { return static_cast<std::int32_t>(count - target) >= 0; }

}  // namespace

class HostGroup::Impl {
 public:
  Impl(int rank, int size, std::size_t values, std::chrono::milliseconds patience)
      : rank_(rank), size_(size), values_(values), patience_(patience), spins_(size <= cores() ? kSpins : 0) {}
  ~Impl() {
    for (const auto& other : others_)
      if (other.process >= 0) close(other.process);
  }

  Status join(const std::string& path) {
    const auto bytes = sizeof(Shown) + values_ * sizeof(float);
    memory_ = arena_->allocate(bytes);
    if (!memory_) return Error{Code::unsupported, fmt::format("there is no memory for {} values", values_)};
    own_ = new (memory_.get()) Shown;
    own_->values = values_;
    const auto region = arena_->find(memory_.get(), bytes)->region;
    auto present = collective::meet(path, rank_, size_, arena_->descriptor(region), Clock::now() + patience_);
    if (!present) return present.error();
    others_.resize(static_cast<std::size_t>(size_));
    Status fine;
    for (std::size_t i = 0; i < others_.size(); ++i) {
      auto& other = others_[i];
      other.process = static_cast<int>(syscall(SYS_pidfd_open, (*present)[i].process, 0));
      auto mapped = transport::Mapping::open((*present)[i].descriptor, arena_->size(region));
      if (mapped) {
        other.mapping = std::move(*mapped);
        other.shown = reinterpret_cast<const Shown*>(other.mapping->data());
      }
      if (!mapped || other.shown->values != values_)
        fine = Error{Code::invalid_argument,
                     fmt::format("rank {} has another number of values than rank {}, {}", i, rank_, values_)};
    }
    return fine;
  }

  int rank() const { return rank_; }
  int size() const { return size_; }
  std::span<float> values() { return {reinterpret_cast<float*>(memory_.get() + sizeof(Shown)), values_}; }

  Status all_reduce(std::size_t count, double scale) {
    if (count > values_)
      return Error{Code::invalid_argument, fmt::format("{} values of {} are to be summed up", count, values_)};
    if (!broken_.ok() || size_ == 1) {
      if (broken_.ok() && scale != 1) sum(scale, 0, count, values().data());
      return broken_;
    }
    return broken_ = count <= kSmall ? small(count, scale) : large(count, scale);
  }

  Status barrier() {
    if (!broken_.ok()) return broken_;
    tell();
    return broken_ = all_at(count_);
  }

 private:
  struct alignas(kLine) Shown {
    alignas(kLine) std::atomic<std::uint32_t> count{0};     // how far its owner has come
    alignas(kLine) std::atomic<std::uint32_t> sleeping{0};  // its owner waits in the kernel
    std::uint64_t values = 0;
    alignas(kLine) float small[2][kSmall];
  };
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

  struct Other {
    std::shared_ptr<transport::Mapping> mapping;
    const Shown* shown = nullptr;
    int process = -1;
  };

  const float* values_of(std::size_t rank) const {
    if (rank == static_cast<std::size_t>(rank_)) return reinterpret_cast<const float*>(memory_.get() + sizeof(Shown));
    return reinterpret_cast<const float*>(others_[rank].mapping->data() + sizeof(Shown));
  }

  // One more has been done; whoever sleeps is woken.
  void tell() {
    own_->count.store(++count_, std::memory_order_seq_cst);
    for (const auto& other : others_)
      if (other.shown != nullptr && other.shown->sleeping.load(std::memory_order_seq_cst)) {
        syscall(SYS_futex, &own_->count, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
        return;
      }
  }

  Status at(std::size_t rank, std::uint32_t target) {
    const auto& count = others_[rank].shown->count;
    for (int spin = 0; spin <= spins_; ++spin) {
      if (reached(count.load(std::memory_order_acquire), target)) return {};
      relax();
    }
    return sleep_until(rank, target);
  }

  Status sleep_until(std::size_t rank, std::uint32_t target) {
    const auto& count = others_[rank].shown->count;
    const auto deadline = Clock::now() + patience_;
    own_->sleeping.store(1, std::memory_order_seq_cst);
    Status fine;
    for (;;) {
      const auto seen = count.load(std::memory_order_seq_cst);
      if (reached(seen, target)) break;
      if (Clock::now() > deadline) {
        fine = Error{Code::timed_out,
                     fmt::format("rank {} of the group did not come within {} ms", rank, patience_.count())};
        break;
      }
      if (pollfd gone{others_[rank].process, POLLIN, 0}; poll(&gone, 1, 0) > 0 && !reached(count.load(), target)) {
        fine = Error{Code::peer_down, fmt::format("rank {} of the group has ended", rank)};
        break;
      }
      const timespec most{0, std::chrono::nanoseconds(kLook).count()};
      syscall(SYS_futex, &count, FUTEX_WAIT, seen, &most, nullptr, 0);
    }
    own_->sleeping.store(0, std::memory_order_relaxed);
    return fine;
  }

  Status all_at(std::uint32_t target) {
    for (std::size_t rank = 0; rank < others_.size(); ++rank)
      if (rank != static_cast<std::size_t>(rank_))
        if (auto there = at(rank, target); !there.ok()) return there;
    return {};
  }

  // Values [from, from + count) of all ranks, into `to`.
  void sum(double scale, std::size_t from, std::size_t count, float* to) {
    inputs_.clear();
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(size_); ++rank)
      inputs_.push_back({values_of(rank) + from, 1});
    kernel::update(Average{}, {.scale = scale}, inputs_, {.size = count, .params_in = to, .params_out = to});
  }

  // Of two places in turn: nobody writes to one again before all have read it, as all have come to the next call then.
  Status small(std::size_t count, double scale) {
    const auto place = turn_++ % 2;
    std::memcpy(own_->small[place], values().data(), count * sizeof(float));
    tell();
    if (auto here = all_at(count_); !here.ok()) return here;
    inputs_.clear();
    for (std::size_t rank = 0; rank < others_.size(); ++rank)
      inputs_.push_back({(rank == static_cast<std::size_t>(rank_) ? own_ : others_[rank].shown)->small[place], 1});
    auto* to = values().data();
    kernel::update(Average{}, {.scale = scale}, inputs_, {.size = count, .params_in = to, .params_out = to});
    return {};
  }

  // In place: of a slice that is not this rank's, only its owner reads the values here, and no more once it has told.
  Status large(std::size_t count, double scale) {
    const auto ranks = static_cast<std::size_t>(size_);
    const auto slice = (count / ranks + kFloatsALine) / kFloatsALine * kFloatsALine;
    // Without a core each, who waits for a piece waits for the scheduler: all of a slice at once.
    const auto piece = spins_ > 0 ? std::min(kPiece, slice) : slice;
    const auto pieces = (slice + piece - 1) / piece;
    const auto part = [&](std::size_t rank, std::size_t number) {
      const auto begin = std::min(count, rank * slice + number * piece);
      const auto end = std::min({count, (rank + 1) * slice, rank * slice + (number + 1) * piece});
      return std::pair(begin, std::max(begin, end) - begin);
    };
    auto* mine = values().data();
    const auto begun = count_;
    tell();
    if (auto here = all_at(begun + 1); !here.ok()) return here;
    for (std::size_t number = 0; number <= pieces; ++number) {
      if (number < pieces) {
        const auto [from, length] = part(static_cast<std::size_t>(rank_), number);
        sum(scale, from, length, mine + from);
        tell();
      }
      for (std::size_t next = 1; number > 0 && next < ranks; ++next) {
        const auto rank = (static_cast<std::size_t>(rank_) + next) % ranks;
        if (auto made = at(rank, begun + 1 + static_cast<std::uint32_t>(number)); !made.ok()) return made;
        const auto [from, length] = part(rank, number - 1);
        if (count > kernel::kMoreThanCachesHold)
          kernel::copy_past_caches(values_of(rank) + from, mine + from, length);
        else
          std::memcpy(mine + from, values_of(rank) + from, length * sizeof(float));
      }
    }
    tell();
    return all_at(count_);  // now nobody reads here any more
  }

  int rank_, size_;
  std::size_t values_;
  std::chrono::milliseconds patience_;
  int spins_;
  std::shared_ptr<transport::Arena> arena_ = transport::Arena::make();
  std::shared_ptr<std::byte> memory_;
  Shown* own_ = nullptr;
  std::vector<Other> others_;
  std::vector<kernel::Input> inputs_;
  std::uint32_t count_ = 0;
  std::size_t turn_ = 0;
  Status broken_;
};

Result<HostGroup> HostGroup::join(const std::string& path, int rank, int size, std::size_t values,
                                  std::chrono::milliseconds patience) {
  if (size < 1 || size > kMostRanks || rank < 0 || rank >= size)
    return Error{Code::invalid_argument,
                 fmt::format("rank {} of {}: a group has 1 to {} ranks, counted from 0", rank, size, kMostRanks)};
  auto impl = std::make_unique<Impl>(rank, size, values, patience);
  if (auto joined = impl->join(path); !joined.ok()) return joined.error();
  return HostGroup(std::move(impl));
}

HostGroup::HostGroup(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HostGroup::HostGroup(HostGroup&&) noexcept = default;
HostGroup& HostGroup::operator=(HostGroup&&) noexcept = default;
HostGroup::~HostGroup() = default;

int HostGroup::rank() const { return impl_->rank(); }
int HostGroup::size() const { return impl_->size(); }
std::span<float> HostGroup::values() { return impl_->values(); }
Status HostGroup::all_reduce(std::size_t count, double scale) { return impl_->all_reduce(count, scale); }
Status HostGroup::barrier() { return impl_->barrier(); }

}  // namespace yoke
