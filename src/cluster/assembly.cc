#include "cluster/assembly.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/identity.h"
#include "cluster/remote_cluster.h"
#include "core/forming.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

constexpr auto kDialMember = std::chrono::milliseconds(500);  // for a host to say whether anybody listens
constexpr auto kLookForOthers = std::chrono::milliseconds(25);
constexpr auto kSlow = std::chrono::seconds(10);                 // for a member that lives to come
constexpr auto kCut = std::chrono::milliseconds(1500);           // for one that had been silent for long already
constexpr auto kStalled = std::chrono::seconds(10);              // without a piece that was promised
constexpr std::uint64_t kMemberCredit = std::uint64_t{1} << 40;  // members hand on all that there is

using transport::Loop;

}  // namespace

const wire::View::Seat* Assembly::seat_of(wire::ReplicaId replica) const {
  const auto it = std::find_if(view_.members.begin(), view_.members.end(),
                               [&](const auto& seat) { return seat.replica == replica; });
  return it == view_.members.end() ? nullptr : &*it;
}

void Assembly::begin(const wire::Welcome& welcome) {
  view_ = {};
  view_.number = kFirstView;
  view_.survivors = static_cast<std::uint32_t>(welcome.servers.size());
  for (wire::ReplicaId replica = 0; replica < welcome.servers.size(); ++replica)
    view_.members.push_back({replica, replica == 0 ? links_.options.join : welcome.servers[replica]});
  state_ = State::running;
}

// --- what there is ---

void Assembly::dissolve(Links::Lock& lock) {
  Networks networks;
  lock.unlock();
  in_loop_([&] { networks = house_->dissolve(); });
  lock.lock();
  state_ = State::forming;
  for (const auto& [index, network] : networks)
    for (auto& [version, slice] : network->slices())
      holdings_.push_back({{view_.number, index, network->shard(), network->plan().shards(), version, slice.standing},
                           std::move(slice)});
  const auto place = static_cast<std::uint32_t>(seat_of(self()) ? seat_of(self()) - view_.members.data() : 0);
  const auto members = static_cast<std::uint32_t>(std::max<std::size_t>(view_.members.size(), 1));
  for (auto& twin : twins.take(view_.number, (place + members - 1) % members)) holdings_.push_back(std::move(twin));
}

void Assembly::over(const std::string& why, std::optional<wire::ShardId> silent) {
  if (why_.empty()) why_ = why;
  if (silent && *silent < view_.members.size()) silent_.insert(view_.members[*silent].replica);
  if (!links_.lost) links_.lost = {{Code::peer_down, why}, links_.options.deadline};
  links_.over = true;
  ++links_.changes;
  links_.wake.notify_all();
}

void Assembly::adopt(const wire::View& view) {
  view_ = view;
  why_.clear();
  silent_.clear();
}

void Assembly::begins() {
  state_ = State::beginning;
  std::erase_if(arriving_, [&](const auto& entry) { return entry.first <= view_.number; });
}

void Assembly::formed() {
  state_ = State::running;
  watching_ = false;
  holdings_.clear();  // every slice of this view is held twice
  // Who came too late for this view is in the next.
  if (calls_.empty()) return;
  if (is_first()) return over(fmt::format("{} comes", in_words(calls_.begin()->second.identity)));
  std::vector<Call> late;
  for (auto& [connection, call] : std::exchange(calls_, {})) late.push_back(std::move(call));
  tell_elsewhere(std::move(late), view_.members.front().listens);
}

HousePart Assembly::part(const wire::View& view, std::shared_ptr<const Inheritance> inherits) const {
  HousePart part;
  part.view = view.number;
  part.shards = static_cast<std::uint32_t>(view.members.size());
  part.join = view.members.front().listens;
  part.inherits = std::move(inherits);
  part.chief = view.chief;
  for (wire::ReplicaId replica = 0; replica < links_.options.terms.replicas; ++replica)
    part.absent[replica] = "it was lost";
  for (std::uint32_t place = 0; place < part.shards; ++place) {
    const auto replica = view.members[place].replica;
    if (place < view.survivors)
      part.absent.erase(replica);
    else
      part.absent[replica] = "it is on its way";
    if (replica != self()) continue;
    part.shard = place;
    if (part.shards > 1) part.twin = view.members[(place + 1) % part.shards].replica;
  }
  return part;
}

