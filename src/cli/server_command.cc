#include "cli/server_command.h"

#include <memory>
#include <string>

#include "cli/checkpoint_flags.h"
#include "cli/exit_status.h"
#include "cli/serving.h"

namespace yoke::cli {
namespace {

struct ServerFlags {
  ServingFlags serving;
  Checkpoints checkpoints;
  std::string history, coordinator, advertise;
  double deadline = 60;
};

int run_server(const ServerFlags& flags, const std::vector<std::string>& words) {
  if (auto checked = check_checkpoints(flags.checkpoints, ""); !checked) return fail(checked.error());
  auto options = house_options(flags.serving);
  if (!options) return fail(options.error());
  options->deadline = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(flags.deadline));
  options->checkpoints = flags.checkpoints;
  std::vector<std::string> own{"server"};
  own.insert(own.end(), words.begin(), words.end());
  options->checkpoints.command = whole_command(words_typed(own));
  if (!flags.history.empty()) {
    options->recorder = std::make_shared<history::Recorder>();
    if (auto streams = options->recorder->stream_to(flags.history); !streams) return fail(streams.error());
  }
  options->advertise = flags.advertise;
  if (!flags.coordinator.empty()) return serve_as_told(std::move(*options), flags.coordinator, flags.serving.quiet);
  return serve(std::move(*options), flags.serving.quiet);
}

}  // namespace

void add_server(CLI::App& app, const std::vector<std::string>& words, int& status) {
  auto flags = std::make_shared<ServerFlags>();
  auto* command = app.add_subcommand(
      "server",
      "Host a part of a job's parameters. It knows nothing of the job beforehand: the replicas bring it. It ends when "
      "the job is over. (`yoke launch` starts servers by itself; `yoke serve` stays, for many jobs.)");
  command->footer(
      "Examples, a job on two hosts:\n"
      "  yoke secret new job.secret; yoke cert new certs 10.0.0.1 10.0.0.2      once; both to every host\n"
      "  export YOKE_SECRET_FILE=job.secret YOKE_CERTS=certs                    on every host\n"
      "  yoke server --listen 10.0.0.1:7000 --shard 0/2                         on the first host\n"
      "  yoke server --listen 10.0.0.2:7000 --shard 1/2 --join 10.0.0.1:7000    on the second\n"
      "  yoke replica --join 10.0.0.1:7000 --replicas 4 --data fashion-mnist    four times, anywhere\n"
      "\n"
      "Addresses are HOST:PORT, unix:PATH or shm:PATH (one host: payload stays in shared memory). One that other hosts "
      "reach needs certificates and a secret, or --insecure.");
  add_serving_flags(*command, flags->serving);
  command->add_option("--deadline", flags->deadline, "give up when shard 0's server does not answer for so long")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 1e6))
      ->type_name("SECONDS");
  command->add_option("--history", flags->history, "its part of every event of the protocol, for `yoke check`")
      ->type_name("FILE");
  auto* coordinator = command->add_option("--coordinator", flags->coordinator,
                                          "who says which part it hosts, or that it is the backup of another: `yoke "
                                          "coordinator` listens there");
  coordinator->type_name("ADDRESS")->excludes(command->get_option("--shard"))->excludes(command->get_option("--join"));
  command->add_option("--advertise", flags->advertise, "where others reach it, if that is not where it listens")
      ->type_name("ADDRESS");
  add_checkpoint_flags(*command, flags->checkpoints);
  command->callback([flags, &words, &status] { status = run_server(*flags, words); });
}

}  // namespace yoke::cli
