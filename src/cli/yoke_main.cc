// The program `yoke`.
#include <CLI/CLI.hpp>

#include "cli/train_command.h"

int main(int argc, char** argv) {
  CLI::App app("Yoke trains one neural network on many replicas at once.", "yoke");
  app.require_subcommand(1);
  app.footer("`yoke COMMAND --help` tells more.");
  int status = 0;
  yoke::cli::add_train(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return app.exit(problem) == 0 ? 0 : 2;
  }
  return status;
}
