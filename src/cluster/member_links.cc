#include "cluster/member_links.h"

#include <sched.h>

#include <algorithm>

#include "cluster/silence.h"
#include "cluster/while_set.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

// A step's last blocks are back within a few milliseconds. Who sleeps meanwhile is woken wherever the kernel thinks
// best, often behind another replica that computes already; who looks on keeps its core, and yields it to whoever has
// work. What there is to hear and to make meanwhile it hears and makes itself, in the place of the loop's thread. Where
// waits turn out to be longer, looking on would only take the cores from others: it does so for half as long, and for
// twice as long again when it would have been enough.
constexpr Duration kMostLookOn = std::chrono::milliseconds(2);
constexpr Duration kLeastLookOn = std::chrono::microseconds(50);
constexpr auto kAnswer = std::chrono::seconds(2);  // for the name of who is waited for

}  // namespace

bool has_one_core() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
}

Time Links::now() const {
  return std::max(transport::Loop::now(), Time(static_cast<std::int64_t>(clock.load(std::memory_order_relaxed))));
}

void Links::send(wire::ShardId server, std::string control, transport::Bytes payload,
                 transport::Connection::Completion done) {
  loop->post(
      [this, server, control = std::move(control), payload = std::move(payload), done = std::move(done)]() mutable {
        transport::ConnectionPtr connection;
        {
          const std::lock_guard lock(mutex);
          if (server < servers.size()) connection = servers[server].connection;
        }
        if (connection)
          connection->send(std::move(control), std::move(payload), std::move(done));
        else if (done)
          done(false);
      });
}

void Links::send(std::vector<Outgoing> messages, bool quietly) {
  if (messages.empty()) return;
  auto call = [this, messages = std::move(messages)]() mutable {
    std::vector<transport::ConnectionPtr> connections(messages.size());
    {
      const std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < messages.size(); ++i)
        if (messages[i].server < servers.size()) connections[i] = servers[messages[i].server].connection;
    }
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (connections[i]) connections[i]->send(std::move(messages[i].control), std::move(messages[i].payload));
  };
  if (quietly)
    loop->post_quietly(std::move(call));
  else
    loop->post(std::move(call));
}

Status Links::wait(Lock& lock, const std::string& doing, const std::function<bool()>& until,
                   const std::function<bool()>& meanwhile) {
  auto seen = changes.load();
  std::uint64_t heard = 0;
  const auto progress_there = [&] {
    std::uint64_t sum = values_heard;
    for (const auto& link : servers)
      if (link.connection) sum += link.connection->peer_progress();
    return sum;
  };
  Silence silence(options.deadline, transport::Loop::now());
  transport::Loop::Visit visit(*loop);
  while (!until()) {
    if (fatal) return *fatal;
    if (lost) return lost->error;
    if (meanwhile()) {
      hear_now(lock, visit);  // the others wait for answers
      continue;
    }
    if (const auto progressed = progress_there(); changes != seen || progressed != heard) {
      seen = changes;
      heard = progressed;
      silence.broken(transport::Loop::now());
    }
    const auto left = silence.look(transport::Loop::now());
    if (left > Duration::zero()) {
      if (look_on(lock, visit, seen)) continue;
      visit.end();
      const auto asleep = transport::Loop::now();
      if (changes == seen) wake.wait_for(lock, left);
      const bool soon = transport::Loop::now() - asleep < kMostLookOn;
      looks_on = soon ? std::min(2 * looks_on, kMostLookOn) : std::max(looks_on / 2, kLeastLookOn);
      continue;
    }
    visit.end();
    const auto told = ask_account(lock, kAnswer);
    if (until()) return {};
    if (fatal) return *fatal;  // another has given up before
    if (lost) return lost->error;
    if (progress_there() != heard) continue;
    silent = hangs(options.deadline, life.replica, doing,
                   told && !told->waiting_for.empty() ? told->waiting_for : "the servers");
    return *silent;
  }
  return {};
}

// What has come by now, without waiting.
void Links::hear_now(Lock& lock, transport::Loop::Visit& visit) {
  lock.unlock();
  visit.take_turns(transport::Loop::now(), [] { return false; });
  lock.lock();
}

// True: something has happened since.
bool Links::look_on(Lock& lock, transport::Loop::Visit& visit, std::uint64_t seen) {
  lock.unlock();
  visit.take_turns(transport::Loop::now() + looks_on, [&] { return changes.load(std::memory_order_acquire) != seen; });
  lock.lock();
  return changes.load(std::memory_order_relaxed) != seen;
}

void Links::quiesce(Lock& lock, bool failed, const std::function<bool()>& reading) {
  const auto quiet = [&] { return sinks == 0 && !reading(); };
  if (failed && !quiet())
    loop->post([this] {
      std::vector<transport::ConnectionPtr> connections;
      {
        const std::lock_guard inner(mutex);
        for (const auto& link : servers) connections.push_back(link.connection);
      }
      for (const auto& connection : connections)
        if (connection) connection->close("this replica has failed");
    });
  // It ends: a message that was announced comes whole, or its connection is given up.
  const WhileSet waits(quiescing);
  wake.wait(lock, quiet);
}

Result<wire::Account> Links::ask_account(Lock& lock, Duration deadline) {
  account.reset();
  if (fatal) return *fatal;
  if (lost) return lost->error;
  send(0, wire::encode(wire::AskAccount{}));
  const auto give_up = transport::Loop::now() + deadline;
  while (!account && !fatal && !lost) {
    const auto left = give_up - transport::Loop::now();
    if (left <= Duration::zero()) return Error{Code::timed_out, "the first server does not answer"};
    wake.wait_for(lock, left);
  }
  if (!account) return fatal ? *fatal : lost->error;
  return std::move(*account);
}

}  // namespace yoke::cluster
