#include "cli/containers_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "checkpoint/model_file.h"
#include "cli/containers_report.h"
#include "cli/exit_status.h"
#include "cli/outputs.h"
#include "cli/processes.h"
#include "cli/security_flags.h"
#include "cluster/keeper.h"
#include "yoke/version.h"

namespace yoke::cli {
namespace {

struct ContainersFlags {
  std::string at, name, file, keeper_of;
  bool json = false, force = false;
  Security security;
};

Result<cluster::KeeperOptions> keeper(const ContainersFlags& flags) {
  if (flags.at.empty())
    return Error{Code::invalid_argument, "say with --at ADDRESS where the first server listens (or have YOKE_AT set)"};
  auto credentials = security::find_credentials(flags.security);
  if (!credentials) return credentials.error();
  return cluster::KeeperOptions{
      .at = flags.at, .container = flags.name, .keeper_of = flags.keeper_of, .credentials = std::move(*credentials)};
}

void add_at(CLI::App& command, ContainersFlags& flags) {
  command.add_option("--at", flags.at, "where the first server (shard 0) listens")
      ->type_name("ADDRESS")
      ->envname("YOKE_AT");
  command
      .add_option("--container", flags.keeper_of,
                  "be the keeper of this container alone, with its secret (`yoke serve --secrets`)")
      ->type_name("NAME")
      ->envname(kContainerVariable);
  add_security_flags(command, flags.security);
}

int list(const ContainersFlags& flags) {
  auto options = keeper(flags);
  if (!options) return fail(options.error());
  options->container = flags.keeper_of;
  const auto containers = cluster::list_containers(*options);
  if (!containers) return fail(containers.error());
  const auto text = flags.json ? as_json(*containers) : as_text(*containers);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kDone;
}

int order(const ContainersFlags& flags, wire::Order::Kind kind, const std::string& done) {
  const auto options = keeper(flags);
  if (!options) return fail(options.error());
  if (auto given = cluster::give_order(*options, kind, flags.force); !given) return fail(given.error());
  fmt::print("{}\n", done);
  return kDone;
}

// The first network's tensors have the names that `yoke train --save` gives them; those of further ones stand behind
// their number.
State state_of(const std::vector<cluster::NetworkSnapshot>& networks) {
  State state;
  state.about = networks.front().about;
  for (std::size_t i = 0; i < networks.size(); ++i)
    for (std::size_t slot = 0; slot < networks[i].values.size(); ++slot) {
      const auto& from = networks[i].layout.slots[slot];
      const auto bytes = std::as_bytes(std::span(networks[i].values[slot]));
      state.tensors.push_back({i == 0 ? from.name : fmt::format("network{}.{}", i, from.name),
                               DType::f32,
                               from.shape,
                               {bytes.begin(), bytes.end()}});
    }
  state.about["yoke.version"] = kVersion;
  state.about["format"] = "pt";
  return state;
}

int snapshot(const ContainersFlags& flags) {
  const auto options = keeper(flags);
  if (!options) return fail(options.error());
  if (auto writable = can_write("FILE", flags.file); !writable) return fail(writable.error());
  const auto networks = cluster::take_snapshot(*options);
  if (!networks) return fail(networks.error());
  if (auto written = checkpoint::write_model(flags.file, state_of(*networks)); !written) return fail(written.error());
  fmt::print("version {} of {} is in {}\n", networks->front().version, flags.name, flags.file);
  return kDone;
}

}  // namespace

void add_containers(CLI::App& app, int& status) {
  auto flags = std::make_shared<ContainersFlags>();
  auto* command = app.add_subcommand(
      "containers", "What the servers of `yoke serve` host: which containers, how large, who is there; and their end.");
  command->footer(
      "Examples:\n"
      "  yoke containers --at 10.0.0.1:7000              which there are\n"
      "  yoke containers rm fashion --at 10.0.0.1:7000   remove one, also its file\n"
      "  yoke containers save fashion --at ...           write it to the servers' --state now\n"
      "  yoke containers stop --at ...                   end the servers; they save what they have");
  add_at(*command, *flags);
  command->add_flag("--json", flags->json, "the same as JSON");
  command->require_subcommand(0, 1);
  using Kind = wire::Order::Kind;
  auto* remove = command->add_subcommand("rm", "Remove a container and its file.")->fallthrough();
  remove->add_option("name", flags->name, "which")->required()->type_name("NAME");
  remove->add_flag("--force", flags->force, "also while clients are there: their job ends");
  remove->callback([flags, &status] { status = order(*flags, Kind::remove, flags->name + " is removed"); });
  auto* save = command->add_subcommand("save", "Write a container to the servers' disks.")->fallthrough();
  save->add_option("name", flags->name, "which")->required()->type_name("NAME");
  save->callback([flags, &status] { status = order(*flags, Kind::save, flags->name + " is saved"); });
  auto* stop = command->add_subcommand("stop", "End the servers.")->fallthrough();
  stop->callback([flags, &status] { status = order(*flags, Kind::stop, "the servers end"); });
  command->callback([flags, command, &status] {
    if (command->get_subcommands().empty()) status = list(*flags);
  });
}

void add_snapshot(CLI::App& app, int& status) {
  auto flags = std::make_shared<ContainersFlags>();
  auto* command = app.add_subcommand("snapshot",
                                     "Write a container's values to a file, all of one version, as `yoke train --save` "
                                     "does; also while a job goes on.");
  command->footer(
      "Examples:\n"
      "  yoke snapshot fashion f.safetensors --at 10.0.0.1:7000\n"
      "  yoke eval f.safetensors");
  command->add_option("name", flags->name, "which container")->required()->type_name("NAME");
  command->add_option("file", flags->file, "where to")->required()->type_name("FILE");
  add_at(*command, *flags);
  command->callback([flags, &status] { status = snapshot(*flags); });
}

}  // namespace yoke::cli
