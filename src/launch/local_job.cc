#include "launch/local_job.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>

#include "launch/place.h"

namespace yoke::launch {
namespace {

using Clock = Supervisor::Clock;

constexpr auto kForever = std::chrono::hours(24 * 365);

// By SIGSTOP or a debugger.
bool is_stopped(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(file, text);
  const auto name_end = text.rfind(')');  // the name may have anything in it
  return name_end != std::string::npos && name_end + 2 < text.size() &&
         (text[name_end + 2] == 'T' || text[name_end + 2] == 't');
}

class Running {
 public:
  Running(Supervisor& supervisor, const LocalJob& job, const std::function<void(const std::string&)>& say)
      : supervisor_(supervisor), job_(job), say_(say), join_(job.join) {
    end_.replicas.resize(job.part.replicas.size());
    for (const auto replica : job.part.replicas) seats_.push_back({replica, Restarts(job.restarts)});
    if (!job.coordinator) return;
    helpers_.push_back({kCoordinator, Restarts(job.helpers)});
    for (const auto server : job.part.servers) helpers_.push_back({server, Restarts(job.helpers)});
  }

  Result<JobEnd> run() {
    if (auto started = start(); !started) {
      end_.signal = supervisor_.signalled();
      supervisor_.stop_all(job_.patience.stop);
      if (end_.signal == 0) return started.error();
      say_(started.error().message);
      return end_;
    }
    while (left_ > 0 || servers_left_ > 0) {
      const auto event = supervisor_.wait(std::min(deadline_, next_restart()));
      if (event.kind == Event::Kind::timed_out && Clock::now() < deadline_) {
        restart_those_due();
      } else if (event.kind == Event::Kind::timed_out && may_go_on()) {
        deadline_ = Clock::now() + job_.patience.look;
      } else if (event.kind == Event::Kind::timed_out) {
        if (left_ == 0 && end_.signal == 0 && !all_failed())
          say_(
              "the replicas have ended, and the servers wait for them still: did they take part at all? A program of "
              "your own calls yoke::run with yoke::options_from(argc, argv)");
        // Whoever is left now is not wanted any more.
        drop_restarts();
        stopping_ = true;
        for (const auto* child : supervisor_.stop_all(job_.patience.stop))
          say_(fmt::format("{} did not end by itself, and was killed", child->name()));
        deadline_ = Clock::now() + kForever;
      } else if (event.kind == Event::Kind::signalled) {
        on_signal(event.signal);
      } else if (event.kind == Event::Kind::checkpoint) {
        pass_on_checkpoint();
      } else {
        on_exit(*event.child);
      }
    }
    return end_;
  }

 private:
  Status start() {
    const auto by = Clock::now() + job_.patience.start;
    std::vector<const Child*> waiting;
    for (auto& helper : helpers_) {
      if (auto started = start_helper(helper); !started) return started;
      ++servers_left_;
      auto address = supervisor_.await_ready(*helper.child, by);
      if (!address) return address.error();
      if (helper.replica == kCoordinator) join_ = *address;
    }
    for (const auto i : job_.coordinator ? std::vector<std::uint32_t>{} : job_.part.servers) {
      auto child = supervisor_.start(job_.server(i, join_));
      if (!child) return child.error();
      ++servers_left_;
      if (i == 0) {  // the others have to know where it is
        first_ = *child;
        auto address = supervisor_.await_ready(**child, by);
        if (!address) return address.error();
        join_ = *address;
        if (job_.announce)
          if (auto told = job_.announce(join_); !told) return told;
      } else {
        waiting.push_back(*child);
      }
    }
    for (const auto* child : waiting)
      if (auto ready = supervisor_.await_ready(*child, by); !ready) return ready.error();
    for (auto& seat : seats_) {
      if (auto started = seat_replica(seat); !started) return started;
      ++left_;
    }
    return {};
  }

  // One place of the part: the replica that has it, in its newest life.
  struct Seat {
    std::uint32_t replica = 0;
    Restarts restarts;
    const Child* child = nullptr;
    Clock::time_point began{};
    std::optional<Clock::time_point> again{};  // when it is started again; none: it runs, or has ended for good
  };

  Status seat_replica(Seat& seat) {
    auto child = supervisor_.start(job_.replica(seat.replica, join_));
    if (!child) return child.error();
    seat.child = *child;
    seat.began = Clock::now();
    return {};
  }

  // The coordinator, or a server that it knows.
  static constexpr std::uint32_t kCoordinator = ~0u;

  Status start_helper(Seat& helper) {
    auto child = supervisor_.start(helper.replica == kCoordinator ? job_.coordinator(join_)
                                                                  : job_.server(helper.replica, join_));
    if (!child) return child.error();
    helper.child = *child;
    helper.began = Clock::now();
    return {};
  }

