// Dials without keeping a loop waiting: each in a thread of its own, the answer in the loop's.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <thread>

#include "security/credentials.h"
#include "transport/loop.h"
#include "yoke/error.h"

namespace yoke::cluster {

class Dialler {
 public:
  Dialler(transport::Loop& loop, security::Credentials credentials)
      : post_(loop.poster()), credentials_(std::move(credentials)) {}

  // Once, after a pause. `then` has a descriptor for transport::adopt, or why there is none (Code::missing: for certain
  // nobody listens there). Not called when this has been destroyed meanwhile.
  using Then = std::function<void(Result<int>)>;
  void dial(const std::string& address, Duration pause, Duration patience, Then then);

 private:
  struct Dialling {
    std::jthread thread;
    bool done = false;
  };
  const transport::Loop::Poster post_;
  const security::Credentials credentials_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::list<Dialling> diallings_;
};

}  // namespace yoke::cluster
