#include "cli/inspect_command.h"

#include <cstdio>
#include <memory>
#include <string>

#include "cli/exit_status.h"
#include "cli/inspect.h"

namespace yoke::cli {
namespace {

struct InspectFlags {
  std::string file;
  bool stats = false;
  bool json = false;
};

int run_inspect(const InspectFlags& flags) {
  const auto inspection = inspect(flags.file, flags.stats);
  if (!inspection) return fail(inspection.error());
  const auto text = flags.json ? as_json(*inspection) : as_text(*inspection);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  auto flags = std::make_shared<InspectFlags>();
  auto* command = app.add_subcommand("inspect", "Show what a model file (safetensors) holds.");
  command->footer(
      "Examples:\n"
      "  yoke inspect model.safetensors\n"
      "  yoke inspect model.safetensors --stats       are there NaN, or weights that grew too large?");
  command->add_option("file", flags->file, "the model file")->required()->type_name("FILE");
  command->add_flag("--stats", flags->stats,
                    "min, mean, max and norm of each floating-point tensor, and how many NaN and Inf it has");
  command->add_flag("--json", flags->json, "the same as JSON");
  command->callback([flags, &status] { status = run_inspect(*flags); });
}

}  // namespace yoke::cli
