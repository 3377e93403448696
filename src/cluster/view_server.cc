#include "cluster/view_server.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cluster/identity.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

using wire::Role;

constexpr auto kAgain = std::chrono::milliseconds(200);  // between two tries to reach the coordinator
constexpr auto kSoon = std::chrono::milliseconds(20);    // to reach another server of the same view
constexpr auto kDial = std::chrono::seconds(1);
constexpr auto kFarewellToCoordinator = std::chrono::seconds(5);  // for the coordinator to hear that the job is over
constexpr auto kUnreachable = std::chrono::seconds(3);            // a backup that takes so long to answer is lost
constexpr auto kBringing = std::chrono::seconds(20);              // for a replica to bring values that no server has
constexpr std::uint64_t kBackupCredit = std::uint64_t{1}
                                        << 40;  // a backup takes what it is sent, and lets go of it soon

// What a connection of this server is.
enum class Purpose { coordinator, line, primary };

}  // namespace

ViewServer::ViewServer(transport::Loop& loop, ViewServerOptions options)
    : loop_(loop),
      options_(std::move(options)),
      dialler_(loop, options_.house.credentials),
      without_coordinator_(transport::Loop::now()),
      workers_(options_.house.workers) {}

ViewServer::~ViewServer() { loop_.cancel(patience_); }

Result<std::unique_ptr<ViewServer>> ViewServer::open(transport::Loop& loop, ViewServerOptions options) {
  if (auto where = transport::parse_address(options.coordinator); !where) return where.error();
  std::unique_ptr<ViewServer> server(new ViewServer(loop, std::move(options)));
  auto house = server->options_.house;
  house.coordinated = house.newcomer = true;
  house.members = server.get();
  // Not in the middle of what it does: that is taken apart then.
  house.lost = [&loop, self = server.get()](const std::string& why) {
    loop.post([self, why, view = self->view_ ? self->view_->number : 0] {
      if (self->view_ && self->view_->number == view) self->lay_down(why);
    });
  };
  house.ended = [self = server.get()](const Status& status) { self->house_ended(status); };
  house.to_backup = [self = server.get()](std::string control, transport::Bytes payload) {
    self->to_backup(std::move(control), std::move(payload));
  };
  house.backup_filled = [self = server.get()] {
    if (!self->primary() || !self->line_) return;
    self->line_->filled = true;
    if (self->coordinator_up_)
      self->coordinator_->send(wire::encode(
          wire::BackupNews{self->view_->number, *self->shard_, self->line_->to.life, self->line_->since, ""}));
  };
  auto opened = House::open(loop, std::move(house));
  if (!opened) return opened.error();
  server->house_ = std::move(*opened);
  server->dial_coordinator(Duration::zero());
  return server;
}

// --- the coordinator ---

void ViewServer::dial_coordinator(Duration pause) {
  if (ended_) return;
  dialler_.dial(options_.coordinator, pause, kDial, [this](const Result<int>& fd) {
    if (ended_) {
      if (fd) ::close(*fd);
      return;
    }
    if (!fd) {
      const auto without = transport::Loop::now() - without_coordinator_;
      if (!view_ && without > options_.house.deadline)
        return end(Error{Code::timed_out,
                         fmt::format("the coordinator at {} does not answer for {:.0f} s: {}", options_.coordinator,
                                     std::chrono::duration<double>(without).count(), fd.error().message)});
      return dial_coordinator(kAgain);
    }
    auto identity = this_process(Role::member, 0);
    identity.numbered = false;
    identity.incarnation = house_->settings().incarnation;
    identity.listens = listens_ = house_->reached_at(*fd);
    auto settings = house_->settings();
    settings.introduction = wire::encode_identity(identity);
    coordinator_ =
        transport::adopt(loop_, *fd, transport::parse_address(options_.coordinator).or_throw(), settings, *this);
    coordinator_->call_peer("the coordinator at " + options_.coordinator);
    coordinator_->note = std::make_shared<Purpose>(Purpose::coordinator);
  });
}

void ViewServer::attend(const std::string& why) {
  if (!coordinator_up_ || over_) return;
  wire::Attend said{.serves = view_, .laid_down = laid_down_, .laid_revision = laid_revision_, .why = why};
  if (!view_) {
    for (const auto& held : held_) said.holdings.push_back(held.which);
    said.checkpoint = house_->checkpoint_there();
    said.networks = networks_;
  }
  coordinator_->send(wire::encode(std::move(said)));
  if (primary() && line_ && (line_->lost || line_->filled))
    coordinator_->send(wire::encode(
        wire::BackupNews{view_->number, *shard_, line_->to.life, line_->since, line_->lost ? "it is lost" : ""}));
}

