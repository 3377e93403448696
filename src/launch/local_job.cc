#include "launch/local_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

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
      : supervisor_(supervisor), job_(job), say_(say) {
    end_.replicas.resize(job.part.replicas.size());
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
      const auto event = supervisor_.wait(deadline_);
      if (event.kind == Event::Kind::timed_out && may_go_on()) {
        deadline_ = Clock::now() + job_.patience.look;
      } else if (event.kind == Event::Kind::timed_out) {
        if (left_ == 0 && end_.signal == 0 && !all_failed())
          say_(
              "the replicas have ended, and the servers wait for them still: did they take part at all? A program of "
              "your own calls yoke::run with yoke::options_from(argc, argv)");
        // Whoever is left now is not wanted any more.
        for (const auto* child : supervisor_.stop_all(job_.patience.stop))
          say_(fmt::format("{} did not end by itself, and was killed", child->name()));
        deadline_ = Clock::now() + kForever;
      } else if (event.kind == Event::Kind::signalled) {
        on_signal(event.signal);
      } else {
        on_exit(*event.child);
      }
    }
    return end_;
  }

 private:
  Status start() {
    const auto by = Clock::now() + job_.patience.start;
    auto join = job_.join;
    std::vector<const Child*> waiting;
    for (const auto i : job_.part.servers) {
      auto child = supervisor_.start(job_.server(i, join));
      if (!child) return child.error();
      ++servers_left_;
      if (i == 0) {  // the others have to know where it is
        auto address = supervisor_.await_ready(**child, by);
        if (!address) return address.error();
        join = *address;
        if (job_.announce)
          if (auto told = job_.announce(join); !told) return told;
      } else {
        waiting.push_back(*child);
      }
    }
    for (const auto* child : waiting)
      if (auto ready = supervisor_.await_ready(*child, by); !ready) return ready.error();
    for (std::size_t at = 0; at < job_.part.replicas.size(); ++at) {
      auto child = supervisor_.start(job_.replica(job_.part.replicas[at], join));
      if (!child) return child.error();
      replicas_[*child] = at;
      ++left_;
    }
    return {};
  }

  // The job is over, and those that are left write their files; one that was stopped will never end by itself.
  bool may_go_on() const {
    return over_ && Clock::now() < *over_ + job_.patience.replicas_write &&
           std::any_of(replicas_.begin(), replicas_.end(),
                       [](const auto& entry) { return !entry.first->ending() && !is_stopped(entry.first->pid()); });
  }

  void on_exit(const Child& child) {
    const bool good = child.ending()->good();
    if (const auto it = replicas_.find(&child); it != replicas_.end()) {
      end_.replicas[it->second] = child.ending();
      // What it said of its own failure stands above; a signal says nothing by itself.
      if (child.ending()->signal != 0) say_(fmt::format("{} {}", child.name(), in_words(*child.ending())));
      if (--left_ == 0) {
        if (!goes_on_elsewhere())
          deadline_ = Clock::now() + (all_failed() ? job_.patience.servers_fail : job_.patience.servers_end);
      } else if (job_.mirrored && failed(*child.ending()) && end_.signal == 0) {  // nor can the others go on
        deadline_ = std::min(deadline_, Clock::now() + job_.patience.replicas_notice);
      } else if ((job_.mirrored || (job_.ends_together && !failed(*child.ending()))) && !over_) {
        // One that is stopped or hung keeps nobody.
        over_ = Clock::now();
        deadline_ = std::min(deadline_, *over_ + job_.patience.look);
      }
      return;
    }
    if (--servers_left_ == 0 && left_ > 0 && good && end_.served) {
      over_ = Clock::now();
      deadline_ = std::min(deadline_, *over_ + job_.patience.look);
    }
    if (good) return;
    if (left_ > 0) {
      end_.served = false;
      say_(child.epitaph());
      deadline_ = std::min(deadline_, Clock::now() + job_.patience.replicas_notice);
    } else if (end_.signal == 0) {
      end_.served = false;
      if (goes_on_elsewhere()) say_(child.epitaph());
    }
  }

  // None of the replicas here is left, if there were any, and yet the job may go on with those of other launchers.
  bool goes_on_elsewhere() const {
    const auto began = [](const auto& entry) { return !entry.first->ending() || !never_began(*entry.first->ending()); };
    return job_.elsewhere && all_failed() &&
           (replicas_.empty() || std::any_of(replicas_.begin(), replicas_.end(), began));
  }

  bool all_failed() const {
    return std::all_of(replicas_.begin(), replicas_.end(),
                       [](const auto& entry) { return entry.first->ending() && failed(*entry.first->ending()); });
  }

  void on_signal(int signal) {
    if (std::exchange(end_.signal, signal) != 0) {
      supervisor_.stop_all(std::chrono::seconds(0), SIGKILL);
      return;
    }
    say_(job_.stopping);
    // Only the replicas stop; the servers follow when these have gone.
    const int passed_on = signal == SIGINT ? SIGINT : SIGTERM;
    for (const auto& [child, at] : replicas_)
      if (!child->ending()) child->signal_group(passed_on);
  }

  Supervisor& supervisor_;
  const LocalJob& job_;
  const std::function<void(const std::string&)>& say_;
  JobEnd end_;
  std::map<const Child*, std::size_t> replicas_;  // and their place in the part
  std::size_t left_ = 0, servers_left_ = 0;
  std::optional<Clock::time_point> over_;  // since when the servers have gone in good order
  Clock::time_point deadline_ = Clock::now() + kForever;
};

}  // namespace

Result<JobEnd> run_local_job(Supervisor& supervisor, const LocalJob& job,
                             const std::function<void(const std::string&)>& say) {
  return Running(supervisor, job, say).run();
}

}  // namespace yoke::launch
