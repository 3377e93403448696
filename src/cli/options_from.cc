#include <algorithm>
#include <cstdlib>

#include "cli/checkpoint_flags.h"
#include "cli/job_flags.h"
#include "cli/processes.h"
#include "history/recorder.h"
#include "yoke/run.h"

namespace yoke {

Result<Options> options_from(int argc, char** argv) {
  Options options;
  const auto found = cli::surroundings();
  if (!found) return Error{Code::invalid_argument, "error: " + found.error().message};
  bool replicas_given = false;
  // What the launcher was told comes first; what is typed behind the program's name wins.
  if (!found->flags.empty()) {
    auto words = found->flags;
    std::reverse(words.begin(), words.end());
    CLI::App launcher;
    cli::add_program_flags(launcher, options);
    try {
      launcher.parse(words);
    } catch (const CLI::ParseError& problem) {
      return Error{Code::invalid_argument, std::string("error: the launcher's flags: ") + problem.what()};
    }
  }
  const auto folder = options.checkpoints.folder;
  CLI::App app("Trains with Yoke. The flags below say how; the program says what.");
  cli::add_program_flags(app, options);
  try {
    app.parse(argc, argv);
    replicas_given = app.get_option("--replicas")->count() > 0;
  } catch (const CLI::CallForHelp&) {
    return Error{Code::cancelled, app.help()};
  } catch (const CLI::ParseError& problem) {
    return Error{Code::invalid_argument, std::string("error: ") + problem.what() + "\nrun with --help for the flags"};
  }
  if (const auto checked = cli::check_job(options); !checked)
    return Error{Code::invalid_argument, "error: " + checked.error().message};
  if (const auto placed = cli::take_place(*found, replicas_given, options); !placed)
    return Error{Code::invalid_argument, "error: " + placed.error().message};
  // The launcher may have placed it in a container.
  if (const auto kept = cli::check_checkpoints(options.checkpoints, options.processes.container); !kept)
    return Error{Code::invalid_argument, "error: " + kept.error().message};
  const bool launched = found->kind == launch::Surroundings::Kind::yoke;
  if (launched && options.checkpoints.folder != folder)
    return Error{Code::invalid_argument,
                 "error: the servers keep the checkpoints, and hear from the launcher alone: give --checkpoint and "
                 "--resume before the `--`, not behind the program's name"};
  options.checkpoints.command =
      launched ? cli::whole_command(cli::words_typed({})) : std::vector<std::string>(argv, argv + std::max(argc, 0));
  if (const char* history = std::getenv(cli::kHistoryVariable); history && !options.processes.join.empty()) {
    options.recorder = std::make_shared<history::Recorder>();
    if (auto streams = options.recorder->stream_to(history); !streams) return streams.error();
  }
  return options;
}

}  // namespace yoke
