#include "cli/order_commands.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/security_flags.h"
#include "cluster/keeper.h"

namespace yoke::cli {
namespace {

struct OrderFlags {
  std::string address, container;
  std::uint32_t replica = 0;
  double deadline = 0;  // seconds
  Security security;

  Duration patience() const { return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(deadline)); }
};

void add_order_flags(CLI::App& command, OrderFlags& flags, double deadline) {
  flags.deadline = deadline;
  command.add_option("address", flags.address, "where the first server listens")->required()->type_name("ADDRESS");
  command.add_option("--container", flags.container, "on servers of `yoke serve`: the job in this container")
      ->type_name("NAME");
  command.add_option("--deadline", flags.deadline, "give up when nothing is heard for so long")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("SECONDS");
  add_security_flags(command, flags.security);
}

int run_checkpoint(const OrderFlags& flags) {
  const auto credentials = security::find_credentials(flags.security);
  if (!credentials) return fail(credentials.error());
  const auto made = cluster::order_checkpoint(flags.address, flags.container, *credentials, flags.patience());
  if (!made) return fail(made.error());
  fmt::print("{}\n", *made);
  return kDone;
}

int run_drain(const OrderFlags& flags) {
  const auto credentials = security::find_credentials(flags.security);
  if (!credentials) return fail(credentials.error());
  if (auto drained =
          cluster::order_drain(flags.address, flags.container, flags.replica, *credentials, flags.patience());
      !drained)
    return fail(drained.error());
  fmt::print("replica {} has left in good order\n", flags.replica);
  return kDone;
}

}  // namespace

void add_checkpoint(CLI::App& app, int& status) {
  auto flags = std::make_shared<OrderFlags>();
  auto* command = app.add_subcommand("checkpoint",
                                     "Have a running job make a checkpoint now. Returns when it is whole on the disk, "
                                     "and says which it is. The job was started with --checkpoint DIR.");
  command->footer(
      "Examples:\n"
      "  yoke checkpoint 10.0.0.1:7000   ask the first server (shard 0)\n"
      "  kill -USR2 PID                  the same, where the launcher or the first server runs");
  add_order_flags(*command, *flags, 600);
  command->callback([flags, &status] { status = run_checkpoint(*flags); });
}

void add_drain(CLI::App& app, int& status) {
  auto flags = std::make_shared<OrderFlags>();
  auto* command = app.add_subcommand(
      "drain",
      "Have one replica leave a running job in good order, as before its machine is taken away: no gradient and no "
      "sample is lost, and the others go on. Returns when it has gone.");
  command->footer(
      "Examples:\n"
      "  yoke drain 3 10.0.0.1:7000   replica 3 leaves; `yoke status 10.0.0.1:7000` shows who has which number");
  command->add_option("replica", flags->replica, "which one, numbered from 0")->required()->type_name("REPLICA");
  add_order_flags(*command, *flags, 60);
  command->callback([flags, &status] { status = run_drain(*flags); });
}

}  // namespace yoke::cli
