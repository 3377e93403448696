#include "cluster/remote_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstring>

#include "cluster/while_set.h"
#include "kernel/pass.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

constexpr auto kAccountDeadline = std::chrono::seconds(10);
// Less than this goes with what is handed in next: for it alone the loop's thread is not woken. Where that has no core
// but the one that computes, and nothing has to travel, it waits for more: there is nothing to be gained but time that
// is lost for changing from one thread to the other.
constexpr std::size_t kWorthWaking = 64u << 10, kWorthTheOnlyCore = 4u << 20;

}  // namespace

RemoteCluster::RemoteCluster(Links& links, std::uint32_t network, Layout layout, core::BlockPlan plan)
    : links_(links),
      network_(network),
      layout_(std::move(layout)),
      plan_(std::move(plan)),
      // With a coordinator the replicas may be the only ones that have what was told of last.
      eager_(links.options.coordinator.empty()),
      newest_(plan_.shards(), 0),
      due_(plan_.blocks.size()),
      due_of_(plan_.shards()),
      begun_early_(plan_.shards()),
      in_places_(plan_.shards()),
      ahead_(plan_.shards()),
      asked_again_(plan_.shards()) {
  std::size_t floats = 0;
  for (const auto& block : plan_.blocks) floats += block.size;
  large_ = floats > kernel::kMoreThanCachesHold;
}

RemoteCluster::~RemoteCluster() {
  const Links::Lock lock(links_.mutex);
  if (const auto it = links_.clusters.find(network_); it != links_.clusters.end() && it->second == this)
    links_.clusters.erase(it);
}

void RemoteCluster::record(history::What what) const {
  if (links_.options.recorder && network_ == 0) links_.options.recorder->add(links_.now(), std::move(what));
}

std::span<float> RemoteCluster::place(wire::BlockId id) const {
  const auto& block = plan_.blocks[id];
  return places_[block.slot].subspan(block.offset, block.size);
}

// --- setting out ---

Status RemoteCluster::attach(wire::ReplicaId, Places places) {
  Links::Lock lock(links_.mutex);
  places_ = std::move(places);
  for (;;) {
    auto attached = take_first_values(lock);
    if (attached || !links_.lost || !links_.forms) return attached;
    if (auto back = links_.rejoin(lock); !back) return back;
  }
}

Status RemoteCluster::take_first_values(Links::Lock& lock) {
  const WhileSet attaching(attaching_);
  if (bring_) {
    if (auto brought = bring_values(lock); !brought) return brought;
  } else {
    for (wire::ShardId server = 0; server < links_.servers.size(); ++server)
      links_.send(server, wire::encode(wire::FirstValuesDone{network_}));
  }
  auto waited = links_.wait(lock, "starting", [&] { return first_values_ == links_.servers.size(); });
  links_.quiesce(lock, !waited);
  return waited;
}

Status RemoteCluster::bring_values(Links::Lock& lock) {
  std::set<wire::ShardId> servers;
  for (wire::ShardId server = 0; server < links_.servers.size(); ++server) servers.insert(server);
  if (auto sent = send_values(lock, servers); !sent) return sent;
  for (const auto server : servers) links_.send(server, wire::encode(wire::FirstValuesDone{network_}));
  return {};
}

std::vector<wire::Holding> RemoteCluster::has() const {
  std::vector<wire::Holding> all;
  for (wire::ShardId shard = 0; shard < in_places_.size(); ++shard) {
    if (!in_places_[shard]) continue;
    // A model writes to its buffers while it computes. Those that stay local are the first server's to keep.
    const auto& blocks = plan_.of_shard[shard];
    const auto drifts = [](const Slot& slot) { return slot.frozen && slot.buffer; };
    if (shard == 0 && std::ranges::any_of(layout_.slots, drifts)) continue;
    if (redirected_ || std::ranges::any_of(blocks, [&](auto id) { return plan_.blocks[id].averaged; })) continue;
    all.push_back({in_places_[shard]->view, network_, shard, plan_.shards(), in_places_[shard]->version, {}});
  }
  return all;
}

