#include "cli/secret_command.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "security/secret.h"

namespace yoke::cli {
namespace {

int make(const std::string& file) {
  if (file == "-")
    return fail(
        {Code::invalid_argument, "a secret on a screen is no secret: name a file for it, `yoke secret new FILE`"});
  const auto secret = security::Secret::make();
  if (!secret) return fail(secret.error());
  if (const auto written = (*secret)->write(file); !written) return fail(written.error());
  fmt::print(
      "{0} has a new secret, and only you may read it.\n"
      "Bring it to every host of the job in a way that nobody can listen to (scp keeps the mode with -p), and give\n"
      "each process --secret-file {0}, or YOKE_SECRET_FILE={0} in its environment.\n"
      "Who has it can join the job: never on a command line, in a mail or in a repository.\n",
      file);
  return kDone;
}

void add_new(CLI::App& secret, int& status) {
  auto file = std::make_shared<std::string>();
  auto* command = secret.add_subcommand("new", "Write a new secret of 256 random bits into a file with mode 0600.");
  command->footer(
      "A file that is there already is left alone.\n"
      "Examples:\n"
      "  yoke secret new job.secret\n"
      "  yoke launch --secret-file job.secret --certs certs");
  command->add_option("file", *file, "which is made for it")->required()->type_name("FILE");
  command->callback([file, &status] { status = make(*file); });
}

}  // namespace

void add_secret(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("secret", "What the processes of a job know, and nobody else.");
  command->require_subcommand(1);
  add_new(*command, status);
}

}  // namespace yoke::cli
