#include "cluster/checkpointer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

#include "cluster/layout_difference.h"
#include "yoke/version.h"

namespace yoke::cluster {
namespace {

constexpr std::chrono::minutes kUsual{10};  // between two, where nothing else is said
// Of the disk's thread: where the cores are all busy the steps do not wait for what has time.
constexpr int kNice = 15;
// And it leaves them the memory's bandwidth: it works a quarter of the time.
constexpr double kRests = 3;
constexpr std::chrono::milliseconds kLongestRest{20};

}  // namespace

Checkpointer::Checkpointer(Checkpoints settings, bool first, Say say)
    : settings_(std::move(settings)),
      first_(first),
      say_(std::move(say)),
      // Never used before, also not by a former life of this process.
      tokens_(static_cast<std::uint64_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
              .count())),
      pace_(kRests, kLongestRest),
      unhurried_(checkpoint::unhurried_disk([this] { pace_.rest(); })),
      disk_(1) {
  disk_.post([] { ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice); });
}

Result<std::unique_ptr<Checkpointer>> Checkpointer::open(const Checkpoints& settings, bool first, const Say& say,
                                                         bool goes_on) {
  if (settings.folder.empty() && settings.resume.empty()) return std::unique_ptr<Checkpointer>();
  std::unique_ptr<Checkpointer> made(new Checkpointer(settings, first, say));
  // First the folder: what a former life left half done there is put in order before anything is read.
  if (first && !settings.folder.empty())
    if (auto taken = made->take_folder(goes_on); !taken) return taken.error();
  if (!settings.resume.empty() && !goes_on)
    if (auto read = made->read_resumed(); !read) return read.error();
  return made;
}

std::shared_ptr<const checkpoint::Checkpoint> Checkpointer::newest_on_disk() const {
  auto found =
      checkpoint::newest(checkpoint::posix_disk(), settings_.folder.empty() ? settings_.resume : settings_.folder);
  return found ? std::move(found->checkpoint) : nullptr;
}

Status Checkpointer::read_resumed() {
  auto found = checkpoint::newest(checkpoint::posix_disk(), settings_.resume);
  if (!found) {
    auto error = found.error();
    if (error.code == Code::missing)
      error.message += fmt::format("; --resume wants the folder that --checkpoint was given");
    return error;
  }
  for (const auto& [folder, why] : found->passed_over)
    if (say_ && first_) say_(fmt::format("checkpoint {} is damaged and passed over: {}", folder, why));
  resumed_ = std::move(found->checkpoint);
  std::error_code ignored;
  if (resumed_ && std::filesystem::equivalent(settings_.folder, settings_.resume, ignored))
    newest_ = {resumed_->folder(), resumed_->manifest().version, ""};
  if (!first_ || !say_) return {};
  if (!resumed_)
    say_(fmt::format("there is no checkpoint in {} yet: training starts from the beginning", settings_.resume));
  else
    say_(fmt::format("going on from {}", resumed_->folder()));
  return {};
}

Status Checkpointer::take_folder(bool goes_on) {
  auto& disk = checkpoint::posix_disk();
  const auto& folder = settings_.folder;
  if (auto made = checkpoint::make_lasting(disk, folder); !made) return made;
  auto lock = checkpoint::lock_folder(folder);
  if (!lock) return lock.error();
  lock_.emplace(std::move(*lock));
  if (!goes_on)
    if (auto checked = check_folder(); !checked) return checked;
  return checkpoint::clean(disk, folder);
}

// It has none, or they are those that are gone on from.
Status Checkpointer::check_folder() const {
  const auto& folder = settings_.folder;
  std::error_code ignored;
  if (!settings_.resume.empty() && std::filesystem::equivalent(folder, settings_.resume, ignored)) return {};
  const auto names = checkpoint::posix_disk().list(folder);
  if (!names) return names.error();
  for (const auto& name : *names)
    if (checkpoint::version_sealed(name))
      return Error{Code::invalid_argument,
                   fmt::format("{} has checkpoints of another run ({}): go on from them with --resume {}, or give "
                               "another folder",
                               folder, name, folder)};
  return {};
}

std::optional<core::Standing> Checkpointer::standing(std::uint32_t network) const {
  if (!resumed_ || network >= resumed_->manifest().networks.size()) return {};
  return resumed_->manifest().networks[network].standing;
}

