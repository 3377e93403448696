#include "cli/status_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/security_flags.h"
#include "cli/status_report.h"
#include "cluster/watch.h"

namespace yoke::cli {
namespace {

struct StatusFlags {
  std::string address, container;
  bool json = false;
  Security security;
};

int run_status(const StatusFlags& flags) {
  const auto credentials = security::find_credentials(flags.security);
  if (!credentials) return fail(credentials.error());
  const auto account = cluster::ask_account(flags.address, flags.container, *credentials, std::chrono::seconds(5));
  if (!account) return fail(account.error());
  const auto text = flags.json ? as_json(*account) : as_text(*account);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kDone;
}

}  // namespace

void add_status(CLI::App& app, int& status) {
  auto flags = std::make_shared<StatusFlags>();
  auto* command = app.add_subcommand(
      "status", "How a running job goes: its servers and replicas, its step and rate, who is slow and who is gone.");
  command->footer(
      "Examples:\n"
      "  yoke status 10.0.0.1:7000                  ask the first server (shard 0)\n"
      "  yoke status shm:/run/user/1000/yoke-x/s0   a job that `yoke launch` started says where at its start");
  command->add_option("address", flags->address, "where the first server listens")->required()->type_name("ADDRESS");
  command->add_option("--container", flags->container, "on servers of `yoke serve`: the job in this container")
      ->type_name("NAME");
  command->add_flag("--json", flags->json, "the same as JSON");
  add_security_flags(*command, flags->security);
  command->callback([flags, &status] { status = run_status(*flags); });
}

}  // namespace yoke::cli