Status RemoteCluster::bring_wanted(Links::Lock& lock) {
  const auto wanted = std::exchange(wanted_, {});
  for (const auto& holding : has()) {
    const auto it = wanted.find(holding.shard);
    if (it == wanted.end() || it->second.version != holding.version || it->second.view != holding.view) continue;
    if (auto sent = send_values(lock, {holding.shard}); !sent) return sent;
    links_.send(holding.shard, wire::encode(it->second));
  }
  return {};
}

Status RemoteCluster::send_values(Links::Lock& lock, const std::set<wire::ShardId>& servers) {
  // The values are the caller's: they are sent from where they are, and he is kept until they have gone out.
  auto pending = std::make_shared<std::size_t>(0);
  const auto send = [&](wire::ShardId server, const wire::FirstValues& what, std::span<const float> values) {
    ++*pending;
    links_.send(server, wire::encode(what), {std::as_bytes(values), nullptr}, [&links = links_, pending](bool) {
      const std::lock_guard inner(links.mutex);
      --*pending;
      links.wake.notify_all();
    });
  };
  for (const auto& block : plan_.blocks)
    if (servers.contains(block.shard)) send(block.shard, {network_, block.id, false, 0}, place(block.id));
  for (SlotId slot = 0; slot < layout_.slots.size() && servers.contains(0); ++slot) {
    if (!layout_.slots[slot].frozen) continue;
    const std::span<const float> values = places_[slot];
    for (std::size_t at = 0; at < values.size(); at += wire::FirstValues::kPiece)
      send(0, {network_, slot, true, at}, values.subspan(at, std::min(wire::FirstValues::kPiece, values.size() - at)));
  }
  auto waited = links_.wait(lock, "bringing the first values", [&] { return *pending == 0; });
  links_.quiesce(lock, !waited, [&] { return *pending > 0; });
  return waited;
}

void RemoteCluster::join(wire::ReplicaId, std::uint64_t samples, std::uint32_t batch) {
  const Links::Lock lock(links_.mutex);
  if (joined_) return;
  joined_ = true;
  batch_ = batch;
  data_ = samples;
  begin_again();
}

std::string RemoteCluster::opening(const wire::JobTerms& terms) const {
  return wire::encode(wire::Open{network_, terms, layout_, links_.options.about});
}

void RemoteCluster::forget() {
  opened_ = 0;
  first_values_ = 0;
  bring_ = false;
  wanted_.clear();
  kept_.clear();
  arriving_.clear();
  arrived_.clear();
  to_install_.clear();
  pushing_.clear();
  fetching_.reset();
  std::fill(newest_.begin(), newest_.end(), 0);
  std::fill(due_.begin(), due_.end(), false);
  std::fill(due_of_.begin(), due_of_.end(), 0);
  std::fill(begun_early_.begin(), begun_early_.end(), false);
  std::fill(asked_again_.begin(), asked_again_.end(), false);
  inside_ = false;
  lost_work_ = lost_work_ || taken_ > 0;  // it may be tried more than once
  taken_ = 0;
  abandoned_ = true;
}

void RemoteCluster::cut_for(std::uint32_t shards) {
  side_.reset();  // it knows the plan by reference
  plan_ = core::plan_blocks(layout_, shards);
  newest_.assign(plan_.shards(), 0);
  due_.assign(plan_.blocks.size(), false);
  due_of_.assign(plan_.shards(), 0);
  begun_early_.assign(plan_.shards(), false);
  in_places_.assign(plan_.shards(), {});
  ahead_.assign(plan_.shards(), false);
  asked_again_.assign(plan_.shards(), false);
}

std::vector<SlicePiece> RemoteCluster::frozen() const {
  std::vector<SlicePiece> pieces;
  for (SlotId slot = 0; slot < layout_.slots.size() && slot < places_.size(); ++slot)
    if (layout_.slots[slot].frozen) pieces.push_back({{network_, 0, slot, 0, 0, 0}, places_[slot], nullptr});
  return pieces;
}

void RemoteCluster::begin_again() {
  side_.emplace(links_.life, plan_, data_, batch_);
  core::Effects effects;
  side_->join(effects);
  carry_out(effects);
}

