// The process that a coordinator lives in: where it listens, who is connected, where its decisions are stored. Servers
// attend it, replicas ask it where the first server is. core/coordinator.h has what it decides.
//
// Lives on a loop, whose thread owns all of it; a thread of its own stores.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "cluster/dialler.h"
#include "cluster/view_store.h"
#include "cluster/workers.h"
#include "core/coordinator.h"
#include "transport/endpoint.h"

namespace yoke::cluster {

struct CoordinatorHouseOptions {
  std::string listen;
  std::uint32_t servers = 1, backups = 0;
  std::string store;                            // as open_view_store has it
  std::function<void(const std::string&)> say;  // news in words
  std::function<void(const Status&)> ended;     // the job is over, or it cannot go on, and why
  security::Credentials credentials;
};

class CoordinatorHouse : public transport::Handler {
 public:
  // Opens the store, listens. Call before the loop runs; `loop` outlives it.
  static Result<std::unique_ptr<CoordinatorHouse>> open(transport::Loop& loop, CoordinatorHouseOptions options);
  ~CoordinatorHouse() override;

  std::string address() const { return to_string(listener_->address()); }

  // transport::Handler
  void on_up(transport::Connection& connection, const std::string& introduction) override;
  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override;
  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override;
  void on_down(transport::Connection& connection, const transport::Failure& failure) override;

 private:
  struct Guest {
    transport::ConnectionPtr connection;
    wire::Identity identity;
    bool well = false;  // it has said that it goes, and that all is well
    bool asks = false;  // where the first server is, and there was none
  };

  CoordinatorHouse(transport::Loop& loop, CoordinatorHouseOptions options);
  void tell(const core::CoordinatorEvent& event);
  void store(const wire::ServerView& view);
  void probe(const wire::Host& host);
  void answer(Guest& guest);
  void give_up(const std::string& why);
  void end(Status status);
  void tick();
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  transport::Loop& loop_;
  CoordinatorHouseOptions options_;
  Dialler dialler_;
  std::unique_ptr<ViewStore> store_;
  std::uint64_t revision_ = 0;  // of what is stored
  std::optional<core::Coordinator> machine_;
  transport::Settings settings_;
  std::atomic<std::uint64_t> clock_{0};
  std::unique_ptr<transport::Listener> listener_;
  std::unordered_map<const transport::Connection*, Guest> guests_;
  std::map<wire::Incarnation, transport::ConnectionPtr> servers_;
  std::map<wire::Incarnation, Time> probed_;  // when last, and not answered yet
  std::unordered_map<const transport::Connection*, wire::Incarnation> probes_;
  std::string lost_;              // why the job cannot go on
  std::optional<Status> ending_;  // it is over, and how
  transport::Loop::Timer timer_ = 0, farewell_ = 0;
  Workers disk_;  // last: it waits for what it runs
};

}  // namespace yoke::cluster