void ViewServer::told(wire::ServerView view) {
  if (view.over) {
    over_ = true;
    // The house that is at it ends by itself, when all have been told.
    if (!primary()) end({});
    return;
  }
  if (view_ && view.number > view_->number) return lay_down("there is a later view of the job");
  if (view_ && view.number == view_->number) return take_revision(std::move(view));
  if (view_ || view.number < laid_down_) return;
  const auto own = house_->settings().incarnation;
  const bool in_it = std::any_of(view.shards.begin(), view.shards.end(), [&](const auto& shard) {
    const bool backup = shard.backup && shard.backup->life == own;
    // What was laid down is not taken up again, but as a backup that begins from nothing.
    return view.number == laid_down_ ? backup && shard.since > laid_revision_ : backup || shard.primary.life == own;
  });
  if (in_it) take_part(std::move(view));
}

void ViewServer::take_revision(wire::ServerView view) {
  if (view.revision <= view_->revision) return;
  const auto former = std::exchange(*view_, std::move(view));
  if (!primary()) return;
  const auto& was = former.shards[*shard_];
  const auto& is = view_->shards[*shard_];
  if (was.backup == is.backup && was.since == is.since) return;
  line_.reset();
  if (was.backup) house_->backup_changed(false);
  if (!is.backup) return;
  open_line();
  house_->backup_changed(true);
}

void ViewServer::take_part(wire::ServerView view) {
  // What it was taken in for is what it has of this view from now on.
  const auto own = house_->settings().incarnation;
  std::erase_if(held_, [&](const auto& held) {
    return held.which.network >= view.networks.size() ||
           held.which.version != view.networks[held.which.network].version || held.which.shard >= view.shards.size() ||
           !view.shards[held.which.shard].goes_on_with(own);
  });
  for (auto& held : held_) held.which.view = view.number;
  view_ = std::move(view);
  why_.clear();
  bool is_backup = false;
  for (wire::ShardId shard = 0; shard < view_->shards.size(); ++shard) {
    const auto& one = view_->shards[shard];
    is_backup = one.primary.life != own;
    if (one.primary.life != own && !(one.backup && one.backup->life == own)) continue;
    shard_ = shard;
    break;
  }
  if (is_backup)
    begin_as_backup();
  else
    begin_as_primary();
}

void ViewServer::begin_as_backup() {
  const auto& shard = view_->shards[*shard_];
  backup_ = std::make_shared<Backup>(loop_, workers_, *shard_, [this](std::uint32_t network, wire::Version version) {
    if (from_primary_) from_primary_->send(wire::encode(wire::PiecesHeld{network, version}));
  });
  if (shard.goes_on_with(house_->settings().incarnation)) backup_->go_on_from(opened_, held_);
  say(fmt::format("view {}: this is the backup of shard {}", view_->number, *shard_));
}

void ViewServer::begin_as_primary() {
  const auto& shard = view_->shards[*shard_];
  HousePart part;
  part.view = view_named(view_->number);
  part.shard = *shard_;
  part.shards = static_cast<std::uint32_t>(view_->shards.size());
  part.join = view_->shards.front().primary.listens;
  part.from_disk = view_->networks.empty();
  part.restore = view_->restore.has_value();
  part.backup = shard.backup.has_value();
  part.filled = shard.filled;
  if (shard.brought) part.brought = view_->from;
  if (!view_->networks.empty()) {
    std::vector<Inheritance::Network> networks;
    for (const auto& network : view_->networks) networks.push_back({network.version, network.standing});
    auto inherits = std::make_shared<Inheritance>(std::move(networks));
    for (const auto& held : held_)
      if (held.which.shard == *shard_)
        for (const auto& piece : held.slice.pieces) inherits->add(piece);
    part.inherits = std::move(inherits);
  }
  say(fmt::format("view {}: this is the primary of shard {}{}", view_->number, *shard_,
                  view_->restore            ? fmt::format(", from the checkpoint of version {}", *view_->restore)
                  : view_->networks.empty() ? ""
                                            : fmt::format(", from version {}", view_->networks.front().version)));
  line_.reset();
  if (shard.backup) open_line();
  house_->take_part(std::move(part));
  if (shard.brought) await_values(view_->number, house_->progress());
  if (*shard_ != 0) return link_to_first();
  if (auto begun = house_->begin_view({}); !begun) end(begun.error());
}

// For replicas that bring the values, and for the disk.
void ViewServer::await_values(std::uint64_t number, std::uint64_t seen) {
  loop_.after(kBringing, [this, number, seen] {
    if (!view_ || view_->number != number || !primary() || !house_->awaits_values()) return;
    if (const auto progress = house_->progress(); progress != seen) return await_values(number, progress);
    lay_down("no replica has brought the values of its shard");
  });
}