// --- agreeing ---

Status Assembly::wait(Links::Lock& lock, Time until, const std::function<bool()>& enough) {
  while (!enough()) {
    if (links_.fatal) return *links_.fatal;
    if (Loop::now() >= until) return Error{Code::timed_out, "the others did not answer in time"};
    links_.wake.wait_for(lock, std::min<Duration>(until - Loop::now(), std::chrono::seconds(1)));
  }
  return {};
}

wire::Identity Assembly::identity(int fd) const {
  auto identity = this_process(wire::Role::member, links_.options.replica.value_or(0));
  identity.numbered = links_.options.replica.has_value();
  identity.listens = house_->reached_at(fd);
  identity.view = view_.number;
  return identity;
}

Result<transport::ConnectionPtr> Assembly::reach(Links::Lock& lock, const std::string& where, Duration patience) {
  const auto address = transport::parse_address(where);
  if (!address) return address.error();
  lock.unlock();
  const auto fd = transport::dial_once(*address, links_.options.credentials, patience);
  transport::ConnectionPtr connection;
  if (fd)
    in_loop_([&] {
      auto settings = house_->settings();
      const auto own = identity(*fd);
      said_listens_ = own.listens;
      settings.introduction = wire::encode_identity(own);
      settings.incarnation = own.incarnation;
      connection = transport::adopt(*links_.loop, *fd, *address, settings, *this);
      connection->note = std::make_shared<Guest>();
      connection->grant(kMemberCredit);
    });
  lock.lock();
  if (!fd) return fd.error();
  return connection;
}

void Assembly::close(Links::Lock& lock, std::vector<transport::ConnectionPtr> connections) {
  lock.unlock();
  in_loop_([&] {
    for (const auto& connection : connections) connection->finish("the job is formed");
  });
  lock.lock();
}

wire::Muster Assembly::call() const {
  wire::Muster muster{view_.number, {}, links_.chief, why_};
  for (const auto& held : holdings_) muster.holdings.push_back(held.which);
  return muster;
}

Result<wire::View> Assembly::agree(Links::Lock& lock, Time give_up) {
  next_.reset();
  elsewhere_.reset();
  Error last{Code::timed_out, "nobody else of the job answers"};
  while (Loop::now() < give_up) {
    state_ = State::forming;
    std::vector<wire::View::Seat> places;
    const bool known = !elsewhere_ && !view_.members.empty();
    if (elsewhere_)
      places.push_back({0, std::exchange(elsewhere_, std::nullopt)->address});
    else if (!known)
      for (const auto& address : links_.options.members) places.push_back({0, address});
    for (const bool silent : {false, true})  // those that were silent for long are the last to be asked
      for (const auto& seat : view_.members)
        if (known && silent_.contains(seat.replica) == silent) places.push_back(seat);
    for (const auto& place : places) {
      const bool own = known && place.replica == self();
      auto view = own ? lead(lock, give_up) : follow(lock, place, known, give_up);
      if (view) return view;
      if (links_.fatal) return *links_.fatal;
      last = view.error();
      // Somebody who does not listen any more, or does not answer: it is for the next to lead.
      if (own && last.code != Code::timed_out && !elsewhere_) {  // nothing that could be waited for
        links_.fatal = last;
        return last;
      }
      if (own || (last.code != Code::missing && last.code != Code::timed_out)) break;
    }
    links_.wake.wait_for(lock, kLookForOthers);
  }
  return last;
}

