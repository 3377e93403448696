#include "cli/serve_command.h"

#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/serving.h"
#include "cli/sizes.h"

namespace yoke::cli {
namespace {

struct ServeFlags {
  ServingFlags serving;
  std::string container_memory, memory, state, secrets;
  std::size_t containers = cluster::Lodging().most;
  double save_every = 0;
};

int run_serve(const ServeFlags& flags) {
  auto options = house_options(flags.serving);
  if (!options) return fail(options.error());
  cluster::Lodging lodging;
  lodging.most = flags.containers;
  lodging.state = flags.state;
  lodging.secrets = flags.secrets;
  lodging.save_every = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.save_every));
  for (const auto& [flag, text, to] :
       {std::tuple{"--container-memory", &flags.container_memory, &lodging.container_memory},
        {"--memory", &flags.memory, &lodging.memory}}) {
    if (text->empty()) continue;
    const auto bytes = bytes_of(flag, *text);
    if (!bytes) return fail(bytes.error());
    *to = *bytes;
  }
  if (flags.save_every > 0 && flags.state.empty())
    return fail({Code::invalid_argument, "--save-every: say with --state DIR where"});
  options->containers = std::move(lodging);
  return serve(std::move(*options), flags.serving.quiet);
}

}  // namespace

void add_serve(CLI::App& app, int& status) {
  auto flags = std::make_shared<ServeFlags>();
  auto* command = app.add_subcommand(
      "serve",
      "Host the parameters of many jobs, each in a container of its own name, for as long as it is not told to end. "
      "What was trained stays in its container when the clients have gone.");
  command->footer(
      "Examples, a set of two servers:\n"
      "  yoke serve --listen 127.0.0.1:7000 --shard 0/2 --state /var/lib/yoke\n"
      "  yoke serve --listen 127.0.0.1:7001 --shard 1/2 --state /var/lib/yoke --join 127.0.0.1:7000\n"
      "  yoke launch --container fashion --join 127.0.0.1:7000       a job; the first one makes the container\n"
      "  yoke containers --at 127.0.0.1:7000                         what is there\n"
      "  yoke snapshot fashion f.safetensors --at 127.0.0.1:7000     its values, for `yoke eval`\n"
      "\n"
      "SIGTERM and Ctrl-C end the jobs, save all containers (with --state), and end the server.");
  add_serving_flags(*command, flags->serving);
  const std::string group = "Containers";
  command->add_option("--containers", flags->containers, "at most so many")
      ->check(CLI::Range(std::size_t{1}, std::size_t{4096}))
      ->type_name("N")
      ->capture_default_str()
      ->group(group);
  command->add_option("--container-memory", flags->container_memory, "that one may take on this server, as in 2G")
      ->type_name("BYTES")
      ->group(group);
  command->add_option("--memory", flags->memory, "that all together may take on this server")
      ->type_name("BYTES")
      ->group(group);
  command->add_option("--state", flags->state, "where containers are saved, and loaded from at the start")
      ->type_name("DIR")
      ->group(group);
  command
      ->add_option("--secrets", flags->secrets,
                   "folder with one secret a container, in a file of its name (`yoke secret new DIR/NAME`); the others "
                   "have the servers' own")
      ->type_name("DIR")
      ->group(group);
  command->add_option("--save-every", flags->save_every, "save what has changed; the first server's is for all of them")
      ->check(CLI::Range(0.1, 1e7))
      ->type_name("SECONDS")
      ->group(group);
  command->callback([flags, &status] { status = run_serve(*flags); });
}

}  // namespace yoke::cli
