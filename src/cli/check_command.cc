#include "cli/check_command.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_status.h"
#include "history/checker.h"
#include "history/history_file.h"
#include "history/merge.h"

namespace yoke::cli {
namespace {

using history::Event;

Result<std::vector<Event>> read_parts(const std::vector<std::string>& files) {
  std::vector<std::vector<Event>> parts;
  for (const auto& file : files) {
    auto part = history::read_history(file);
    if (!part) return part.error();
    parts.push_back(std::move(*part));
  }
  auto events = history::merge(std::move(parts));
  const auto is_terms = [&](std::size_t at) {
    return at < events.size() && std::holds_alternative<history::Terms>(events[at].what);
  };
  if (!is_terms(0))
    return Error{Code::missing, "no file has the terms of the job: the first server's part is missing, or is empty"};
  if (is_terms(1)) return Error{Code::corrupt, "the files are of different jobs: check those of one job at a time"};
  return events;
}

std::string in_words(const std::vector<Event>& events) {
  std::uint64_t updates = 0, applied = 0, dropped = 0, refused = 0;
  std::set<wire::ReplicaId> replicas;
  for (const auto& event : events) {
    if (const auto* joined = std::get_if<history::Joined>(&event.what)) replicas.insert(joined->life.replica);
    const auto* decided = std::get_if<history::Decided>(&event.what);
    if (!decided) continue;
    applied += decided->record.applied.size();
    updates += decided->record.applied.empty() ? 0 : 1;
    for (const auto& verdict : decided->record.turned_away) ++(verdict.fate == wire::Fate::refused ? refused : dropped);
  }
  return fmt::format("{} events: {} updates, {} replicas; {} gradients applied, {} dropped, {} refused", events.size(),
                     updates, replicas.size(), applied, dropped, refused);
}

int run_check(const std::vector<std::string>& files) {
  const auto events = read_parts(files);
  if (!events) return fail(events.error());
  const auto violations = history::check(*events);
  for (const auto& violation : violations) fmt::print("BROKEN PROMISE: {}\n", violation);
  if (violations.empty()) fmt::print("every promise held over the recorded history\n");
  fmt::print("{}\n", in_words(*events));
  return violations.empty() ? kDone : kPromiseBroken;
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto* command = app.add_subcommand("check",
                                     "Say whether a job kept its promises, from the history that it recorded. Each "
                                     "gradient is applied once or turned away, each sample counts once an epoch, "
                                     "and every server makes the same updates.");
  command->footer(
      std::string("Every process of a job records its own part. Give them all: what is missing with one of them\n"
                  "looks like a broken promise.\n"
                  "\n"
                  "Examples:\n"
                  "  yoke check history.jsonl          what `yoke train --history history.jsonl` wrote\n"
                  "  yoke check history/*.jsonl        the parts of many processes\n"
                  "\n") +
      kExitStatusHelp);
  command->add_option("file", *files, "the history, or all its parts in any order")->required()->type_name("FILE");
  command->callback([files, &status] { status = run_check(*files); });
}

}  // namespace yoke::cli