Result<wire::View> Assembly::follow(Links::Lock& lock, const wire::View::Seat& seat, bool known, Time give_up) {
  auto reached = reach(lock, seat.listens, kDialMember);
  if (!reached) return reached.error();
  asked_ = reached->get();
  state_ = State::following;
  leader_ = seat.listens;
  leads_.reset();
  if (known) leads_ = seat.replica;
  std::vector<Call> others;  // newcomers wait, and are told when there is a view again
  for (const auto& [connection, one] : calls_)
    if (of_view(one)) others.push_back(one);
  std::erase_if(calls_, [&](const auto& entry) { return of_view(entry.second); });
  tell_elsewhere(std::move(others), leader_);
  links_.loop->post([connection = *reached, said = wire::encode(call())] { connection->send(said); });
  const auto& guest = guest_of(**reached);
  const auto heard = wait(lock, give_up, [&] { return next_ || elsewhere_ || guest.down || guest.newcomer; });
  asked_ = nullptr;
  state_ = State::forming;
  close(lock, {*reached});
  if (next_) return *std::exchange(next_, std::nullopt);
  if (!heard) return heard.error();
  if (guest.newcomer) return Error{Code::missing, fmt::format("{} is a newcomer", seat.listens)};
  if (elsewhere_) return Error{Code::peer_down, "somebody else forms the job"};
  return Error{guest.silent ? Code::timed_out : Code::peer_down, fmt::format("{} went away", seat.listens)};
}

Result<wire::View> Assembly::lead(Links::Lock& lock, Time give_up) {
  std::set<wire::ReplicaId> dead;
  std::map<wire::ReplicaId, transport::ConnectionPtr> called;
  const auto since = Loop::now();
  const auto came = [&](wire::ReplicaId replica) {
    return std::any_of(calls_.begin(), calls_.end(), [&](const auto& entry) {
      return entry.second.identity.numbered && entry.second.identity.id == replica;
    });
  };
  Result<wire::View> view = Error{Code::timed_out, "the others did not come"};
  while (Loop::now() < give_up && !elsewhere_ && !links_.fatal) {
    bool missing = false, waits = false;
    const auto seats = view_.members;
    for (const auto& seat : seats) {
      if (seat.replica == self() || dead.contains(seat.replica) || came(seat.replica)) continue;
      missing = true;
      const auto patience = silent_.contains(seat.replica) ? Duration(kCut) : Duration(kSlow);
      waits = waits || Loop::now() - since < patience;
      if (const auto it = called.find(seat.replica); it != called.end()) {
        const auto& guest = guest_of(*it->second);
        if (guest.newcomer) dead.insert(seat.replica);
        waits = waits || (guest.answers && !guest.down && !guest.newcomer);
        if (!guest.down || guest.newcomer) continue;
        called.erase(it);
      }
      auto reached = reach(lock, seat.listens, kDialMember);
      if (reached) {  // it may not know yet
        called[seat.replica] = *reached;
        links_.loop->post([connection = *reached, said = wire::encode(wire::Elsewhere{view_.number, said_listens_})] {
          connection->send(said);
        });
      } else if (reached.error().code == Code::missing && !came(seat.replica)) {
        dead.insert(seat.replica);
      }
    }
    if (!missing || !waits) {
      view = decide(dead);
      if (view || view.error().code != Code::timed_out) break;
    }
    if (missing) links_.wake.wait_for(lock, kLookForOthers);
  }
  if (view) tell(lock, *view);  // at once: who comes from now on was not reckoned with, and waits for the next
  std::vector<transport::ConnectionPtr> connections;
  for (auto& [replica, connection] : called) connections.push_back(std::move(connection));
  close(lock, std::move(connections));
  if (!view && elsewhere_) return Error{Code::peer_down, "the job goes on without this replica"};
  return view;
}

