#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cluster/server.h"
#include "cluster/terms.h"

namespace yoke::cluster {
namespace {

constexpr auto kLookAtDisk = std::chrono::milliseconds(5);

}  // namespace

// --- when ---

bool Server::checkpointing() const {
  return std::any_of(networks_.begin(), networks_.end(), [](const auto& entry) {
    return entry.second->sequencer() && entry.second->sequencer()->checkpointing();
  });
}

void Server::take_checkpoint(const core::TakeCheckpoint& request) {
  for (const auto& [index, network] : networks_) network->take_checkpoint(request);
}

// Training goes on, or has just ended: the last version is kept in any case.
void Server::consider_a_checkpoint() {
  auto* checkpointer = premises_.checkpointer;
  if (!first() || !checkpointer || !checkpointer->writes() || networks_.empty() || !began_) return;
  const auto& lead = *networks_.begin()->second;
  const auto committed = lead.sequencer()->committed();
  if (!over()) {
    if (const auto request = checkpointer->due(committed, transport::Loop::now())) take_checkpoint(*request);
  } else if (!last_taken_ && (networks_.size() == 1 || nobody_trains_)) {
    last_taken_ = true;
    checkpointer->hurry();
    if (!checkpointer->has(committed)) take_checkpoint({checkpointer->request(committed).token, 0});
  }
}

void Server::checkpoint(Answer then) {
  if (!premises_.checkpointer || !premises_.checkpointer->writes())
    return then(Error{Code::refused, "the servers were started without a folder for checkpoints: --checkpoint DIR"});
  if (!began_ || over()) return then(Error{Code::refused, "nothing is being trained now"});
  asked_.push_back(std::move(then));
  take_checkpoint(premises_.checkpointer->request(networks_.begin()->second->sequencer()->committed()));
}

void Server::drain(wire::ReplicaId id, const std::string& reason, Answer then) {
  if (!replica(id)) return then(Error{Code::refused, fmt::format("replica {} is not there", id)});
  if (!began_ || over()) return then(Error{Code::refused, "nothing is being trained now"});
  drained_.emplace(id, std::move(then));
  for (const auto& [index, network] : networks_) network->drain(id, reason);
}

// The end has to wait for what is on its way to the disk, but not for ever.
bool Server::has_to_wait_for_checkpoint() {
  auto* checkpointer = premises_.checkpointer;
  if (!checkpointer || !checkpointer->writes() || waited_) return false;
  if (!checkpoint_wait_until_) {
    checkpointer->hurry();
    checkpoint_wait_until_ = transport::Loop::now() + kLastCheckpoint;
    // Nobody trains any more: what there is, is kept. Networks that follow the first are left where they are.
    if (first() && began_)
      for (const auto& [index, network] : networks_) network->stop(kEndsEarly);
  }
  nobody_trains_ = true;
  consider_a_checkpoint();
  if (!checkpointing() && !checkpointer->busy() && (!first() || !began_ || over())) return false;
  if (transport::Loop::now() <= *checkpoint_wait_until_) return true;
  say("the last checkpoint did not reach the disk in time");
  return false;
}

void Server::await_checkpoint() {
  checkpoint_wait_ = premises_.loop.after(kLookAtDisk, [this] {
    if (has_to_wait_for_checkpoint()) return await_checkpoint();
    waited_ = true;
    const auto status = *std::exchange(end_after_checkpoint_, std::nullopt);
    end(status);
  });
}

// --- what ---

void Server::save_part(HostedNetwork& network, const core::Capture& capture, checkpoint::Part part) {
  const auto token = capture.token;
  const auto answer = [this, &loop = premises_.loop, weak = network.weak_from_this(),
                       token](const Result<std::uint64_t>& sum) {
    loop.post([weak, token, sum] {
      if (const auto to = weak.lock()) to->captured(token, sum);
    });
  };
  if (!premises_.checkpointer) return answer(Error{Code::refused, "it was started without --checkpoint DIR"});
  premises_.checkpointer->write(network.number(), {"", capture.version, token, options_.shard, options_.shards},
                                std::move(part), answer);
}

void Server::seal(HostedNetwork& network, const core::Seal& seal) {
  const double seconds = began_ ? std::chrono::duration<double>(now() - *began_).count() : 0;
  premises_.checkpointer->seal(
      network.number(), seal, network.facts(seal.standing),
      job_facts(networks_.begin()->second->terms(), seal.standing), seconds,
      [&loop = premises_.loop, weak = network.weak_from_this(), token = seal.token](const Status& status) {
        loop.post([weak, token, status] {
          if (const auto to = weak.lock()) to->sealed(token, status);
        });
      });
}

void Server::discard(HostedNetwork& network, const core::Discard& discard) {
  premises_.checkpointer->discard(discard);
  if (network.number() != 0) return;
  say(fmt::format("the checkpoint failed: {}; training goes on, and the last good one stays", discard.reason));
  for (const auto& answer : std::exchange(asked_, {})) answer(Error{Code::missing, discard.reason});
}

void Server::announce(HostedNetwork& network, const core::Announce& announce) {
  if (network.number() != 0) return;
  premises_.checkpointer->announced();
  const auto newest = premises_.checkpointer->newest();
  say(fmt::format("checkpoint of version {}: {}", announce.version, newest.folder));
  for (const auto& answer : std::exchange(asked_, {}))
    answer(fmt::format("{} (version {})", newest.folder, announce.version));
}

}  // namespace yoke::cluster
