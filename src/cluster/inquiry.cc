#include "cluster/inquiry.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <optional>

#include "transport/endpoint.h"
#include "wire/codec.h"

namespace yoke::cluster {
namespace {

class Inquiry : public transport::Handler {
 public:
  explicit Inquiry(std::string question) : question_(std::move(question)) {}

  void on_up(transport::Connection& connection, const std::string&) override { connection.send(question_); }
  Result<transport::Sink> on_announced(transport::Connection&, const transport::Incoming&) override {
    return Error{Code::corrupt, "a payload that nobody asked for"};
  }
  void on_message(transport::Connection&, transport::Incoming message, transport::Bytes) override {
    auto decoded = wire::decode(message.control);
    if (const auto* refusal = decoded ? std::get_if<wire::Refusal>(&*decoded) : nullptr)
      return answer(Error{Code::refused, refusal->reason});
    answer(std::move(decoded));
  }
  void on_down(transport::Connection&, const transport::Failure& failure) override {
    answer(Error{Code::peer_down, failure.text});
  }

  Result<wire::JobMessage> wait(const std::string& address, Time until) {
    std::unique_lock lock(mutex_);
    const auto left = std::max<Duration>(until - transport::Loop::now(), Duration::zero());
    if (!wake_.wait_for(lock, left, [&] { return answer_.has_value(); }))
      return Error{Code::timed_out, fmt::format("{} does not answer", address)};
    return std::move(*answer_);
  }

 private:
  void answer(Result<wire::JobMessage> answer) {
    const std::lock_guard lock(mutex_);
    if (!answer_) answer_ = std::move(answer);
    wake_.notify_all();
  }

  const std::string question_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::optional<Result<wire::JobMessage>> answer_;
};

}  // namespace

Result<wire::JobMessage> inquire(const std::string& address, const wire::Identity& identity,
                                 const wire::JobMessage& question, const security::Credentials& credentials,
                                 Duration deadline) {
  const auto parsed = transport::parse_address(address);
  if (!parsed) return parsed.error();
  const auto until = transport::Loop::now() + deadline;
  const auto fd = transport::dial(*parsed, credentials, deadline);
  if (!fd) return fd.error();
  transport::Settings settings;
  settings.introduction = wire::encode_identity(identity);
  settings.incarnation = identity.incarnation;
  settings.credentials = credentials;
  Inquiry inquiry(wire::encode(question));
  transport::LoopThread thread("yoke-inquiry");  // ends before the inquiry does
  thread.loop().post([&] { transport::adopt(thread.loop(), *fd, *parsed, settings, inquiry); });
  return inquiry.wait(address, until);
}

}  // namespace yoke::cluster
