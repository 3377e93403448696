#include "cluster/member_links.h"

#include <algorithm>

#include "cluster/silence.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

constexpr auto kAnswer = std::chrono::seconds(2);  // for the name of who is waited for

}  // namespace

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

Status Links::wait(Lock& lock, const std::string& doing, const std::function<bool()>& until) {
  auto seen = changes;
  std::uint64_t heard = 0;
  const auto progress_there = [&] {
    std::uint64_t sum = 0;
    for (const auto& link : servers)
      if (link.connection) sum += link.connection->peer_progress();
    return sum;
  };
  Silence silence(options.deadline, transport::Loop::now());
  while (!until()) {
    if (fatal) return *fatal;
    if (lost) return lost->error;
    if (const auto progressed = progress_there(); changes != seen || progressed != heard) {
      seen = changes;
      heard = progressed;
      silence.broken(transport::Loop::now());
    }
    const auto left = silence.look(transport::Loop::now());
    if (left > Duration::zero()) {
      wake.wait_for(lock, left);
      continue;
    }
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