Status Checkpointer::check(std::uint32_t network, const Layout& layout, std::uint64_t seed, bool shuffle) const {
  if (!resumed_) return {};
  const auto& manifest = resumed_->manifest();
  const auto differs = [&](const std::string& what) {
    return Error{Code::refused, fmt::format("{} cannot be gone on from: {}", resumed_->folder(), what)};
  };
  if (network >= manifest.networks.size())
    return differs(fmt::format("it has {} networks, and this is number {}", manifest.networks.size(), network + 1));
  if (const auto different = difference_of_models(manifest.networks[network].layout, layout); !different.empty())
    return differs(fmt::format("it has another model: {} (there: the checkpoint)", different));
  if (manifest.job.seed != seed || manifest.job.shuffle != shuffle)
    return differs(fmt::format("its samples come in the order of seed {}{}; give the same", manifest.job.seed,
                               manifest.job.shuffle ? "" : ", unshuffled"));
  return {};
}

// --- when ---

core::TakeCheckpoint Checkpointer::next(wire::Version at_least) { return latest_ = {++tokens_, at_least}; }

core::TakeCheckpoint Checkpointer::request(wire::Version committed) {
  const std::lock_guard lock(mutex_);
  // Several networks can only be had at one version if none of them is past it.
  return next(networks_.size() > 1 ? committed + 2 : 0);
}

std::optional<core::TakeCheckpoint> Checkpointer::follow(std::uint32_t network) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(followed_[network], latest_.token) == latest_.token) return {};
  return latest_;
}

std::optional<core::TakeCheckpoint> Checkpointer::due(wire::Version committed, Time now) {
  if (!writes()) return {};
  const std::lock_guard lock(mutex_);
  if (!last_) last_ = now;
  if (const auto asked = settings_.asked ? settings_.asked->load() : 0; asked != asked_) {
    asked_ = asked;
    return next(networks_.size() > 1 ? committed + 2 : 0);
  }
  const Duration every = settings_.every.count() > 0  ? Duration(settings_.every)
                         : settings_.every_steps == 0 ? Duration(kUsual)
                                                      : Duration::zero();
  if (every > Duration::zero() && now - *last_ >= every) {
    last_ = now;
    return next(networks_.size() > 1 ? committed + 2 : 0);
  }
  if (settings_.every_steps == 0 || armed_) return {};
  armed_ = true;
  return next((committed / settings_.every_steps + 1) * settings_.every_steps);
}

// --- what ---

void Checkpointer::expect_network(std::uint32_t shards) {
  const std::lock_guard lock(mutex_);
  networks_.push_back(shards);
}

void Checkpointer::write(std::uint32_t network, const checkpoint::Place& place, checkpoint::Part part, Written done) {
  const std::lock_guard lock(mutex_);
  if (failed_.contains(place.token)) {
    disk_.post([done = std::move(done)] { done(Error{Code::cancelled, "another part of it failed"}); });
    return;
  }
  // By now every server has answered for those that failed before: what they still wrote there can go.
  for (const auto& former : std::exchange(discarded_, {}))
    disk_.post([former] { static_cast<void>(checkpoint::discard(checkpoint::posix_disk(), former)); });
  const std::pair key{place.token, place.shard};
  auto& gathered = gathered_[key];
  gathered.parts[network] = std::move(part);
  gathered.done.push_back(std::move(done));
  if (network == 0) versions_[place.token] = place.version;
  const auto here = std::ranges::count_if(networks_, [&](auto shards) { return shards > place.shard; });
  if (gathered.parts.size() < static_cast<std::size_t>(here)) return;
  auto at = place;
  at.shards = *std::ranges::max_element(networks_);
  at.folder = settings_.folder;
  at.version = versions_[place.token];
  ++at_work_;
  disk_.post([this, at, whole = std::make_shared<Gathered>(std::move(gathered))] {
    write_now(at, *whole);
    const std::lock_guard inner(mutex_);
    --at_work_;
  });
  gathered_.erase(key);
}

void Checkpointer::write_now(const checkpoint::Place& place, const Gathered& gathered) {
  pace_.begin();
  checkpoint::Part all;
  for (const auto& [network, part] : gathered.parts) {
    all.pieces.insert(all.pieces.end(), part.pieces.begin(), part.pieces.end());
    all.counts.insert(all.counts.end(), part.counts.begin(), part.counts.end());
  }
  const auto sum = settings_.folder.empty()
                       ? Result<std::uint64_t>(Error{Code::refused, "it was started without --checkpoint DIR"})
                       : checkpoint::write_part(*unhurried_, place, all);
  for (const auto& done : gathered.done) done(sum);
}

