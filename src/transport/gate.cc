#include "transport/gate.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/socket_connection.h"
#include "transport/tls_stream.h"

namespace yoke::transport {

Gate::Gate(Loop& loop, Address address, const Settings& settings, Handler& handler)
    : loop_(loop), address_(std::move(address)), settings_(settings), handler_(handler), limits_(settings.limits) {}

Gate::~Gate() {
  loop_.cancel(timer_);
  for (const auto& newcomer : newcomers_) {
    loop_.forget(fd_of(*newcomer));
    if (!newcomer->greeting) ::close(newcomer->fd);
  }
}

int Gate::fd_of(const Newcomer& newcomer) const {
  return newcomer.greeting ? newcomer.greeting->stream().fd() : newcomer.fd;
}

void Gate::arrive(int fd, const std::string& source) {
  if (shut_out(source) || *inside_ >= limits_.connections) {
    ::close(fd);
    if (*inside_ >= limits_.connections)
      say(fmt::format("{} connections are open, and no more are let in", inside_->load()));
    return;
  }
  if (newcomers_.size() >= limits_.newcomers)
    turn_away(newcomers_.begin(), "there were too many at the door, and it had dallied longest", false);
  auto newcomer = std::make_unique<Newcomer>();
  newcomer->fd = fd;
  newcomer->source = source;
  newcomer->since = Loop::now();
  const auto place = newcomers_.insert(newcomers_.end(), std::move(newcomer));
  loop_.watch(fd, EPOLLIN, [this, place](std::uint32_t) { on_ready(place); });
  if (timer_ == 0) timer_ = loop_.after(settings_.handshake, [this] { look(); });
}

void Gate::on_ready(Place place) {
  auto& newcomer = **place;
  if (!newcomer.greeting) {
    const bool tls = address_.kind == Address::Kind::tcp && settings_.credentials.tls;
    try {
      auto stream = tls ? answer_tls(newcomer.fd, *settings_.credentials.tls)
                        : Stream::plain(newcomer.fd, address_.kind == Address::Kind::shm);
      newcomer.greeting = std::make_unique<Greeting>(Greeting::answering(std::move(stream), settings_));
    } catch (const std::bad_alloc&) {  // the stream has closed it
      loop_.forget(newcomer.fd);
      newcomers_.erase(place);
      return say("there is no memory for another newcomer");
    }
  }
  const auto state = newcomer.greeting->advance();
  if (state == Greeting::State::done) return let_in(place);
  if (state == Greeting::State::failed) return turn_away(place, newcomer.greeting->failure().text);
  loop_.rewatch(fd_of(newcomer), newcomer.greeting->events());
}

void Gate::let_in(Place place) {
  const auto newcomer = std::move(*place);
  newcomers_.erase(place);
  loop_.forget(fd_of(*newcomer));
  // Counted until the connection itself goes.
  ++*inside_;
  std::shared_ptr<void> counted(nullptr, [inside = inside_](void*) { --*inside; });
  SocketConnection::greeted(loop_, *newcomer->greeting, address_.kind == Address::Kind::shm,
                            "a newcomer at " + to_string(address_), settings_, handler_, std::move(counted));
}

void Gate::turn_away(Place place, const std::string& why, bool its_fault) {
  const auto newcomer = std::move(*place);
  newcomers_.erase(place);
  loop_.forget(fd_of(*newcomer));
  if (!newcomer->greeting) ::close(newcomer->fd);
  say(fmt::format("a connection from {} was refused: {}", newcomer->source, why));
  if (its_fault) count_failure(newcomer->source);
}

void Gate::count_failure(const std::string& source) {
  const auto now = Loop::now();
  if (sources_.size() >= limits_.sources && !sources_.contains(source))
    std::erase_if(sources_, [&](const auto& entry) { return now - entry.second.since > limits_.within; });
  if (sources_.size() >= limits_.sources && !sources_.contains(source)) sources_.erase(sources_.begin());
  auto& known = sources_[source];
  if (now - known.since > limits_.within) known = {now, 0};
  ++known.failures;
  if (known.failures == limits_.failures)
    say(fmt::format("{} has failed {} times within {:.0f} s, and is shut out for the rest of them", source,
                    known.failures, std::chrono::duration<double>(limits_.within).count()));
}

bool Gate::shut_out(const std::string& source) {
  const auto known = sources_.find(source);
  return known != sources_.end() && known->second.failures >= limits_.failures &&
         Loop::now() - known->second.since <= limits_.within;
}

// Turns away those whose time is over.
void Gate::look() {
  const auto now = Loop::now();
  while (!newcomers_.empty() && now - newcomers_.front()->since >= settings_.handshake)
    turn_away(newcomers_.begin(), fmt::format("it has not introduced itself within {:.0f} s",
                                              std::chrono::duration<double>(settings_.handshake).count()));
  timer_ = 0;
  if (!newcomers_.empty())
    timer_ = loop_.after(newcomers_.front()->since + settings_.handshake - now, [this] { look(); });
}

// A flood of strangers does not become a flood of words.
void Gate::say(const std::string& text) {
  if (!settings_.say) return;
  const auto now = Loop::now();
  if (now - words_since_ > limits_.within) {
    if (words_ > limits_.words) settings_.say(fmt::format("{} more such refusals before that", words_ - limits_.words));
    words_since_ = now;
    words_ = 0;
  }
  if (++words_ <= limits_.words) settings_.say(text);
}

}  // namespace yoke::transport
