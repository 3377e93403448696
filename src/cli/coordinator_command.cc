#include "cli/coordinator_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/security_flags.h"
#include "cli/serving.h"
#include "cluster/coordinator_house.h"

namespace yoke::cli {
namespace {

struct CoordinatorFlags {
  std::string listen, store;
  std::uint32_t servers = 1, backups = 0;
  bool quiet = false;
  Security security;
};

int run_coordinator(const CoordinatorFlags& flags) {
  cluster::CoordinatorHouseOptions options;
  options.listen = flags.listen;
  options.servers = flags.servers;
  options.backups = flags.backups;
  options.store = flags.store;
  auto credentials = security::find_credentials(flags.security);
  if (!credentials) return fail(credentials.error());
  options.credentials = std::move(*credentials);
  if (!flags.quiet) options.say = [](const std::string& text) { fmt::print(stderr, "{}\n", text); };
  Serving serving;
  options.ended = [&](const Status& status) { serving.end(status); };
  auto house = cluster::CoordinatorHouse::open(serving.loop(), std::move(options));
  if (!house) return fail(house.error());
  serving.on_signal([&](int) { serving.end(Error{Code::cancelled, "the coordinator was told to end"}); });
  serving.ready((*house)->address(), flags.quiet ? "" : fmt::format("coordinator at {}", (*house)->address()));
  return serving.run([&] { house->reset(); });
}

}  // namespace

void add_coordinator(CLI::App& app, int& status) {
  auto flags = std::make_shared<CoordinatorFlags>();
  auto* command = app.add_subcommand(
      "coordinator",
      "Say which server of a job hosts what, and which takes the place of one that is lost. Training does not need it "
      "while nothing is lost: it may be stopped and started again, and goes on from what it has stored. (`yoke launch "
      "--backups 1` starts one by itself.)");
  command->footer(
      "Examples, a job that survives the loss of any server:\n"
      "  yoke coordinator --listen 127.0.0.1:7000 --servers 2 --backups 1 --store views\n"
      "  yoke server --coordinator 127.0.0.1:7000 --listen 127.0.0.1:0         four times: two, and a backup of each\n"
      "  yoke replica --coordinator 127.0.0.1:7000 --replicas 4 --shards 2     four times\n"
      "  yoke coordinator --servers 2 --backups 1 --listen 10.0.0.1:7000 --store "
      "etcd://10.0.0.5:2379,10.0.0.6:2379/job7");
  command->add_option("--listen", flags->listen, "where servers and replicas find it")
      ->required()
      ->type_name("ADDRESS");
  command->add_option("--servers", flags->servers, "over how many servers the parameters are spread")
      ->capture_default_str()
      ->check(CLI::Range(1u, 4096u));
  command
      ->add_option(
          "--backups", flags->backups,
          "of each server: 0 or 1. Without, what is lost with a server comes from a replica that has it, or all "
          "go back to the newest checkpoint")
      ->capture_default_str()
      ->check(CLI::Range(0u, 1u));
  command
      ->add_option("--store", flags->store,
                   "where it keeps what it has decided: a folder, or etcd://HOST:PORT[,HOST:PORT...]/NAME")
      ->required()
      ->type_name("WHERE");
  command->add_flag("--quiet", flags->quiet, "say nothing");
  add_security_flags(*command, flags->security);
  command->callback([flags, &status] { status = run_coordinator(*flags); });
}

}  // namespace yoke::cli
