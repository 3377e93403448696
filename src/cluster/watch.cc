#include "cluster/watch.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "cluster/identity.h"
#include "transport/endpoint.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

class Watcher : public transport::Handler {
 public:
  void on_up(transport::Connection& connection, const std::string&) override {
    connection.send(wire::encode(wire::AskAccount{}));
  }
  Result<transport::Sink> on_announced(transport::Connection&, const transport::Incoming&) override {
    return Error{Code::corrupt, "a payload that nobody asked for"};
  }
  void on_message(transport::Connection&, transport::Incoming message, transport::Bytes) override {
    auto decoded = wire::decode(message.control);
    if (!decoded) return answer(decoded.error());
    if (auto* account = std::get_if<wire::Account>(&*decoded)) answer(std::move(*account));
    if (const auto* refusal = std::get_if<wire::Refusal>(&*decoded)) answer(Error{Code::refused, refusal->reason});
    if (auto* there = std::get_if<wire::Elsewhere>(&*decoded)) {  // a coordinator: the first server has the account
      {
        const std::lock_guard lock(mutex_);
        elsewhere_ = std::move(there->address);
      }
      answer(Error{Code::refused, "ask the first server"});
    }
  }
  void on_down(transport::Connection&, const transport::Failure& failure) override {
    answer(Error{Code::peer_down, failure.text});
  }

  std::string elsewhere() {
    const std::lock_guard lock(mutex_);
    return elsewhere_;
  }

  Result<wire::Account> wait(const std::string& address, Duration deadline) {
    std::unique_lock lock(mutex_);
    if (!wake_.wait_for(lock, deadline, [&] { return answer_.has_value(); }))
      return Error{Code::timed_out, fmt::format("{} does not answer", address)};
    return std::move(*answer_);
  }

 private:
  void answer(Result<wire::Account> answer) {
    const std::lock_guard lock(mutex_);
    if (!answer_) answer_ = std::move(answer);
    wake_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Result<wire::Account>> answer_;
  std::string elsewhere_;
};

}  // namespace

namespace {

Result<wire::Account> ask(const std::string& address, const std::string& container,
                          const security::Credentials& credentials, Duration deadline, std::string& elsewhere) {
  const auto parsed = transport::parse_address(address);
  if (!parsed) return parsed.error();
  const auto fd = transport::dial(*parsed, credentials, deadline);
  if (!fd) return fd.error();
  auto identity = this_process(wire::Role::watcher, 0);
  identity.job = container;
  transport::Settings settings;
  settings.introduction = wire::encode_identity(identity);
  settings.incarnation = identity.incarnation;
  settings.credentials = credentials;
  Watcher watcher;
  transport::LoopThread thread("yoke-watch");  // ends before the watcher does
  thread.loop().post([&] { transport::adopt(thread.loop(), *fd, *parsed, settings, watcher); });
  auto account = watcher.wait(address, deadline);
  elsewhere = watcher.elsewhere();
  return account;
}

}  // namespace

Result<wire::Account> ask_account(const std::string& address, const std::string& container,
                                  const security::Credentials& credentials, Duration deadline) {
  std::string first, none;
  auto account = ask(address, container, credentials, deadline, first);
  return first.empty() ? account : ask(first, container, credentials, deadline, none);
}

}  // namespace yoke::cluster
