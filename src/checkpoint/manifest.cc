// The manifest as JSON; reading it is in manifest_read.cc.
#include "checkpoint/manifest.h"

#include <fmt/format.h>

#include "checkpoint/model_file.h"
#include "checkpoint/optimizer_json.h"
#include "checkpoint/strict_json.h"

namespace yoke::checkpoint {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered json_of(const wire::Range& range) {
  return {{"epoch", range.epoch}, {"begin", range.begin}, {"end", range.end}};
}

Ordered json_of(const core::Standing& standing) {
  Ordered json{{"version", standing.version},
               {"samples", standing.samples},
               {"batch", standing.batch},
               {"samples_decided", standing.samples_decided},
               {"warmup_end", standing.warmup_end}};
  if (!standing.ledger) return json;
  const auto& ledger = *standing.ledger;
  auto returned = Ordered::array(), counted = Ordered::array();
  for (const auto& range : ledger.returned) returned.push_back(json_of(range));
  for (const auto& [epoch, samples] : ledger.counted) counted.push_back({{"epoch", epoch}, {"samples", samples}});
  json["ledger"] = {{"epoch", ledger.epoch},
                    {"cursor", ledger.cursor},
                    {"returned", std::move(returned)},
                    {"counted", std::move(counted)},
                    {"counted_epochs", ledger.counted_epochs}};
  return json;
}

Ordered json_of(const NetworkFacts& network) {
  auto slots = Ordered::array(), groups = Ordered::array();
  for (const auto& slot : network.layout.slots)
    slots.push_back({{"name", slot.name},
                     {"shape", slot.shape},
                     {"group", slot.group},
                     {"frozen", slot.frozen},
                     {"buffer", slot.buffer}});
  for (const auto& group : network.layout.groups) groups.push_back(optimizer_json(group));
  return {{"standing", json_of(network.standing)},
          {"shards", network.shards},
          {"about", Ordered(network.about)},
          {"groups", std::move(groups)},
          {"slots", std::move(slots)}};
}

Ordered json_of(const JobFacts& job) {
  constexpr const char* kStrategies[] = {"mirrored", "sync", "async"};
  return {{"strategy", kStrategies[static_cast<int>(job.strategy)]},
          {"replicas", job.replicas},
          {"spares", job.spares},
          {"servers", job.servers},
          {"seed", job.seed},
          {"shuffle", job.shuffle},
          {"epochs", job.epochs},
          {"steps", job.steps},
          {"deterministic", job.deterministic},
          {"samples", job.samples},
          {"batch", job.batch}};
}

}  // namespace

Result<std::string> to_json(const Manifest& manifest) {
  std::string text;
  try {
    auto networks = Ordered::array(), parts = Ordered::array();
    for (const auto& network : manifest.networks) networks.push_back(json_of(network));
    for (const auto sum : manifest.parts) parts.push_back(in_hex(sum));
    text = with_sum({{"format", kFormat},
                     {"version", manifest.version},
                     {"program", manifest.program},
                     {"written_at", manifest.written_at},
                     {"seconds_trained", manifest.seconds_trained},
                     {"command", manifest.command},
                     {"job", json_of(manifest.job)},
                     {"networks", std::move(networks)},
                     {"parts", std::move(parts)}});
  } catch (const Json::exception&) {
    return Error{Code::invalid_argument, "a name, a word about the model or the typed command is not UTF-8: rename it"};
  }
  // Whoever reads it will check all this: better now, while the one before is still there.
  const auto checked = parse_manifest(text);
  if (!checked) return Error{Code::invalid_argument, checked.error().message};
  return text;
}

}  // namespace yoke::checkpoint
