// How the members of a job that host its parameters themselves (mirrored) form it anew. A member that loses another, or
// to whom a newcomer comes, ends its part in the present view: with that the others lose it, and do the same. All go to
// the first of the view that is left, say what they have, and are told who the next view consists of and what it goes
// on from (core/forming.h); then everybody hands on what others need of it.
//
// The replica's thread forms and waits; the loop's thread hears. What they share stands behind the links' lock.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/house.h"
#include "cluster/member_links.h"
#include "cluster/twins.h"

namespace yoke::cluster {

class Assembly : public transport::Handler {
 public:
  // Views are numbered by the thousands, and below that by who formed them: of two that are formed at once, by members
  // that do not hear of each other, no house takes one for the other.
  static constexpr std::uint64_t kFirstView = 4096;

  using InLoop = std::function<void(const std::function<void()>&)>;

  // `links` outlive it. `in_loop` runs a call in the loop's thread and waits for it; not under the lock.
  Assembly(Links& links, InLoop in_loop) : links_(links), in_loop_(std::move(in_loop)) {}
  void live_in(House& house) { house_ = &house; }

  // --- in the replica's thread, under the lock ---
  // The first view, as the first server's welcome has it.
  void begin(const wire::Welcome& welcome);
  // Ends the present view here, if it has not ended, and keeps what there was.
  void dissolve(Links::Lock& lock);
  // The next view; it has this member.
  Result<wire::View> agree(Links::Lock& lock, Time give_up);
  // Hands on what others take over, and gathers what this member does.
  Result<std::shared_ptr<Inheritance>> exchange(Links::Lock& lock, const wire::View& view, Time give_up);
  // The part of this member's house in it.
  HousePart part(const wire::View& view, std::shared_ptr<const Inheritance> inherits) const;
  // Whatever becomes of it, this member is in it from now on; and: it begins.
  void adopt(const wire::View& view);
  void begins();
  // Everybody is connected to everybody: losses are noticed there.
  void formed();
  std::uint64_t number() const { return view_.number; }
  // Which of its members this is.
  std::uint32_t place_in(const wire::View& view) const;

  // --- in the loop's thread, under the lock ---
  Twins twins;
  // Somebody is lost, or has come: this view is over. `silent`: it did not say so, and may live.
  void over(const std::string& why, std::optional<wire::ShardId> silent = {});

  // transport::Handler; of connections between members
  void on_up(transport::Connection& connection, const std::string& introduction) override;
  Result<transport::Sink> on_announced(transport::Connection& connection, const transport::Incoming& message) override;
  void on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) override;
  void on_down(transport::Connection& connection, const transport::Failure& failure) override;

 private:
  struct Guest {  // who a connection leads to
    wire::Identity identity;
    std::optional<wire::Piece> announced;
    bool answers = false;   // the handshake is done
    bool down = false;      // the connection is
    bool silent = false;    // because nothing was heard any more
    bool newcomer = false;  // it has no part in any view
  };
  struct Call {
    transport::ConnectionPtr connection;
    wire::Identity identity;
    wire::Muster said;
  };
  struct Arriving {  // for a view
    std::vector<SlicePiece> pieces;
    std::set<wire::ReplicaId> done;
  };
  enum class State { running, beginning, forming, following };

  wire::ReplicaId self() const { return links_.life.replica; }
  bool is_first() const { return !view_.members.empty() && view_.members.front().replica == self(); }
  const wire::View::Seat* seat_of(wire::ReplicaId replica) const;
  Status wait(Links::Lock& lock, Time until, const std::function<bool()>& enough);
  Result<transport::ConnectionPtr> reach(Links::Lock& lock, const std::string& address, Duration patience);
  static Guest& guest_of(const transport::Connection& connection) {
    return *std::static_pointer_cast<Guest>(connection.note);
  }
  wire::Muster call() const;
  Result<wire::View> follow(Links::Lock& lock, const wire::View::Seat& seat, bool known, Time give_up);
  Result<wire::View> lead(Links::Lock& lock, Time give_up);
  Result<wire::View> decide(const std::set<wire::ReplicaId>& dead);
  void tell(Links::Lock& lock, const wire::View& view);
  void close(Links::Lock& lock, std::vector<transport::ConnectionPtr> connections);
  void on_call(transport::Connection& connection, const wire::Identity& identity, wire::Muster muster);
  // It was in this view; else it is new.
  bool of_view(const Call& call) const;
  void tell_elsewhere(std::vector<Call> calls, const std::string& address) const;
  wire::Identity identity(int fd) const;

  Links& links_;
  const InLoop in_loop_;
  House* house_ = nullptr;

  State state_ = State::running;
  wire::View view_;                       // the present one
  std::string why_;                       // it is over
  std::string leader_;                    // where the one listens that is followed
  std::optional<wire::ReplicaId> leads_;  // and who it is, where that is known
  std::string said_listens_;              // where others were told that this member listens
  std::set<wire::ReplicaId> silent_;      // members that were not heard of for long
  std::map<const transport::Connection*, Call> calls_;
  std::optional<wire::View> next_;
  std::optional<wire::Elsewhere> elsewhere_;
  const transport::Connection* asked_ = nullptr;  // where the next view comes from
  std::vector<HeldSlice> holdings_;               // of the view before, and of the present one once it is over
  std::map<std::uint64_t, Arriving> arriving_;    // by view
  std::uint64_t heard_ = 0;                       // pieces, to see that they still come
  std::vector<transport::ConnectionPtr> handing_on_;
  // By which others have handed on all that they had to, and for which view.
  std::map<const transport::Connection*, std::uint64_t> givers_;
  bool watching_ = false;  // one of these that goes away is a member that is lost
};

}  // namespace yoke::cluster
