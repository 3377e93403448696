#include "core/checkpoints.h"

#include <fmt/format.h>

#include <utility>

#include "core/planted.h"

namespace yoke::core {

void Checkpoints::ask(const TakeCheckpoint& request) {
  if (request.token == 0) return;
  waiting_ = request;
}

void Checkpoints::begin(Standing standing) {
  making_.emplace();
  making_->token = waiting_->token;
  making_->standing = std::move(standing);
  making_->sums.resize(shards_);
  waiting_.reset();
}

void Checkpoints::on_part(const PartSaved& part, Effects& out) {
  if (!making_ || part.token != making_->token || part.shard >= shards_) return;
  auto& sum = making_->sums[part.shard];
  if (sum) return;  // said again
  sum = part.sum;
  ++making_->answers;
  if (!part.ok && !making_->failed) fail(fmt::format("shard {}: {}", part.shard, part.reason), out);
  if (making_->answers < shards_) return;
  if (making_->failed) return making_.reset();
  Seal seal{making_->token, making_->standing, {}};
  for (const auto& of_shard : making_->sums) seal.sums.push_back(*of_shard);
  out.push_back(std::move(seal));
  if (planted(Bug::announce_before_rename)) out.push_back(Announce{making_->token, making_->standing.version});
}

void Checkpoints::on_sealed(const Sealed& sealed, Effects& out) {
  if (!making_ || sealed.token != making_->token || making_->answers < shards_) return;
  if (!sealed.ok)
    fail(sealed.reason, out);
  else if (!planted(Bug::announce_before_rename))
    out.push_back(Announce{making_->token, making_->standing.version});
  making_.reset();
}

void Checkpoints::fail(std::string reason, Effects& out) {
  making_->failed = true;
  out.push_back(Discard{making_->token, std::move(reason)});
}

}  // namespace yoke::core