Result<wire::View> Assembly::decide(const std::set<wire::ReplicaId>& dead) {
  core::Attendance attendance{view_.number, {}, view_.chief, {}, dead};
  for (const auto& seat : view_.members) attendance.former.push_back(seat.replica);
  std::set<wire::ReplicaId> taken{self()};
  attendance.here.push_back({*seat_of(self()), call().holdings});
  if (links_.chief) attendance.chief = self();
  const auto add = [&](const Call& one, wire::ReplicaId replica) {
    if (!taken.insert(replica).second) return;
    attendance.here.push_back({{replica, one.identity.listens}, one.said.holdings});
    attendance.view = std::max(attendance.view, one.said.view);
    if (one.said.chief) attendance.chief = replica;
  };
  for (const auto& [connection, one] : calls_)
    if (one.identity.numbered && one.identity.id < links_.options.terms.replicas) add(one, one.identity.id);
  if (!core::may_go_on(attendance))
    return Error{Code::timed_out,
                 fmt::format("{} of {} members have come, and those that have not may be going on by themselves: wait "
                             "until they answer, or end them",
                             attendance.here.size(), attendance.former.size())};
  for (const auto& [connection, one] : calls_) {
    if (one.identity.numbered) continue;
    for (wire::ReplicaId replica = 0; replica < links_.options.terms.replicas; ++replica)
      if (!taken.contains(replica)) {
        add(one, replica);
        break;
      }
  }
  auto view = core::form(attendance);
  if (view) view->number = (view->number / kFirstView + 1) * kFirstView + self();
  if (!view) return view;
  for (std::uint32_t index = 0; index < view->networks.size(); ++index) {
    const auto cluster = links_.clusters.find(index);
    if (cluster == links_.clusters.end()) return Error{Code::peer_down, "a network is not open here any more"};
    view->networks[index].layout = cluster->second->layout();
  }
  return view;
}

// Houses of the next view may come as soon as others know of it.
void Assembly::tell(Links::Lock& lock, const wire::View& view) {
  std::vector<std::pair<transport::ConnectionPtr, std::string>> words;
  for (const auto& [connection, call] : calls_) {
    const auto seat = std::find_if(view.members.begin(), view.members.end(),
                                   [&](const auto& one) { return one.listens == call.identity.listens; });
    words.emplace_back(
        call.connection,
        wire::encode(seat == view.members.end() ? wire::JobMessage(wire::Refusal{"the job has no free seat for it"})
                                                : wire::JobMessage(view)));
  }
  calls_.clear();
  const auto own = part(view, nullptr);
  lock.unlock();
  in_loop_([&] {
    house_->take_part(own);
    for (auto& [connection, said] : words) connection->send(std::move(said));
  });
  lock.lock();
}

std::uint32_t Assembly::place_in(const wire::View& view) const {
  const auto it = std::find_if(view.members.begin(), view.members.end(), [&](const auto& seat) {
    return links_.options.replica ? seat.replica == *links_.options.replica : seat.listens == said_listens_;
  });
  return static_cast<std::uint32_t>(it - view.members.begin());
}

// --- handing on ---

