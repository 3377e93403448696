// The backup of a shard: has what the primary has, and could go on in its place. It gets a version as a whole first,
// then for each later one the means of the gradients, in any order, and makes them one after the other. The means of a
// version are sent when the one before is committed: so it holds two versions, and nothing that was told of is missing.
#pragma once

#include <map>
#include <optional>

#include "core/effects.h"

namespace yoke::core {

class Backup {
 public:
  Backup() = default;
  // It has this version already, all of it.
  Backup(Version version, std::optional<Standing> standing)
      : present_(version), standing_(std::move(standing)), filled_(true) {}

  void on(const Event& event, Effects& out);

  // It may take the primary's place.
  bool filled() const { return filled_; }
  // What it has, by version; the later one may or may not be committed.
  std::map<Version, std::optional<Standing>> holds() const;

 private:
  void go_on(Effects& out);

  std::optional<Version> present_;
  std::optional<Standing> standing_;
  std::optional<Version> next_;  // made, or being made
  bool made_ = false;
  std::map<Version, std::optional<Standing>> means_;  // that have come and are not made yet; or are being
  std::optional<Standing> standing_next_;
  bool filled_ = false;
  bool over_ = false;
};

}  // namespace yoke::core
