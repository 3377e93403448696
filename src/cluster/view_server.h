// A server that hosts what a coordinator says: it is the primary of a shard, the backup of one, or idle. It attends the
// coordinator, takes part in the view that it is told of, and lays it down when it has lost another server of it, or is
// told to; then it says what it has. core/coordinator.h has the rules.
//
// The house serves the replicas while this is a primary; backup.h has what a backup has. Lives on a loop, whose thread
// owns all of it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/backup.h"
#include "cluster/dialler.h"
#include "cluster/house.h"

namespace yoke::cluster {

struct ViewServerOptions {
  HouseOptions house;       // listen, credentials, checkpoints and so on; what it hosts the coordinator says
  std::string coordinator;  // where it listens
};

class ViewServer : public transport::Handler {
 public:
  // Listens, and goes to the coordinator. Call before the loop runs; `loop` outlives it.
  static Result<std::unique_ptr<ViewServer>> open(transport::Loop& loop, ViewServerOptions options);
  ~ViewServer() override;

  std::string address() const { return house_->address(); }
  // Ends: what it has is lost to the others, as if it had died, but they hear of it at once.
  void stop(const std::string& reason);
  void checkpoint(const std::string& why);

  // transport::Handler; of the connections to the coordinator, to the backup, and from the primary
  void on_up(transport::Connection& connection, const std::string& introduction) override;
  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override;
  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override;
  void on_down(transport::Connection& connection, const transport::Failure& failure) override;

 private:
  // The way to the backup of this server's shard.
  struct Line {
    wire::Host to;
    std::uint64_t since = 0;
    transport::ConnectionPtr connection;  // null: not yet, or not any more
    bool up = false, lost = false, filled = false;
    Time tried_since{};
    std::deque<std::pair<std::string, transport::Bytes>> waiting;
  };

  ViewServer(transport::Loop& loop, ViewServerOptions options);
  bool primary() const { return view_ && shard_ && !backup_; }
  void say(const std::string& text) const {
    if (options_.house.say) options_.house.say(text);
  }

  // --- the coordinator ---
  void dial_coordinator(Duration pause);
  void attend(const std::string& why);
  void told(wire::ServerView view);
  void take_revision(wire::ServerView view);
  void take_part(wire::ServerView view);
  void begin_as_primary();
  void begin_as_backup();
  void link_to_first();
  void await_values(std::uint64_t number, std::uint64_t seen);
  void lay_down(const std::string& why);
  void house_ended(const Status& status);
  void say_farewell();
  void end(Status status);

  // --- the backup ---
  void open_line();
  void dial_backup(std::uint64_t since);
  void line_lost(const std::string& why);
  void to_backup(std::string control, transport::Bytes payload);

  transport::Loop& loop_;
  ViewServerOptions options_;
  Dialler dialler_;
  std::unique_ptr<House> house_;
  std::string listens_;  // where others are told that it is

  transport::ConnectionPtr coordinator_;
  bool coordinator_up_ = false;
  Time without_coordinator_{};

  std::optional<wire::ServerView> view_;  // that it takes part in
  std::uint32_t networks_ = 0;            // of the job, as it was when this was last at it
  std::uint64_t laid_down_ = 0, laid_revision_ = 0;
  std::string why_;
  std::optional<wire::ShardId> shard_;
  std::vector<HeldSlice> held_;                 // of the view that it laid down, or begins with
  std::map<std::uint32_t, wire::Open> opened_;  // the networks of those
  std::shared_ptr<Backup> backup_;              // it is one
  transport::ConnectionPtr from_primary_;
  std::optional<Line> line_;        // it is a primary, and has one
  bool over_ = false;               // the job is
  std::optional<Status> farewell_;  // and how; the coordinator is to know
  bool ended_ = false;
  transport::Loop::Timer patience_ = 0;
  Workers workers_;  // last: what they run uses the rest
};

}  // namespace yoke::cluster