  // Whether it is started again; the job goes on in any case, as long as others have what it had.
  bool helper_comes_again(const Child& child) {
    const auto helper =
        std::find_if(helpers_.begin(), helpers_.end(), [&](const Seat& it) { return it.child == &child; });
    if (helper == helpers_.end() || !lost(*child.ending()) || !may_restart()) return false;
    const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - helper->began);
    const auto again = helper->restarts.lost(ran);
    say_(fmt::format("{}; {}", last_words(child), again ? in_words(*again, job_.helpers) : "it is not started again"));
    if (again) helper->again = Clock::now() + again->pause;
    return again.has_value();
  }

  Clock::time_point next_restart() const {
    auto when = Clock::time_point::max();
    for (const auto& helper : helpers_)
      if (helper.again) when = std::min(when, *helper.again);
    for (const auto& seat : seats_)
      if (seat.again) when = std::min(when, *seat.again);
    return when;
  }

  void restart_those_due() {
    for (auto& helper : helpers_) {
      if (!helper.again || Clock::now() < *helper.again) continue;
      helper.again.reset();
      if (auto started = start_helper(helper); !started) {
        say_(fmt::format("{}; going on without it", started.error().message));
        --servers_left_;
      }
    }
    for (std::size_t at = 0; at < seats_.size(); ++at) {
      auto& seat = seats_[at];
      if (!seat.again || Clock::now() < *seat.again) continue;
      seat.again.reset();
      if (auto started = seat_replica(seat); !started) {
        say_(fmt::format("{}; going on without it", started.error().message));
        one_less();
      } else {
        end_.replicas[at].reset();
      }
    }
  }

  // Whether a replica that was lost comes again; says so.
  bool comes_again(Seat& seat) {
    if (!lost(*seat.child->ending()) || !may_restart() || !has_whom_to_ask(seat)) return false;
    const auto ran = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - seat.began);
    const auto again = seat.restarts.lost(ran);
    if (!again) return false;
    say_(fmt::format("{}; {}", last_words(*seat.child), in_words(*again, job_.restarts)));
    seat.again = Clock::now() + again->pause;
    return true;
  }

  static std::string last_words(const Child& child) {
    return fmt::format("{} {} (process {} on {})", child.name(), in_words(*child.ending()), child.pid(), this_host());
  }

  void note_loss(const Child& child) {
    if (stopping_ || end_.signal != 0) return;
    const auto now = fmt::localtime(std::time(nullptr));
    const auto& said = child.last_lines();
    end_.losses.push_back(fmt::format("{} at {:%H:%M:%S}{}", last_words(child), now,
                                      said.empty() || child.ending()->signal != 0 ? "" : ": " + said.back()));
  }

  bool may_restart() const {
    const auto well = [](const auto& ending) { return ending && !failed(*ending); };
    return end_.signal == 0 && end_.served && !over_ && !server_ended_ &&
           std::none_of(end_.replicas.begin(), end_.replicas.end(), well);
  }

  // Under mirrored one that comes again takes the state from another replica: one that runs here, or replica 0 where
  // that is another launcher's.
  bool has_whom_to_ask(const Seat& seat) const {
    if (!job_.mirrored || (job_.elsewhere && seats_.front().replica != 0)) return true;
    return std::any_of(seats_.begin(), seats_.end(), [&](const Seat& other) { return &other != &seat && runs(other); });
  }

  static bool runs(const Seat& seat) { return seat.child && !seat.child->ending(); }

  // Nobody comes again. Whether somebody would have.
  bool drop_restarts() {
    bool dropped = false;
    for (auto& helper : helpers_)
      if (std::exchange(helper.again, std::nullopt)) --servers_left_;
    for (auto& seat : seats_) {
      if (!std::exchange(seat.again, std::nullopt)) continue;
      if (job_.mirrored && all_failed()) note_loss(*seat.child);
      one_less();
      dropped = true;
    }
    return dropped;
  }

  // A replica that runs no more, and does not come again.
  void one_less() {
    if (--left_ == 0 && !goes_on_elsewhere())
      deadline_ = Clock::now() + (all_failed() ? job_.patience.servers_fail : job_.patience.servers_end);
  }

  // The job is over, and those that are left write their files; one that was stopped will never end by itself.
  bool may_go_on() const {
    return over_ && Clock::now() < *over_ + job_.patience.replicas_write &&
           std::any_of(seats_.begin(), seats_.end(),
                       [](const Seat& seat) { return !seat.child->ending() && !is_stopped(seat.child->pid()); });
  }

  void on_exit(const Child& child) {
    const auto seat = std::find_if(seats_.begin(), seats_.end(), [&](const Seat& it) { return it.child == &child; });
    if (seat == seats_.end()) {
      on_server_exit(child);
    } else {
      end_.replicas[static_cast<std::size_t>(seat - seats_.begin())] = child.ending();
      if (!comes_again(*seat)) on_replica_exit(*seat);
    }
  }