void Checkpointer::seal(std::uint32_t network, const core::Seal& seal, checkpoint::NetworkFacts facts,
                        const checkpoint::JobFacts& job, double seconds, Done done) {
  const std::lock_guard lock(mutex_);
  auto& sealing = sealing_[seal.token];
  if (seal.sums.size() > sealing.sums.size()) sealing.sums = seal.sums;  // where both have one, it is the same
  sealing.networks[network] = std::move(facts);
  sealing.done.push_back(std::move(done));
  if (sealing.networks.size() < networks_.size()) return;
  checkpoint::Manifest manifest;
  manifest.version = versions_[seal.token];
  for (auto& [number, one] : sealing.networks) manifest.networks.push_back(std::move(one));
  manifest.job = job;
  manifest.program = kVersion;
  manifest.written_at = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  manifest.command = settings_.command;
  manifest.seconds_trained = seconds + (resumed_ ? resumed_->manifest().seconds_trained : 0);
  const checkpoint::Place place{settings_.folder, manifest.version, seal.token, 0,
                                *std::ranges::max_element(networks_)};
  ++at_work_;
  disk_.post([this, place, manifest = std::move(manifest), sums = sealing.sums, calls = std::move(sealing.done)] {
    const auto sealed = seal_now(place, manifest, sums);
    for (const auto& call : calls) call(sealed);
    const std::lock_guard inner(mutex_);
    --at_work_;
  });
  sealing_.erase(seal.token);
}

Status Checkpointer::seal_now(const checkpoint::Place& place, const checkpoint::Manifest& manifest,
                              const std::vector<std::uint64_t>& sums) {
  auto& disk = checkpoint::posix_disk();
  if (auto sealed = checkpoint::seal(disk, place, manifest, sums); !sealed) return sealed;
  {
    const std::lock_guard lock(mutex_);
    newest_ = {checkpoint::sealed_path(place.folder, place.version), place.version, ""};
    versions_.erase(place.token);
  }
  // What is not tidied up now is tidied up with the next one.
  if (auto pruned = checkpoint::prune(disk, place.folder, std::max(1u, settings_.keep), place.version); !pruned)
    if (say_) say_(fmt::format("old checkpoints could not be removed: {}", pruned.error().message));
  return {};
}

void Checkpointer::announced() {
  const std::lock_guard lock(mutex_);
  armed_ = false;
}

void Checkpointer::discard(const core::Discard& discard) {
  const std::lock_guard lock(mutex_);
  armed_ = false;
  newest_.problem = discard.reason;
  if (!failed_.insert(discard.token).second) return;
  // Networks that wait for the one that failed wait in vain.
  const Error why{Code::cancelled, discard.reason};
  std::vector<std::function<void()>> calls;
  for (auto it = gathered_.begin(); it != gathered_.end();)
    if (it->first.first == discard.token) {
      for (const auto& done : it->second.done) calls.push_back([done, why] { done(why); });
      it = gathered_.erase(it);
    } else {
      ++it;
    }
  if (const auto sealing = sealing_.find(discard.token); sealing != sealing_.end()) {
    for (const auto& done : sealing->second.done) calls.push_back([done, why] { done(why); });
    sealing_.erase(sealing);
  }
  std::optional<checkpoint::Place> place;
  if (const auto version = versions_.find(discard.token); version != versions_.end()) {
    place = {settings_.folder, version->second, discard.token, 0, 1};
    discarded_.push_back(*place);
    versions_.erase(version);
  }
  disk_.post([place, calls = std::move(calls)] {
    if (place) static_cast<void>(checkpoint::discard(checkpoint::posix_disk(), *place));
    for (const auto& call : calls) call();
  });
}

bool Checkpointer::has(wire::Version version) const {
  const std::lock_guard lock(mutex_);
  if (!newest_.folder.empty() && newest_.version == version) return true;
  return std::any_of(versions_.begin(), versions_.end(), [&](const auto& entry) { return entry.second == version; });
}

Checkpointer::Newest Checkpointer::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

bool Checkpointer::busy() const {
  const std::lock_guard lock(mutex_);
  return at_work_ > 0 || !gathered_.empty() || !sealing_.empty();
}

}  // namespace yoke::cluster