Status RemoteCluster::check_versions() const {
  const auto& first = kept_.at(0);
  for (const auto& [shard, here] : kept_) {
    if (here.version == first.version && here.bring_values == first.bring_values) continue;
    if (links_.options.container.empty())
      return Error{Code::refused,
                   fmt::format("the servers go on from different checkpoints: server 0 has version {}, server {} has "
                               "{}. All of them need the same --resume, in a folder that all of them see",
                               first.version, shard, here.version)};
    return Error{Code::refused,
                 fmt::format("the servers have different versions of container {}: server 0 has {}, server {} has {}. "
                             "One of them was lost in the middle of a job. `yoke containers rm {}` removes it",
                             links_.options.container, first.version, shard, here.version, links_.options.container)};
  }
  return {};
}

// --- the machine, under the lock ---

void RemoteCluster::deliver(core::Event event) {
  core::Effects effects;
  side_->on(event, links_.now(), effects);
  if (taken_ > 0 && side_->verdict(taken_)) abandoned_ = true;
  carry_out(effects);
}

void RemoteCluster::carry_out(const core::Effects& effects) { links_.send(messages_of(effects), false); }

std::vector<Links::Outgoing> RemoteCluster::messages_of(const core::Effects& effects) {
  std::vector<Links::Outgoing> messages;
  const auto self = wire::replica_at(links_.life.replica);
  for (const auto& effect : effects) {
    const auto* send = std::get_if<core::Send>(&effect);
    if (!send) continue;
    const auto server = send->to.role == wire::Address::Role::shard ? send->to.id : 0;
    transport::Bytes payload;
    if (const auto* push = std::get_if<wire::Push>(&send->message); push && push->ticket != 0) {
      auto& gradient = pushing_.at(push->ticket);
      payload = {std::as_bytes(gradient.values), std::move(gradient.keep)};
      pushing_.erase(push->ticket);
    }
    messages.push_back({server, wire::encode(wire::Post{network_, self, send->to, send->message}), std::move(payload)});
  }
  return messages;
}

// In memory that the servers can read, if they can read any: where the gradient was born, or a copy.
Payload RemoteCluster::readable(Payload gradient) const {
  const auto bytes = gradient.values.size_bytes();
  if (bytes == 0 || !shares_ || links_.arena->find(gradient.values.data(), bytes)) return gradient;
  const auto copy = links_.arena->allocate(bytes);
  if (!copy) return gradient;
  std::memcpy(copy.get(), gradient.values.data(), bytes);
  return {{reinterpret_cast<const float*>(copy.get()), gradient.values.size()}, copy};
}

Result<transport::Sink> RemoteCluster::announced(const wire::JobMessage& message, std::size_t bytes, bool by_pointer) {
  const auto wrong = [](const char* what) { return Error{Code::corrupt, what}; };
  if (const auto* first = std::get_if<wire::FirstValues>(&message)) {
    if (!attaching_) return wrong("first values that nobody waits for");
    std::span<float> to;
    if (first->frozen) {
      if (first->block >= places_.size() || !layout_.slots[first->block].frozen) return wrong("values of no slot");
      to = places_[first->block];
      const auto floats = bytes / sizeof(float);
      if (first->offset > to.size() || floats > to.size() - first->offset) return wrong("values outside of their slot");
      to = to.subspan(first->offset, floats);
    } else {
      if (first->block >= plan_.blocks.size()) return wrong("values of no block");
      to = place(first->block);
    }
    if (to.size_bytes() != bytes) return wrong("values of another size than their place");
    return transport::Sink{std::as_writable_bytes(to)};
  }
  const auto* values = std::get_if<wire::BlockValues>(&message);
  if (!values || values->block >= plan_.blocks.size()) return wrong("a payload where none belongs");
  if (bytes != plan_.blocks[values->block].size * sizeof(float))
    return wrong("values of another size than their block");
  const auto shard = plan_.blocks[values->block].shard;
  if (by_pointer || !free(shard)) return transport::Sink{};
  if (due_[values->block])
    in_places_[shard].reset();
  else
    write_ahead(values->block);
  return transport::Sink{std::as_writable_bytes(place(values->block))};
}

