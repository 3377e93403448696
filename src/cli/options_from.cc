#include "cli/job_flags.h"
#include "strategy/strategy.h"
#include "yoke/run.h"

namespace yoke {

Result<Options> options_from(int argc, char** argv) {
  Options options;
  CLI::App app("Trains with Yoke. The flags below say how; the program says what.");
  cli::add_job_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Error{Code::cancelled, app.help()};
  } catch (const CLI::ParseError& problem) {
    return Error{Code::invalid_argument, std::string("error: ") + problem.what() + "\nrun with --help for the flags"};
  }
  if (const auto plan = strategy::plan(options); !plan)
    return Error{Code::invalid_argument, "error: " + plan.error().message};
  return options;
}

}  // namespace yoke