Result<std::shared_ptr<Inheritance>> Assembly::exchange(Links::Lock& lock, const wire::View& view, Time give_up) {
  std::vector<Inheritance::Network> networks;
  for (const auto& network : view.networks) networks.push_back({network.version, network.standing});
  auto inheritance = std::make_shared<Inheritance>(std::move(networks));
  const auto place = place_in(view);
  const auto members = static_cast<std::uint32_t>(view.members.size());
  std::set<std::uint32_t> sources;
  std::vector<core::BlockPlan> plans;                 // by network, as it is cut in this view
  std::vector<std::vector<SlicePiece>> out(members);  // by member
  for (std::uint32_t index = 0; index < view.networks.size(); ++index) {
    const auto& network = view.networks[index];
    sources.insert(network.sources.begin(), network.sources.end());
    const auto& plan = plans.emplace_back(core::plan_blocks(network.layout, members));
    for (wire::ShardId shard = 0; shard < network.sources.size(); ++shard) {
      if (network.sources[shard] != place) continue;
      const auto held = std::find_if(holdings_.begin(), holdings_.end(), [&](const auto& one) {
        return one.which.view == view.from && one.which.network == index && one.which.shard == shard &&
               one.which.version == network.version;
      });
      if (held == holdings_.end()) return Error{Code::peer_down, "a slice that this replica was to hand on is gone"};
      for (const auto& piece : held->slice.pieces)
        for (const auto id : plan.of_slot[piece.what.slot])
          if (auto part = cut(piece, plan.blocks[id])) {
            const auto owner = plan.blocks[id].shard;
            part->what.of = view.number;
            if (members > 1) out[(owner + 1) % members].push_back(*part);  // the twin
            out[owner].push_back(std::move(*part));
          }
    }
    if (place != 0) continue;
    // What is not trained is the same in every replica; the first hands it to newcomers.
    const auto cluster = links_.clusters.find(index);
    if (cluster == links_.clusters.end()) continue;
    for (auto& piece : cluster->second->frozen()) inheritance->add(std::move(piece));
  }
  auto taken = std::move(out[place]);
  watching_ = false;
  std::vector<transport::ConnectionPtr> former;
  former.swap(handing_on_);
  close(lock, std::move(former));
  watching_ = true;
  if (sources.contains(place))
    for (std::uint32_t other = 0; other < view.members.size(); ++other) {
      if (other == place) continue;
      auto reached = reach(lock, view.members[other].listens, kDialMember);
      if (!reached) return reached.error();
      handing_on_.push_back(*reached);
      links_.loop->post([connection = *reached, pieces = std::move(out[other]), number = view.number] {
        for (const auto& piece : pieces)
          connection->send(wire::encode(piece.what), {std::as_bytes(piece.values), piece.keep});
        connection->send(wire::encode(wire::PiecesDone{0, number, 1, {}}));
      });
    }
  auto seen = heard_;
  auto silent_since = Loop::now();
  const auto complete = [&] {
    const auto& done = arriving_[view.number].done;
    return std::all_of(sources.begin(), sources.end(),
                       [&](auto source) { return source == place || done.contains(view.members[source].replica); });
  };
  while (!complete()) {
    if (links_.fatal) return *links_.fatal;
    if (std::exchange(seen, heard_) != heard_) silent_since = Loop::now();
    if (Loop::now() >= give_up || Loop::now() - silent_since > kStalled)
      return Error{Code::timed_out, "what others were to hand on did not come"};
    if (links_.lost) return links_.lost->error;
    links_.wake.wait_for(lock, kLookForOthers);
  }
  std::move(arriving_[view.number].pieces.begin(), arriving_[view.number].pieces.end(), std::back_inserter(taken));
  arriving_.erase(view.number);
  twins = {};
  const auto before = (place + members - 1) % members;
  for (auto& piece : taken) {
    if (piece.what.network >= plans.size() || piece.what.slot >= plans[piece.what.network].of_slot.size())
      return Error{Code::corrupt, "a piece of a network that is not there"};
    const auto& plan = plans[piece.what.network];
    for (const auto id : plan.of_slot[piece.what.slot]) {
      auto part = cut(piece, plan.blocks[id]);
      if (!part) continue;
      if (members > 1 && plan.blocks[id].shard == before) {
        part->what.of = view.networks[part->what.network].version;
        twins.add(std::move(*part));
      } else if (plan.blocks[id].shard == place) {
        inheritance->add(std::move(*part));
      }
    }
  }
  if (members > 1)
    for (std::uint32_t index = 0; index < plans.size(); ++index)
      if (before < plans[index].shards())
        twins.whole({index, view.networks[index].version, plans[index].shards(), view.networks[index].standing});
  return inheritance;
}

// --- transport::Handler ---

void Assembly::on_up(transport::Connection& connection, const std::string& introduction) {
  auto decoded = wire::decode_identity(introduction);
  if (!decoded) return connection.close(decoded.error().message);
  const std::lock_guard lock(links_.mutex);
  if (connection.note) {  // this side has dialled
    std::static_pointer_cast<Guest>(connection.note)->answers = true;
    return;
  }
  auto guest = std::make_shared<Guest>();
  guest->identity = std::move(*decoded);
  connection.note = std::move(guest);
  connection.grant(kMemberCredit);
}

Result<transport::Sink> Assembly::on_announced(transport::Connection& connection, const transport::Incoming& message) {
  auto decoded = wire::decode(message.control);
  if (!decoded) return decoded.error();
  const auto* piece = std::get_if<wire::Piece>(&*decoded);
  if (!piece || message.payload % sizeof(float) != 0) return Error{Code::corrupt, "a payload where none belongs"};
  std::static_pointer_cast<Guest>(connection.note)->announced = *piece;
  return transport::Sink{};
}

