// The two faces of checkpoints: words with tables, and JSON.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>

#include "checkpoint/optimizer_json.h"
#include "cli/inspect_checkpoint.h"
#include "cli/inspect_tables.h"

namespace yoke::cli {
namespace {

using checkpoint::Examination;
using Json = nlohmann::ordered_json;

std::string plural(std::uint64_t count, std::string_view word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string job_in_words(const checkpoint::JobFacts& job) {
  constexpr const char* kStrategies[] = {"mirrored", "sync", "async"};
  auto text = fmt::format("{}, {}", kStrategies[static_cast<int>(job.strategy)], plural(job.replicas, "replica"));
  if (job.spares > 0) text += fmt::format(" ({})", plural(job.spares, "spare"));
  text += fmt::format(", {}, batch {}, seed {}, {}", plural(job.servers, "server"), job.batch, job.seed,
                      job.shuffle ? "shuffled" : "not shuffled");
  text +=
      job.steps > 0 ? fmt::format(", {}", plural(job.steps, "step")) : fmt::format(", {}", plural(job.epochs, "epoch"));
  return job.deterministic ? text + ", deterministic" : text;
}

std::string standing_in_words(const core::Standing& standing) {
  auto text = fmt::format("step {}", standing.version);
  if (!standing.ledger) return text + fmt::format(", {:.0f} samples decided", standing.samples_decided);
  const auto& ledger = *standing.ledger;
  text += fmt::format(", epoch {} at sample {} of {}, {} counted", ledger.epoch, ledger.cursor, standing.samples,
                      plural(ledger.counted_epochs, "whole epoch"));
  std::uint64_t samples = 0;
  for (const auto& range : ledger.returned) samples += range.size();
  return text + fmt::format(", {} ({}) to be handed out again", plural(ledger.returned.size(), "range"),
                            plural(samples, "sample"));
}

std::string optimizer_in_words(const Optimizer& optimizer) {
  std::string text;
  const auto json = checkpoint::optimizer_json(optimizer);
  for (const auto& [key, value] : json.items())
    text += key == "kind" ? value.get<std::string>() : fmt::format(" {} {}", key, value.dump());
  return text;
}

std::string details(const Examination& one) {
  const auto& manifest = *one.manifest;
  auto text = fmt::format("  written: {:%Y-%m-%d %H:%M:%S} UTC by Yoke {}, after {:.1f} s of training\n",
                          fmt::gmtime(static_cast<std::time_t>(manifest.written_at % 253'402'300'800)),
                          checkpoint::printable(manifest.program), manifest.seconds_trained);
  if (!manifest.command.empty())
    text +=
        fmt::format("  command: {}\n", checkpoint::printable(fmt::format("{}", fmt::join(manifest.command, " ")), 500));
  text += fmt::format("  job: {}\n", job_in_words(manifest.job));
  for (std::size_t i = 0; i < manifest.networks.size(); ++i) {
    const auto& network = manifest.networks[i];
    text +=
        fmt::format("  network {}: {}; {}\n", i, standing_in_words(network.standing), plural(network.shards, "shard"));
    for (const auto& group : network.layout.groups) text += fmt::format("  optimizer: {}\n", optimizer_in_words(group));
    text += about_as_text(network.about);
  }
  return text;
}

std::string files_as_text(const Examination& one) {
  std::vector<Row> rows{{"file", "sum", "bytes"}};
  for (const auto& file : one.files)
    rows.push_back({file.name, file.wrong.empty() ? "ok" : "DAMAGED", std::to_string(file.bytes)});
  return "\n" + aligned(rows, 2);
}

std::string verdict(const Examination& one) {
  if (one.wrong.empty()) return fmt::format("{}: version {}, whole\n", one.folder, one.manifest->version);
  return fmt::format("DAMAGED: {}\n", one.wrong);
}

Json as_json(const Examination& one) {
  auto files = Json::array();
  for (const auto& file : one.files) {
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"ok", file.wrong.empty()}});
    if (!file.wrong.empty()) files.back()["wrong"] = file.wrong;
  }
  Json json{{"folder", one.folder}, {"whole", one.wrong.empty()}};
  if (!one.wrong.empty()) json["wrong"] = one.wrong;
  json["files"] = std::move(files);
  // It was read, so it can be written.
  if (one.manifest) json["manifest"] = Json::parse(checkpoint::to_json(*one.manifest).value());
  return json;
}

}  // namespace

std::string as_text(const CheckpointInspection& inspection) {
  std::string text;
  for (const auto& one : inspection.all) text += verdict(one);
  const auto* shown = inspection.newest();
  if (!shown) shown = &inspection.all.front();
  if (inspection.all.size() > 1) text += fmt::format("\n{}:\n", shown->folder);
  if (shown->manifest) text += details(*shown);
  text += files_as_text(*shown);
  for (const auto& network : inspection.networks) text += tensors_as_text(network);
  return text;
}

std::string as_json(const CheckpointInspection& inspection) {
  auto checkpoints = Json::array(), networks = Json::array();
  for (const auto& one : inspection.all) checkpoints.push_back(as_json(one));
  for (const auto& network : inspection.networks) networks.push_back(tensors_as_json(network));
  const auto* newest = inspection.newest();
  const Json all{{"folder", inspection.folder},
                 {"newest", newest ? Json(newest->folder) : Json()},
                 {"checkpoints", std::move(checkpoints)},
                 {"networks", std::move(networks)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace yoke::cli