bool RemoteCluster::received(wire::ShardId server, wire::JobMessage message, transport::Bytes payload) {
  if (const auto* opened_here = std::get_if<wire::Opened>(&message)) {
    ++opened_;
    if (server < plan_.shards()) {  // the others have nothing of it
      kept_[server] = *opened_here;
      bring_ = bring_ || opened_here->bring_values;
    }
    if (opened()) shares_ = std::ranges::any_of(links_.servers, &Links::Link::by_pointer);
  } else if (std::holds_alternative<wire::FirstValuesDone>(message)) {
    ++first_values_;
  } else if (const auto* wants = std::get_if<wire::Wanted>(&message)) {
    if (server < plan_.shards()) wanted_[server] = *wants;
  } else if (const auto* values = std::get_if<wire::BlockValues>(&message)) {
    const bool in_place = reinterpret_cast<const float*>(payload.bytes.data()) ==
                          (places_.empty() ? nullptr : place(values->block).data());
    if (due_[values->block]) return take_due(values->block, {std::move(payload), values->version, in_place});
    arriving_[values->block] = {std::move(payload), values->version, in_place};
    if (!in_place) to_install_.push_back(values->block);
    return !in_place && free(plan_.blocks[values->block].shard);
  } else if (const auto* post = std::get_if<wire::Post>(&message)) {
    if (const auto* parameters = std::get_if<wire::Parameters>(&post->message))
      if (parameters->shard < newest_.size()) take_told(*parameters);
    if (const auto* assign = std::get_if<wire::Assign>(&post->message); assign && links_.committed)
      links_.committed(network_, assign->step);
    if (side_) deliver(core::Received{post->from, post->message});
  }
  return true;
}

// Only now may a shard's blocks be used: those that came ahead, unless all of them follow, and the rest as they come.
void RemoteCluster::take_told(const wire::Parameters& told) {
  const auto& blocks = plan_.of_shard[told.shard];
  const bool afresh = told.follow > 0 && told.follow >= blocks.size();
  newest_[told.shard] = told.version;
  ahead_[told.shard] = asked_again_[told.shard] = begun_early_[told.shard] = false;
  due_of_[told.shard] = 0;
  for (const auto block : blocks) {
    auto node = arriving_.extract(block);
    due_[block] = told.follow > 0 && (afresh || node.empty());
    if (due_[block]) {
      arrived_.erase(block);  // it would be put over something newer
      ++due_of_[told.shard];
    } else if (!node.empty()) {
      arrived_[block] = std::move(node.mapped());
    }
  }
}

// True: somebody may be waiting for it.
bool RemoteCluster::take_due(wire::BlockId block, Arrived values) {
  const auto shard = plan_.blocks[block].shard;
  due_[block] = false;
  if (!values.in_place) arrived_[block] = std::move(values);
  const bool last = --due_of_[shard] == 0;
  const bool awaited = last || begun_early_[shard];
  if (last) begun_early_[shard] = false;
  return awaited;
}

bool RemoteCluster::due(SlotId slot) const {
  return std::ranges::any_of(plan_.of_slot[slot], [&](auto block) { return due_[block]; });
}

bool RemoteCluster::all_here() const {
  return std::ranges::all_of(due_of_, [](auto blocks) { return blocks == 0; });
}

// The replica computes on nothing of what comes next from there, and waits for this very answer: once the shard has
// answered, and all of it has come, what follows is for later.
bool RemoteCluster::free(wire::ShardId shard) const {
  if (redirected_) return false;
  if (due_of_[shard] > 0) return inside_ || begun_early_[shard];
  if (!inside_) return false;
  if (fetching_) return newest_[shard] < *fetching_ || ahead_[shard];
  if (!side_) return false;
  const bool handed_in = taken_ > 0 && side_->work() && side_->work()->gradient.sequence == taken_;
  return handed_in || !side_->here(shard);
}

// The block's place is written to from here on.
void RemoteCluster::write_ahead(wire::BlockId block) {
  const auto shard = plan_.blocks[block].shard;
  in_places_[shard].reset();
  ahead_[shard] = true;
  arrived_.erase(block);  // it would be put over something newer
}

