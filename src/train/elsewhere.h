// A cluster that behaves as if its other replicas were processes of their own, for tests: the one replica here is told
// whether it is the chief, and the test says what the others did.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "cluster/local_cluster.h"
#include "train/job.h"

namespace yoke::train {

// What the test decides, and what it sees.
struct Elsewhere {
  std::function<bool()> chief = [] { return true; };
  std::function<void(const wire::StepNews&)> hear;  // what the replica here has told is to be heard with it
  std::vector<wire::StepNews> told;
  std::optional<Error> silent;                                 // instead of the account
  std::function<void(wire::Account&)> retouch = [](auto&) {};  // of what is true of one replica alone
};

class ElsewhereCluster : public cluster::LocalCluster {
 public:
  ElsewhereCluster(const Layout& layout, wire::JobTerms terms, Elsewhere& elsewhere)
      : LocalCluster(layout, std::move(terms), {}), elsewhere_(elsewhere) {}

  void tell(const wire::StepNews& news) override { elsewhere_.told.push_back(news); }
  void on_news(std::function<void(const wire::StepNews&)> call) override { elsewhere_.hear = std::move(call); }
  bool chief(wire::ReplicaId) const override { return elsewhere_.chief(); }
  Result<bool> await_conclusion(wire::ReplicaId) override { return elsewhere_.chief(); }
  Result<wire::Account> account() override {
    if (elsewhere_.silent) return *elsewhere_.silent;
    auto account = LocalCluster::account();
    if (account) elsewhere_.retouch(*account);
    return account;
  }

 private:
  Elsewhere& elsewhere_;
};

inline OpenCluster open_elsewhere(const wire::JobTerms& terms, Elsewhere& elsewhere) {
  return [terms, &elsewhere](std::uint32_t, const Layout& layout) -> Result<std::unique_ptr<cluster::Cluster>> {
    return std::unique_ptr<cluster::Cluster>(std::make_unique<ElsewhereCluster>(layout, terms, elsewhere));
  };
}

}  // namespace yoke::train
