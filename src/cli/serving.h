// Being a server: what `yoke server` and `yoke serve` have in common.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "cluster/house.h"

namespace yoke::cli {

struct ServingFlags {
  std::string listen, join, shard = "0/1";
  std::optional<unsigned> workers;
  bool quiet = false;
  Security security;
};

void add_serving_flags(CLI::App& command, ServingFlags& flags);
Result<cluster::HouseOptions> house_options(const ServingFlags& flags);

// A process that serves: its loop, the signals that end it, and the word to whoever has started it.
class Serving {
 public:
  Serving();  // before any thread is started
  transport::Loop& loop() { return loop_; }
  // `call` when it is told to end; `asked` when it is asked for a checkpoint.
  void on_signal(std::function<void(int)> call, std::function<void()> asked = {});
  // Says where it listens: to the launcher that has started it, or in these words, if there are any.
  void ready(const std::string& address, const std::string& words);
  void end(const Status& status);
  // Until its end; the exit status. `stays`: being told to end is no failure of it.
  int run(const std::function<void()>& close_all, bool stays = false);

 private:
  const bool launched_;
  const int fd_;
  transport::Loop loop_;
  Status end_;
  int signal_ = 0;
};

// Runs until it has ended, by itself or by a signal; returns the exit status.
int serve(cluster::HouseOptions options, bool quiet);
// The same, where a coordinator says what it hosts.
int serve_as_told(cluster::HouseOptions options, const std::string& coordinator, bool quiet);

}  // namespace yoke::cli