// Puts one block in its place that is not known to count yet. False: there is none.
bool RemoteCluster::install_ahead(Links::Lock& lock) {
  while (!to_install_.empty()) {
    const auto block = to_install_.front();
    to_install_.pop_front();
    const auto it = arriving_.find(block);
    // One that cannot be put there now is put there with the rest.
    if (!eager_ || it == arriving_.end() || it->second.in_place || !free(plan_.blocks[block].shard)) continue;
    const auto bytes = std::exchange(it->second.bytes, {});
    it->second.in_place = true;
    write_ahead(block);
    lock.unlock();
    copy_to_place(block, bytes.bytes);
    lock.lock();
    return true;
  }
  return false;
}

// What is in a place was decided otherwise, and the replica is to work on what was there before.
void RemoteCluster::ask_again() {
  const auto& side = *side_;
  if (!side.work() || side.work()->gradient.sequence <= taken_ || !side.parameters_here()) return;
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard) {
    if (!ahead_[shard] || asked_again_[shard]) continue;
    asked_again_[shard] = true;
    links_.send(shard, wire::encode(wire::Post{network_, wire::replica_at(links_.life.replica), wire::shard_at(shard),
                                               wire::Pull{links_.life, newest_[shard]}}));
  }
}

void RemoteCluster::copy_to_place(wire::BlockId block, std::span<const std::byte> values) const {
  if (large_)
    kernel::copy_past_caches(reinterpret_cast<const float*>(values.data()), place(block).data(),
                             plan_.blocks[block].size);
  else
    std::memcpy(place(block).data(), values.data(), values.size());
}

// --- what the replica does ---

Result<Work> RemoteCluster::next(wire::ReplicaId) {
  Links::Lock lock(links_.mutex);
  lost_work_ = false;
  for (;;) {
    if (!links_.forms || !links_.lost) {  // a newcomer waits, while work is there all the time
      auto work = next_work(lock);
      if (!work || work->late.empty()) links_.quiesce(lock, !work);
      if (work || !links_.lost) return work;
    }
    if (auto back = links_.rejoin(lock); !back) return back.error();
    lost_work_ = false;  // it had none
  }
}

Result<Work> RemoteCluster::next_work(Links::Lock& lock) {
  auto& side = *side_;
  // What can be looked at where it lies is here as soon as it is told of.
  const auto may_begin = [&] {
    for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard)
      if (due_of_[shard] > 0 && links_.servers[shard].by_pointer) return false;
    return true;
  };
  const auto has_work = [&] {
    return side.work() && side.work()->gradient.sequence > taken_ && side.parameters_here() &&
           !side.verdict(side.work()->gradient.sequence) && !std::ranges::count(ahead_, true) && may_begin();
  };
  {
    const WhileSet inside(inside_);
    const auto waited = links_.wait(
        lock, "idle", [&] { return has_work() || side.done() || !side.turned_away().empty(); },
        [&] {
          ask_again();
          return install_ahead(lock);
        });
    if (!waited) return waited.error();
    if (side.drained()) return Work{.done = true, .pulling = now()};
    if (!side.turned_away().empty()) return Error{Code::refused, side.turned_away()};
  }
  Work work;
  work.pulling = now();
  work.done = !has_work();
  if (work.done) {
    if (auto fetched = fetch(lock, side.final_version(), "taking the last version"); !fetched) return fetched.error();
    return work;
  }
  work.assign = *side.work();
  present_ = work.assign.gradient;
  taken_ = present_.sequence;
  samples_ = work.assign.range ? static_cast<std::uint32_t>(work.assign.range->size()) : batch_;
  abandoned_ = false;
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard) {
    side.installed(shard, newest_[shard]);
    record(history::Installed{work.assign.gradient, shard, newest_[shard]});
  }
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard) begun_early_[shard] = due_of_[shard] > 0;
  install(lock, std::nullopt);
  const auto missing = [&](wire::BlockId block) { return due_[block] || arrived_.contains(block); };
  for (SlotId slot = 0; slot < plan_.of_slot.size(); ++slot)
    if (std::ranges::any_of(plan_.of_slot[slot], missing)) work.late.push_back(slot);
  links_.progress.fetch_add(1, std::memory_order_relaxed);
  return work;
}

