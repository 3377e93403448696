// The outlet of a network that nobody trains: it says nothing to anybody.
#pragma once

#include "cluster/hosted_network.h"

namespace yoke::cluster {

class SilentOutlet : public Outlet {
 public:
  void send(std::uint32_t, const wire::Address&, const wire::Address&, const wire::Message&) override {}
  void send_values(std::uint32_t, wire::ReplicaId, wire::BlockId, ShardStore::Values) override {}
  Post poster() const override {
    return [](const Call&) {};
  }
  void passes_done() override {}
  void save_part(HostedNetwork&, const core::Capture&, checkpoint::Part) override {}
  void seal(HostedNetwork&, const core::Seal&) override {}
  void discard(HostedNetwork&, const core::Discard&) override {}
  void announce(HostedNetwork&, const core::Announce&) override {}
  void loaded(HostedNetwork&, const Status&) override {}
  void wants_values(HostedNetwork&, wire::Version, std::optional<wire::Version>) override {}
  void mirror(HostedNetwork&, wire::Version, Slice) override {}
  void fill(HostedNetwork&, wire::Version, Slice) override {}
  void send_mean(const wire::Mean&, transport::Bytes) override {}
  void means_done(HostedNetwork&, wire::Version, std::optional<core::Standing>) override {}
  void tell_filled(HostedNetwork&) override {}
  Time now() const override { return {}; }
  void say(const std::string&) override {}
};

}  // namespace yoke::cluster
