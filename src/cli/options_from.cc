#include "cli/job_flags.h"
#include "yoke/run.h"

namespace yoke {

Result<Options> options_from(int argc, char** argv) {
  Options options;
  CLI::App app("Trains with Yoke. The flags below say how; the program says what.");
  app.add_option("--epochs", options.epochs, "times through the data")->capture_default_str()->group("How long");
  app.add_option("--steps", options.steps, "stop after so many updates instead")->group("How long");
  cli::add_job_flags(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return Error{Code::cancelled, app.help()};
  } catch (const CLI::ParseError& problem) {
    return Error{Code::invalid_argument, std::string("error: ") + problem.what() + "\nrun with --help for the flags"};
  }
  if (const auto checked = cli::check_job(options); !checked)
    return Error{Code::invalid_argument, "error: " + checked.error().message};
  return options;
}

}  // namespace yoke