void ViewServer::link_to_first() {
  dialler_.dial(view_->shards.front().primary.listens, Duration::zero(), kDial,
                [this, number = view_->number](const Result<int>& fd) {
                  if (!view_ || view_->number != number || !primary()) {
                    if (fd) ::close(*fd);
                    return;
                  }
                  if (!fd) {  // it is not there yet, or is no more: then there will be another view
                    loop_.after(kSoon, [this, number] {
                      if (view_ && view_->number == number && primary()) link_to_first();
                    });
                    return;
                  }
                  if (auto begun = house_->begin_view(*fd); !begun) end(begun.error());
                });
}

// It takes no part any more, keeps what it has, and says so.
void ViewServer::lay_down(const std::string& why) {
  if (!view_ || ended_) return;
  why_ = why;
  say(fmt::format("view {} is laid down: {}", view_->number, why));
  const auto number = view_->number;
  laid_down_ = number;
  laid_revision_ = view_->revision;
  if (backup_) {
    held_ = backup_->lay_down(number);
    opened_ = backup_->networks();
    networks_ = static_cast<std::uint32_t>(opened_.size());
    backup_.reset();
    if (auto connection = std::exchange(from_primary_, nullptr)) connection->close("the view is over");
  } else {
    auto former = std::exchange(held_, {});
    const auto networks = house_->dissolve();
    for (const auto& [index, network] : networks) {
      if (!network->initialised()) continue;
      networks_ = std::max(networks_, index + 1);
      opened_[index] = {index, network->terms(), network->layout(), network->about()};
      for (auto& [version, slice] : network->slices())
        held_.push_back(
            {{number, index, *shard_, network->plan().shards(), version, slice.standing}, std::move(slice)});
      std::erase_if(former, [&](const auto& held) { return held.which.network == index; });
    }
    // What nobody has asked for yet is what it began with.
    std::move(former.begin(), former.end(), std::back_inserter(held_));
    if (line_ && line_->connection) line_->connection->close("the view is over");
    line_.reset();
  }
  view_.reset();
  shard_.reset();
  attend(why);
}

void ViewServer::house_ended(const Status& status) {
  over_ = true;
  farewell_ = status;
  if (line_ && line_->connection) {
    line_->connection->send(wire::encode(wire::Leaving{"the job is over", status.ok(), 0}));
    line_->connection->finish("the job is over");
  }
  if (coordinator_up_) return say_farewell();
  // It tells those that are backups or idle: it is worth waiting for.
  patience_ = loop_.after(kFarewellToCoordinator, [this] { end(*farewell_); });
}

void ViewServer::say_farewell() {
  const auto& status = *farewell_;
  coordinator_->send(wire::encode(wire::Leaving{status ? "the job is over" : status.error().message, status.ok(), 0}));
  coordinator_->finish("the job is over");
  end(status);
}

void ViewServer::end(Status status) {
  if (std::exchange(ended_, true)) return;
  // What was said is to go out.
  loop_.after(std::chrono::milliseconds(coordinator_up_ ? 100 : 0), [this, status] {
    if (options_.house.ended) options_.house.ended(status);
  });
}

void ViewServer::stop(const std::string& reason) {
  if (ended_) return;
  if (primary() && !over_) return house_->stop(reason);
  end(Error{Code::cancelled, reason});
}

void ViewServer::checkpoint(const std::string& why) {
  if (primary()) house_->checkpoint(why);
}

// --- the backup ---

void ViewServer::open_line() {
  const auto& shard = view_->shards[*shard_];
  line_.emplace();
  line_->to = *shard.backup;
  line_->since = shard.since;
  line_->tried_since = transport::Loop::now();
  dial_backup(shard.since);
}

void ViewServer::dial_backup(std::uint64_t since) {
  dialler_.dial(
      line_->to.listens, Duration::zero(), kDial, [this, since, number = view_->number](const Result<int>& fd) {
        if (!primary() || view_->number != number || !line_ || line_->since != since || line_->lost) {
          if (fd) ::close(*fd);
          return;
        }
        if (!fd) return line_lost(fd.error().message);
        auto identity = this_process(Role::member, *shard_);
        identity.incarnation = house_->settings().incarnation;
        identity.view = number;
        identity.replaces = since;
        auto settings = house_->settings();
        settings.introduction = wire::encode_identity(identity);
        line_->connection =
            transport::adopt(loop_, *fd, transport::parse_address(line_->to.listens).or_throw(), settings, *this);
        line_->connection->call_peer(fmt::format("the backup of shard {} at {}", *shard_, line_->to.listens));
        line_->connection->note = std::make_shared<Purpose>(Purpose::line);
      });
}