  void on_replica_exit(const Seat& seat) {
    const auto& ending = *seat.child->ending();
    // What it said of its own failure stands above; a signal says nothing by itself.
    const auto used = seat.restarts.used();
    if (used > 0 && used == job_.restarts.times && lost(ending)) {
      say_(fmt::format("{}; it has been started again {} time{}, and is no more", last_words(*seat.child), used,
                       used == 1 ? "" : "s"));
    } else if (ending.signal != 0) {
      say_(last_words(*seat.child));
    }
    if (failed(ending)) note_loss(*seat.child);
    one_less();
    const bool well = !failed(ending) && !drained(ending);
    if (well) {
      drop_restarts();
    } else if (!has_whom_to_ask(seat) && drop_restarts()) {
      say_("no replica is left that has the state of the job, so none is started again");
    }
    if (left_ == 0) return;
    if (job_.mirrored && never_began(ending) && used == 0 && end_.signal == 0) {  // nor can the others begin
      deadline_ = std::min(deadline_, Clock::now() + job_.patience.replicas_notice);
    } else if (!over_ && (job_.mirrored ? well || end_.signal != 0 : well && job_.ends_together)) {
      // One that is stopped or hung keeps nobody.
      over_ = Clock::now();
      deadline_ = std::min(deadline_, *over_ + job_.patience.look);
    }
  }

  void on_server_exit(const Child& child) {
    const bool good = child.ending()->good();
    const bool needed = left_ > 0;
    if (helper_comes_again(child)) return;
    if (!good && job_.coordinator && may_restart() && servers_left_ > 1) {  // the others do without it
      --servers_left_;
      return;
    }
    server_ended_ = true;
    if (!good && (needed || end_.signal == 0)) {
      end_.served = false;
      note_loss(child);
      if (needed || goes_on_elsewhere()) say_(child.epitaph());
    }
    drop_restarts();
    if (--servers_left_ == 0 && left_ > 0 && good && end_.served) {
      over_ = Clock::now();
      deadline_ = std::min(deadline_, *over_ + job_.patience.look);
    }
    if (!good && left_ > 0) deadline_ = std::min(deadline_, Clock::now() + job_.patience.replicas_notice);
  }

  // None of the replicas here is left, if there were any, and yet the job may go on with those of other launchers.
  bool goes_on_elsewhere() const {
    const auto began = [](const Seat& seat) { return !seat.child->ending() || !never_began(*seat.child->ending()); };
    return job_.elsewhere && all_failed() && (seats_.empty() || std::any_of(seats_.begin(), seats_.end(), began));
  }

  bool all_failed() const {
    return std::all_of(seats_.begin(), seats_.end(),
                       [](const Seat& seat) { return seat.child->ending() && failed(*seat.child->ending()); });
  }

  void on_signal(int signal) {
    if (std::exchange(end_.signal, signal) != 0) {
      supervisor_.stop_all(std::chrono::seconds(0), SIGKILL);
      return;
    }
    say_(job_.stopping);
    // Only the replicas stop; the servers follow when these have gone.
    const int passed_on = signal == SIGINT ? SIGINT : SIGTERM;
    for (const auto& seat : seats_)
      if (!seat.child->ending()) seat.child->signal_group(passed_on);
    if (drop_restarts() && left_ == 0) deadline_ = Clock::now();
  }

  void pass_on_checkpoint() {
    const auto* first = first_;
    if (job_.mirrored && !seats_.empty() && seats_.front().replica == 0) {
      const auto there = std::find_if(seats_.begin(), seats_.end(), runs);
      first = (there == seats_.end() ? seats_.front() : *there).child;
    }
    if (!job_.keeps) {
      say_("SIGUSR2 asks for a checkpoint, and none are kept here: start the job with --checkpoint DIR");
    } else if (!first) {
      say_(fmt::format("SIGUSR2 asks for a checkpoint: send it to the launcher that has started {}",
                       job_.mirrored ? "replica 0" : "the first server"));
    } else if (!first->ending()) {
      kill(first->pid(), SIGUSR2);  // not what it may have started
    }
  }

  Supervisor& supervisor_;
  const LocalJob& job_;
  const std::function<void(const std::string&)>& say_;
  std::string join_;
  JobEnd end_;
  std::vector<Seat> seats_;    // in the order of the part's replicas
  std::vector<Seat> helpers_;  // with a coordinator: that, and the servers
  std::size_t left_ = 0;       // replicas that run, or come again
  std::size_t servers_left_ = 0;
  const Child* first_ = nullptr;  // the first server, if it is here
  bool server_ended_ = false;
  bool stopping_ = false;                  // those that are left were told to end
  std::optional<Clock::time_point> over_;  // since when the servers have gone in good order
  Clock::time_point deadline_ = Clock::now() + kForever;
};

}  // namespace

Result<JobEnd> run_local_job(Supervisor& supervisor, const LocalJob& job,
                             const std::function<void(const std::string&)>& say) {
  return Running(supervisor, job, say).run();
}

}  // namespace yoke::launch