Status RemoteCluster::await(wire::ReplicaId, SlotId slot) {
  Links::Lock lock(links_.mutex);
  if (due(slot) || lost_work_) {
    const auto waited =
        links_.wait(lock, "taking the parameters", [&] { return !due(slot) || lost_work_ || abandoned_; });
    // `abandoned` says it as well, and `settle` joins again.
    if (lost_work_ || links_.lost || (waited && due(slot)))
      return Error{Code::cancelled, "what it would compute on is not all there, and the step is lost"};
    if (!waited) return waited;
  }
  for (const auto block : plan_.of_slot[slot]) {
    const auto node = arrived_.extract(block);
    if (!node.empty() && !node.mapped().in_place) copy_to_place(block, node.mapped().bytes.bytes);
  }
  return {};
}

// Copies what has come and is not in its place yet; the servers get it back then. Where an optimizer of the user's own
// takes the means, only those that this update made are copied: a parameter that took no part has none.
void RemoteCluster::install(Links::Lock& lock, std::optional<wire::Version> mean_of) {
  auto arrived = std::exchange(arrived_, {});
  const bool means_only = redirected_;
  installing_ = newest_;
  const auto late = due_of_;
  std::fill(in_places_.begin(), in_places_.end(), std::nullopt);
  lock.unlock();
  for (const auto& [block, values] : arrived) {
    if (means_only && !plan_.blocks[block].averaged && values.version != mean_of) continue;
    if (!values.in_place) copy_to_place(block, values.bytes.bytes);
  }
  arrived.clear();
  lock.lock();
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard)
    if (late[shard] == 0) in_places_[shard] = {links_.view, installing_[shard]};
}

// Asks every shard for this version or a newer one, and waits for it.
Status RemoteCluster::fetch(Links::Lock& lock, wire::Version version, const char* doing) {
  const auto here = [&] {
    return std::ranges::all_of(newest_, [&](auto newest) { return newest >= version; }) &&
           !std::ranges::count(ahead_, true) && all_here();
  };
  const auto self = wire::replica_at(links_.life.replica);
  for (wire::ShardId shard = 0; shard < plan_.shards(); ++shard)
    if (newest_[shard] < version || ahead_[shard])
      links_.send(shard,
                  wire::encode(wire::Post{network_, self, wire::shard_at(shard), wire::Pull{links_.life, version}}));
  {
    const WhileSet inside(inside_);
    fetching_ = version;
    auto waited = links_.wait(lock, doing, here);
    fetching_.reset();
    if (!waited) return waited;
  }
  install(lock, version);
  return {};
}

// The member leaves as a whole; here only the places are let go of.
void RemoteCluster::leave(wire::ReplicaId, const std::string&) {
  Links::Lock lock(links_.mutex);
  inside_ = false;
  std::fill(begun_early_.begin(), begun_early_.end(), false);
  links_.quiesce(lock, false);
}

