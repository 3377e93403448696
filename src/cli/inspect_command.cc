#include "cli/inspect_command.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "cli/exit_status.h"
#include "cli/inspect.h"
#include "cli/inspect_checkpoint.h"

namespace yoke::cli {
namespace {

struct InspectFlags {
  std::string file;
  bool stats = false;
  bool json = false;
};

void show(const auto& inspection, bool json) {
  const auto text = json ? as_json(inspection) : as_text(inspection);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

int run_inspect(const InspectFlags& flags) {
  if (std::error_code ignored; std::filesystem::is_directory(flags.file, ignored)) {
    const auto checkpoints = inspect_checkpoints(flags.file, flags.stats);
    if (!checkpoints) return fail(checkpoints.error());
    show(*checkpoints, flags.json);
    return checkpoints->newest() ? kDone : kWrongFile;
  }
  const auto inspection = inspect(flags.file, flags.stats);
  if (!inspection) return fail(inspection.error());
  show(*inspection, flags.json);
  return kDone;
}

}  // namespace

void add_inspect(CLI::App& app, int& status) {
  auto flags = std::make_shared<InspectFlags>();
  auto* command = app.add_subcommand(
      "inspect", "Show what a model file (safetensors) or a checkpoint holds, and whether it is whole.");
  command->footer(
      "Examples:\n"
      "  yoke inspect model.safetensors\n"
      "  yoke inspect model.safetensors --stats       are there NaN, or weights that grew too large?\n"
      "  yoke inspect runs/a                          its checkpoints, and all about the newest");
  command->add_option("file", flags->file, "the model file, the checkpoint, or a folder of checkpoints")
      ->required()
      ->type_name("FILE|DIR");
  command->add_flag("--stats", flags->stats,
                    "min, mean, max and norm of each floating-point tensor, and how many NaN and Inf it has");
  command->add_flag("--json", flags->json, "the same as JSON");
  command->callback([flags, &status] { status = run_inspect(*flags); });
}

}  // namespace yoke::cli
