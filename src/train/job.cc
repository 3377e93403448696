#include "train/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "cluster/layout_difference.h"
#include "cluster/silence.h"

namespace yoke::train {
namespace {

std::uint32_t at_once(const Options& options) {
  if (options.deterministic) return 1;  // LibTorch's generator of random numbers is one for the whole process
  if (options.compute_at_once > 0) return options.compute_at_once;
  return std::max(1u, std::thread::hardware_concurrency());
}

}  // namespace

Job::Job(Options options, OpenCluster open, std::uint32_t opener)
    : options_(std::move(options)),
      open_(std::move(open)),
      opener_(opener),
      turns_(at_once(options_)),
      work_(options_.replicas) {}

void Job::add_work(std::uint32_t replica, Duration time, bool whole) {
  auto& work = work_[replica];
  (whole ? work.whole : work.cut) += std::chrono::duration<double>(time).count();
  ++(whole ? work.wholes : work.cuts);
}

double Job::mean_work(std::uint32_t replica) const {
  const auto& work = work_[replica];
  if (work.wholes) return work.whole / static_cast<double>(work.wholes);
  return work.cuts ? work.cut / static_cast<double>(work.cuts) : 0;
}

Result<cluster::Cluster*> Job::cluster(std::size_t index, const Layout& layout, std::uint32_t replica) {
  if (replica != opener_) await_opener(index + 1);
  const std::lock_guard lock(mutex_);
  if (hangs_)
    return Error{Code::timed_out,
                 fmt::format("the job hangs: replica 0, the chief, has not attached network {} within {:.1f} s; every "
                             "replica attaches the same networks in the same order; if that is normal here, raise "
                             "--deadline",
                             clusters_.size(), std::chrono::duration<double>(options_.deadline).count())};
  if (replica != opener_ && index >= clusters_.size())
    return Error{Code::peer_down,
                 "replica 0, the chief, was lost before it has attached this network; every replica attaches the same "
                 "networks in the same order"};
  if (index == clusters_.size()) {
    std::size_t elements = 0;
    for (const auto& slot : layout.slots) elements += slot.frozen ? 0 : slot.size();
    if (elements == 0) return Error{Code::invalid_argument, "the network has no parameters to train"};
    auto opened = open_(static_cast<std::uint32_t>(index), layout);
    if (!opened) return opened.error();
    clusters_.push_back(std::move(*opened));
    for (const auto& [gone, why] : left_) clusters_.back()->leave(gone, why);
    wake_.notify_all();
  } else if (const auto different = cluster::difference(clusters_[index]->layout(), layout); !different.empty()) {
    return Error{Code::invalid_argument, "the replicas' networks differ: " + different};
  }
  return clusters_[index].get();
}

void Job::leave(std::uint32_t replica, const std::string& reason) {
  std::vector<cluster::Cluster*> clusters;
  {
    const std::lock_guard lock(mutex_);
    left_.emplace(replica, reason);
    for (const auto& cluster : clusters_) clusters.push_back(cluster.get());
  }
  wake_.notify_all();
  for (auto* cluster : clusters) cluster->leave(replica, reason);
}

void Job::await_opener(std::size_t networks) {
  std::unique_lock lock(mutex_);
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  cluster::Silence silence(options_.deadline, now());
  while (clusters_.size() < networks && !left_.contains(opener_) && !hangs_) {
    const auto left = silence.look(now());
    hangs_ = left == Duration::zero();
    if (hangs_)
      wake_.notify_all();
    else
      wake_.wait_for(lock, left);
  }
}

void Job::wind_up() {
  const std::lock_guard lock(mutex_);
  for (const auto& cluster : clusters_) cluster->wind_up();
  for (const auto& cluster : clusters_) cluster->await_disk();
}

cluster::Cluster* Job::lead() const {
  const std::lock_guard lock(mutex_);
  return clusters_.empty() ? nullptr : clusters_.front().get();
}

}  // namespace yoke::train