void ViewServer::line_lost(const std::string& why) {
  line_->lost = true;
  line_->connection.reset();
  line_->waiting.clear();
  say(fmt::format("the backup of shard {} is lost: {}", *shard_, why));
  if (coordinator_up_)
    coordinator_->send(wire::encode(wire::BackupNews{view_->number, *shard_, line_->to.life, line_->since, why}));
}

void ViewServer::to_backup(std::string control, transport::Bytes payload) {
  if (!line_ || line_->lost) return;
  if (line_->up)
    line_->connection->send(std::move(control), std::move(payload));
  else
    line_->waiting.emplace_back(std::move(control), std::move(payload));
}

// --- transport::Handler ---

void ViewServer::on_up(transport::Connection& connection, const std::string& introduction) {
  if (!connection.note) {  // a primary, by way of the house
    const auto identity = wire::decode_identity(introduction).or_throw();
    if (!backup_ || identity.view != view_->number || identity.id != *shard_ ||
        identity.replaces != view_->shards[*shard_].since ||
        identity.incarnation != view_->shards[*shard_].primary.life || from_primary_)
      return connection.close("this is not the backup of that shard, or not yet");
    connection.note = std::make_shared<Purpose>(Purpose::primary);
    connection.call_peer(fmt::format("the primary of shard {}", *shard_));
    connection.grant(kBackupCredit);
    from_primary_ = connection.shared_from_this();
    connection.send(wire::encode(wire::Welcome{}));
    return;
  }
  const auto purpose = *std::static_pointer_cast<Purpose>(connection.note);
  if (purpose == Purpose::coordinator && coordinator_.get() == &connection) {
    coordinator_up_ = true;
    if (farewell_) return say_farewell();
    attend(why_);
  }
}

Result<transport::Sink> ViewServer::on_announced(transport::Connection& connection,
                                                 const transport::Incoming& message) {
  if (&connection != from_primary_.get() || message.payload % sizeof(float) != 0)
    return Error{Code::corrupt, "a payload where none belongs"};
  return transport::Sink{};
}

void ViewServer::on_message(transport::Connection& connection, transport::Incoming message, transport::Bytes payload) {
  auto decoded = wire::decode(message.control);
  if (!decoded) return connection.close(decoded.error().message);
  if (&connection == from_primary_.get()) {
    if (std::holds_alternative<wire::Leaving>(*decoded)) {
      over_ = true;  // the coordinator says so as well, if it is there
      patience_ = loop_.after(kFarewellToCoordinator, [this] { end({}); });
      return;
    }
    if (auto heard = backup_->hear(std::move(*decoded), std::move(payload)); !heard)
      connection.close(heard.error().message);
    return;
  }
  if (line_ && &connection == line_->connection.get()) {
    if (std::holds_alternative<wire::Welcome>(*decoded)) {  // it knows what it is
      line_->up = true;
      for (auto& [control, bytes] : std::exchange(line_->waiting, {}))
        connection.send(std::move(control), std::move(bytes));
    } else if (const auto* held = std::get_if<wire::PiecesHeld>(&*decoded)) {
      house_->backup_has(held->network, held->of);
    }
    return;
  }
  if (&connection != coordinator_.get()) return;
  if (auto* view = std::get_if<wire::ServerView>(&*decoded)) {
    told(std::move(*view));
  } else if (const auto* recall = std::get_if<wire::Recall>(&*decoded)) {
    if (view_ && view_->number <= recall->view)
      lay_down(recall->why);
    else if (!view_)
      attend(why_);
  } else if (const auto* refusal = std::get_if<wire::Refusal>(&*decoded)) {
    over_ = true;
    end(Error{Code::refused, refusal->reason});
  }
}

void ViewServer::on_down(transport::Connection& connection, const transport::Failure& failure) {
  if (&connection == from_primary_.get()) {
    from_primary_.reset();
    if (failure.kind != transport::Down::local && !over_) lay_down(failure.text);
    return;
  }
  if (line_ && &connection == line_->connection.get()) {
    line_->connection.reset();
    if (failure.kind == transport::Down::local || over_) return;
    // One that has not heard of the view yet closes the connection.
    if (!line_->up && transport::Loop::now() < line_->tried_since + kUnreachable) {
      loop_.after(kSoon, [this, since = line_->since, number = view_->number] {
        if (primary() && view_->number == number && line_ && line_->since == since && !line_->lost) dial_backup(since);
      });
      return;
    }
    return line_lost(failure.text);
  }
  if (&connection != coordinator_.get()) return;
  coordinator_.reset();
  if (std::exchange(coordinator_up_, false)) without_coordinator_ = transport::Loop::now();
  if (!ended_) dial_coordinator(kAgain);
}

}  // namespace yoke::cluster