void Assembly::on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) {
  const auto guest = std::static_pointer_cast<Guest>(connection.note);
  if (!guest) return;
  const std::lock_guard lock(links_.mutex);
  if (guest->announced) {
    const auto what = *std::exchange(guest->announced, std::nullopt);
    const std::span<const float> values(reinterpret_cast<const float*>(payload.bytes.data()),
                                        payload.bytes.size() / sizeof(float));
    if (what.of > view_.number || state_ == State::forming || state_ == State::following)
      arriving_[what.of].pieces.push_back({what, values, std::move(payload.keep)});
    ++heard_;
    return;
  }
  auto decoded = wire::decode(message.control);
  if (!decoded) return connection.close(decoded.error().message);
  if (auto* muster = std::get_if<wire::Muster>(&*decoded)) {
    on_call(connection, guest->identity, std::move(*muster));
  } else if (auto* view = std::get_if<wire::View>(&*decoded)) {
    if (&connection != asked_) return;
    if (place_in(*view) < view->members.size() && view->number > view_.number) next_ = std::move(*view);
  } else if (auto* elsewhere = std::get_if<wire::Elsewhere>(&*decoded)) {
    const bool runs = state_ == State::running || state_ == State::beginning;
    if (elsewhere->address.empty()) {
      guest->newcomer = true;
    } else if (view_.number == 0 && &connection != asked_) {
      connection.send(wire::encode(wire::Elsewhere{}));
    } else if (runs && elsewhere->view >= view_.number) {
      over(fmt::format("{} forms the job anew", in_words(guest->identity)));
    } else if (runs) {
      connection.send(wire::encode(wire::Elsewhere{view_.number, view_.members.front().listens}));
    } else if (elsewhere->address != said_listens_ && (&connection == asked_ || elsewhere->view > view_.number)) {
      elsewhere_ = std::move(*elsewhere);
    }
  } else if (const auto* refusal = std::get_if<wire::Refusal>(&*decoded)) {
    if (&connection == asked_) links_.fatal = Error{Code::refused, refusal->reason};
  } else if (const auto* done = std::get_if<wire::PiecesDone>(&*decoded)) {
    arriving_[done->of].done.insert(guest->identity.id);
    givers_[&connection] = done->of;
    ++heard_;
  } else {
    return connection.close("something that no member says");
  }
  links_.wake.notify_all();
}

void Assembly::on_call(transport::Connection& connection, const wire::Identity& identity, wire::Muster muster) {
  const Call call{connection.shared_from_this(), identity, std::move(muster)};
  if (view_.number == 0) return connection.send(wire::encode(wire::Elsewhere{}));
  const bool known = of_view(call);
  if (state_ == State::following && known) {
    if (leads_ != identity.id) tell_elsewhere({call}, leader_);
    return;
  }
  const bool runs = state_ == State::running || state_ == State::beginning;
  if (runs && !known && !is_first()) return tell_elsewhere({call}, view_.members.front().listens);
  std::erase_if(calls_, [&](const auto& entry) { return entry.second.identity.listens == identity.listens; });
  calls_.emplace(&connection, call);
  if (state_ == State::running || (runs && known)) over(fmt::format("{} comes", in_words(identity)));
}

bool Assembly::of_view(const Call& call) const {
  return call.identity.numbered && call.said.view >= view_.number && seat_of(call.identity.id);
}

void Assembly::tell_elsewhere(std::vector<Call> calls, const std::string& address) const {
  links_.loop->post([calls = std::move(calls), said = wire::encode(wire::Elsewhere{view_.number, address})] {
    for (const auto& call : calls) call.connection->send(said);
  });
}

void Assembly::on_down(transport::Connection& connection, const transport::Failure& failure) {
  const std::lock_guard lock(links_.mutex);
  const bool given =
      std::any_of(handing_on_.begin(), handing_on_.end(), [&](const auto& one) { return one.get() == &connection; });
  const auto giver = givers_.extract(&connection);
  if (watching_ && failure.kind != transport::Down::local &&
      (given || (!giver.empty() && giver.mapped() == view_.number)))
    over(failure.text);
  calls_.erase(&connection);
  if (connection.note) {
    guest_of(connection).down = true;
    guest_of(connection).silent = failure.kind == transport::Down::timed_out;
  }
  links_.wake.notify_all();
}

}  // namespace yoke::cluster