void RemoteCluster::push(wire::ReplicaId replica, SlotId slot, Payload gradient) {
  if (abandoned(replica)) return;
  gradient = readable(std::move(gradient));  // a copy of megabytes is no work to be done under the lock
  Links::Lock lock(links_.mutex);
  if (abandoned(replica) || lost_work_ || !side_ || !side_->work()) return;
  // A gradient that counts is computed on what the history says, also when this process ends in the next moment.
  if (links_.options.recorder) static_cast<void>(links_.options.recorder->flush());
  core::Effects effects;
  for (const auto id : plan_.of_slot[slot]) {
    const auto& block = plan_.blocks[id];
    wire::Ticket ticket = 0;
    if (!gradient.values.empty()) {
      ticket = next_ticket_++;
      pushing_[ticket] = {gradient.values.subspan(block.offset, block.size), gradient.keep};
    }
    side_->push(id, ticket, samples_, effects);
  }
  auto messages = messages_of(effects);
  unheard_ += gradient.values.size_bytes();
  const bool quietly = unheard_ < (shares_ && links_.one_core ? kWorthTheOnlyCore : kWorthWaking);
  if (!quietly) unheard_ = 0;
  lock.unlock();  // the loop's thread may run at once, on this very core, and wants it
  links_.send(std::move(messages), quietly);
  links_.progress.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<std::byte> RemoteCluster::memory(std::size_t bytes) {
  return shares_ ? links_.arena->allocate(bytes) : nullptr;
}

Result<wire::Verdict> RemoteCluster::settle(wire::ReplicaId) {
  Links::Lock lock(links_.mutex);
  while (!lost_work_) {
    inside_ = eager_;  // until the next work is begun
    auto told = verdict(lock);
    links_.loop->wake();  // what was handed in quietly is on its way, also where nobody had to wait
    unheard_ = 0;
    if (!told) {
      inside_ = false;
      links_.quiesce(lock, true);
    }
    if (told || !links_.lost) return told;
    if (auto back = links_.rejoin(lock); !back) return back.error();
  }
  return wire::Verdict{present_, wire::Fate::dropped, 0, 0,
                       "the way to the servers was lost, and this replica taken for dead; it has joined again"};
}

Result<wire::Verdict> RemoteCluster::verdict(Links::Lock& lock) {
  const auto waited = links_.wait(
      lock, "waiting for its gradient to count",
      [&] { return side_->verdict(taken_) || !side_->turned_away().empty(); }, [&] { return install_ahead(lock); });
  if (!waited) return waited.error();
  if (!side_->verdict(taken_)) return wire::Verdict{present_, wire::Fate::dropped, 0, 0, side_->turned_away()};
  const auto told = *side_->verdict(taken_);
  // An optimizer of the user's own wants the mean gradient now, not with the next work.
  if (redirected_ && told.fate == wire::Fate::applied)
    if (auto fetched = fetch(lock, told.version, "taking the mean gradient"); !fetched) return fetched.error();
  return told;
}

void RemoteCluster::stop(const std::string& reason) { links_.send(0, wire::encode(wire::StopNow{reason})); }

void RemoteCluster::redirect(wire::ReplicaId, Places places) {
  const Links::Lock lock(links_.mutex);
  places_ = std::move(places);
  redirected_ = true;
  links_.forms = false;  // what the user's own optimizer remembers is nobody else's to hand on
}

// --- how it goes ---

void RemoteCluster::tell(const wire::StepNews& news) {
  std::vector<Links::Outgoing> message;
  message.push_back({0, wire::encode(news), {}});
  links_.send(std::move(message), true);  // with the gradient that follows
  hear();
}

void RemoteCluster::on_news(std::function<void(const wire::StepNews&)> call) { on_news_ = std::move(call); }

// What the others did, in the replica's own thread: a display that blocks must not keep the loop from its heartbeats.
void RemoteCluster::hear() {
  std::deque<wire::StepNews> news;
  {
    const Links::Lock lock(links_.mutex);
    news.swap(links_.news);
  }
  if (on_news_)
    for (const auto& one : news) on_news_(one);
}

void RemoteCluster::stir() {
  links_.progress.fetch_add(1, std::memory_order_relaxed);
  hear();
}

bool RemoteCluster::chief(wire::ReplicaId) const {
  const Links::Lock lock(links_.mutex);
  return links_.chief;
}

bool RemoteCluster::drained(wire::ReplicaId) const {
  const Links::Lock lock(links_.mutex);
  return side_ && side_->drained();
}

Result<bool> RemoteCluster::await_conclusion(wire::ReplicaId) {
  Links::Lock lock(links_.mutex);
  if (side_ && side_->drained()) return false;
  const auto waited = links_.wait(lock, "waiting for the result", [&] { return links_.chief || links_.concluded; });
  if (!waited) return waited.error();
  const bool mine = !links_.concluded;
  lock.unlock();
  hear();
  return mine;
}

bool RemoteCluster::conclude(wire::ReplicaId) {
  const Links::Lock lock(links_.mutex);
  if (links_.fatal || links_.lost || links_.concluded) return false;
  links_.send(0, wire::encode(wire::Concluded{}));
  return true;
}

bool RemoteCluster::done() const {
  const Links::Lock lock(links_.mutex);
  return side_ && side_->done();
}

wire::Version RemoteCluster::committed() const {
  const Links::Lock lock(links_.mutex);
  if (side_ && side_->done()) return side_->final_version();
  return newest_.empty() ? 0 : *std::min_element(newest_.begin(), newest_.end());
}

Result<wire::Account> RemoteCluster::account() {
  Links::Lock lock(links_.mutex);
  return links_.ask_account(lock, kAccountDeadline);
}

}  // namespace yoke::cluster
