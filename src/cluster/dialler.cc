#include "cluster/dialler.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "transport/endpoint.h"

namespace yoke::cluster {

void Dialler::dial(const std::string& where, Duration pause, Duration patience, Then then) {
  diallings_.remove_if([](const auto& dialling) { return dialling.done; });
  auto& dialling = diallings_.emplace_back();
  dialling.thread =
      std::jthread([this, where, pause, patience, then = std::move(then), &dialling, post = post_,
                    credentials = credentials_, alive = std::weak_ptr(alive_)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, pause, [] { return false; });
        if (stop.stop_requested()) return;
        const auto address = transport::parse_address(where);
        auto fd = address ? transport::dial_once(*address, credentials, patience) : Result<int>(address.error());
        post([then, fd, alive, &dialling] {
          if (alive.expired()) {
            if (fd) ::close(*fd);
            return;
          }
          dialling.done = true;
          then(fd);
        });
      });
}

}  // namespace yoke::cluster
