// Containers on the disk.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "cluster/container_file.h"
#include "cluster/house.h"

namespace yoke::cluster {

std::string House::file_of(const std::string& name) const {
  return options_.containers->state + "/" + container_file_name(name, options_.shard, options_.shards);
}

Status House::load() {
  const auto& folder = options_.containers->state;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  std::filesystem::directory_iterator files(folder, problem);
  if (problem) return Error{Code::missing, fmt::format("--state {}: it cannot be used: {}", folder, problem.message())};
  if (access(folder.c_str(), W_OK) != 0)
    return Error{Code::missing, fmt::format("--state {}: nothing can be written there", folder)};
  for (const auto& entry : files) {
    const auto name = container_named(entry.path().filename().string(), options_.shard, options_.shards);
    if (name.empty()) continue;
    auto& container = containers_[name];
    // A file may ask for more memory than there is, here or deep in the library: that is no reason not to have the
    // rest.
    const auto read = [&]() -> Result<Networks> {
      try {
        return read_container(entry.path().string(), name, options_.shard, options_.shards, workers_, container.arena);
      } catch (const std::bad_alloc&) {
        return Error{Code::unsupported, "there is no memory for it"};
      } catch (const std::length_error&) {
        return Error{Code::unsupported, "there is no memory for it"};
      }
    };
    auto networks = read();
    if (!networks) {
      say(fmt::format("{}: {}. It is left alone; container {} begins anew", entry.path().string(),
                      networks.error().message, name));
      damaged_.insert(name);
      containers_.erase(name);
      continue;
    }
    container.kept = std::move(*networks);
    container.saved = container.version();
    container.used = transport::Loop::now();
    say(fmt::format("{}: version {} is back", name, container.version()));
  }
  return {};
}

// Another thread writes; the loop has others to care for.
void House::save(const std::string& name, std::function<void(const Status&)> then) {
  const auto it = containers_.find(name);
  if (it == containers_.end() || it->second.version() == 0) return then({});
  if (options_.containers->state.empty())
    return then(
        Error{Code::invalid_argument, "the servers were started without --state DIR: there is no place for it"});
  const auto copy = std::make_shared<ContainerCopy>(name, options_.shard, options_.shards, it->second.networks());
  if (it->second.saved == copy->version()) return then({});
  if (!it->second.whole()) {
    const Error torn{Code::refused,
                     fmt::format("a server went before version {} was saved, and may have another: what was saved "
                                 "before is kept until a job has trained the container again with all servers there",
                                 copy->version())};
    say(fmt::format("{} is not saved: {}", name, torn.message));
    return then(torn);
  }
  const auto file = file_of(name);
  if (damaged_.erase(name)) std::rename(file.c_str(), (file + ".damaged").c_str());
  it->second.saving = copy->version();
  ++saving_;
  writer_.post([this, name, file, copy, then = std::move(then)] {
    auto written = copy->write(file);
    loop_.post([this, name, file, copy, then, written = std::move(written)] {
      --saving_;
      const auto still = containers_.find(name);
      if (still == containers_.end())
        std::remove(file.c_str());  // it was removed meanwhile
      else if (written)
        still->second.saved = copy->version();
      if (still != containers_.end() && still->second.saving == copy->version()) still->second.saving.reset();
      if (!written) say(fmt::format("{}: {}", name, written.error().message));
      then(written);
      consider_the_end();
    });
  });
}

void House::save_now_and_then() {
  const auto every = options_.containers->save_every;
  if (every == Duration::zero()) return;
  save_timer_ = loop_.after(every, [this] {
    bool skipped = false;
    if (!ending_)
      for (const auto& [name, container] : containers_) {
        if (container.version() == 0 || container.saved == container.version()) continue;
        if (all_there() && container.whole())
          save_everywhere(name, 0);
        else
          skipped = true;
      }
    if (skipped && !std::exchange(skipped_, true))
      say("what has changed is not saved now: a server of the set is missing, or was, and its part may be another");
    skipped_ = skipped;
    save_now_and_then();
  });
}

void House::erase(const std::string& name) {
  containers_.erase(name);
  if (!options_.containers->state.empty() && !damaged_.contains(name)) std::remove(file_of(name).c_str());
}

}  // namespace yoke::cluster
