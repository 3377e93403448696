#include "cluster/channel.h"

#include <cassert>
#include <utility>

#include "wire/codec.h"

namespace yoke::cluster {

Channel::Channel(transport::Loop& loop, transport::ConnectionPtr link, std::string container, std::uint64_t run,
                 transport::Handler& handler)
    : loop_(loop), link_(std::move(link)), container_(std::move(container)), run_(run), handler_(handler) {
  peer_ = link_->peer();
  last_heard_ = transport::Loop::now();
}

void Channel::say(wire::Enclosed::Kind kind, std::string said) {
  link_->send(wire::encode(wire::Enclosed{container_, run_, kind, std::move(said)}));
}

void Channel::send(std::string control, [[maybe_unused]] transport::Bytes payload, Completion done) {
  assert(payload.bytes.empty());
  if (!down_) say(wire::Enclosed::Kind::says, std::move(control));
  if (done) loop_.later([done = std::move(done), ok = !down_] { done(ok); });
}

void Channel::close(const std::string& why) {
  if (!down_) say(wire::Enclosed::Kind::ends, {});
  end({transport::Down::local, why});
}

// Later, as with any connection: whoever closes one does not hear of it in the middle of what he does.
void Channel::end(const transport::Failure& failure) {
  if (std::exchange(down_, true)) return;
  loop_.later([self = shared_from_this(), this, failure] { handler_.on_down(*this, failure); });
}

}  // namespace yoke::cluster
