#include <fmt/format.h>

#include <set>

#include "checkpoint/manifest.h"
#include "checkpoint/model_file.h"
#include "checkpoint/optimizer_json.h"
#include "checkpoint/strict_json.h"
#include "wire/limits.h"

namespace yoke::checkpoint {
namespace {

constexpr std::size_t kMaxNetworks = 64;
constexpr std::size_t kMaxReturned = 1'000'000;
constexpr std::size_t kMaxCommandWords = 10'000;

std::string at(const std::string& where, std::size_t i) { return fmt::format("{}[{}]", where, i); }

// Calls `make(entry, where)` for each entry of a list.
template <class Make>
void each(Fields& fields, const char* key, std::size_t most, Make make) {
  const auto& list = fields.list(key, most);
  const auto where = fields.place(key);
  for (std::size_t i = 0; i < list.size() && fields.wrong().empty(); ++i) make(list[i], at(where, i));
}

std::string word(const Json& entry, const std::string& where, std::size_t most, std::string& wrong) {
  if (entry.is_string() && entry.get_ref<const std::string&>().size() <= most) return entry.get<std::string>();
  if (wrong.empty()) wrong = fmt::format("{} is no text of up to {} bytes", where, most);
  return {};
}

wire::Range range_from(const Json& json, const std::string& where, std::uint64_t samples, std::string& wrong) {
  Fields fields(json, where, wrong);
  wire::Range range;
  range.epoch = fields.small("epoch");
  range.end = fields.whole("end", samples);
  range.begin = fields.whole("begin", range.end);
  return range;
}

core::LedgerStanding ledger_from(const Json& json, const std::string& where, std::uint64_t samples,
                                 std::string& wrong) {
  Fields fields(json, where, wrong);
  core::LedgerStanding ledger;
  ledger.epoch = fields.small("epoch");
  ledger.cursor = fields.whole("cursor", samples);
  each(fields, "returned", kMaxReturned, [&](const Json& entry, const std::string& here) {
    ledger.returned.push_back(range_from(entry, here, samples, wrong));
  });
  each(fields, "counted", kMaxReturned, [&](const Json& entry, const std::string& here) {
    Fields pair(entry, here, wrong);
    const auto epoch = pair.small("epoch");
    if (!ledger.counted.emplace(epoch, pair.whole("samples", samples)).second) pair.refuse("epoch", "is there twice");
  });
  ledger.counted_epochs = fields.small("counted_epochs");
  return ledger;
}

core::Standing standing_from(const Json& json, const std::string& where, std::string& wrong) {
  Fields fields(json, where, wrong);
  core::Standing standing;
  standing.version = fields.whole("version");
  standing.samples = fields.whole("samples");
  standing.batch = fields.small("batch");
  standing.samples_decided = fields.number("samples_decided");
  standing.warmup_end = fields.whole("warmup_end");
  if (fields.has("ledger"))
    standing.ledger = ledger_from(fields.object("ledger"), fields.place("ledger"), standing.samples, wrong);
  return standing;
}

std::vector<std::int64_t> shape_from(Fields& fields) {
  std::vector<std::int64_t> shape;
  for (const auto& extent : fields.list("shape", wire::kMaxDims)) {
    const bool good = extent.is_number_unsigned() && extent.get<std::uint64_t>() <= wire::kMaxValues;
    if (!good) fields.refuse("shape", "has an extent that is no whole number, or too large");
    shape.push_back(good ? extent.get<std::int64_t>() : 0);
  }
  const auto elements = elements_of(shape);
  if (!elements || *elements > wire::kMaxValues) fields.refuse("shape", "has more elements than a slot can have");
  return shape;
}

Layout layout_from(Fields& fields, std::string& wrong) {
  Layout layout;
  each(fields, "groups", wire::kMaxGroups, [&](const Json& entry, const std::string& here) {
    layout.groups.push_back(optimizer_from(entry, here, wrong));
  });
  std::set<std::string> names;
  each(fields, "slots", wire::kMaxSlots, [&](const Json& entry, const std::string& here) {
    Fields slot(entry, here, wrong);
    auto& into = layout.slots.emplace_back();
    into.name = slot.text("name", wire::kMaxName);
    into.shape = shape_from(slot);
    into.group = slot.small("group");
    into.frozen = slot.flag("frozen");
    into.buffer = slot.flag("buffer");
    if (into.group >= layout.groups.size()) slot.refuse("group", "is none of the groups");
    if (!names.insert(into.name).second) slot.refuse("name", "is there twice");
  });
  return layout;
}

NetworkFacts network_from(const Json& json, const std::string& where, std::string& wrong) {
  Fields fields(json, where, wrong);
  NetworkFacts network;
  network.standing = standing_from(fields.object("standing"), fields.place("standing"), wrong);
  network.shards = fields.small("shards", wire::kMaxMembers);
  const auto& about = fields.object("about");
  if (about.size() > wire::kMaxWords) fields.refuse("about", "has too many words");
  for (const auto& [key, value] : about.items())
    network.about[key] = word(value, fields.place("about"), wire::kMaxAbout, wrong);
  network.layout = layout_from(fields, wrong);
  return network;
}

JobFacts job_from(const Json& json, std::string& wrong) {
  Fields fields(json, "job", wrong);
  JobFacts job;
  const auto strategy = fields.text("strategy", 16);
  if (strategy != "mirrored" && strategy != "sync" && strategy != "async")
    fields.refuse("strategy", "is none of mirrored, sync and async");
  job.strategy = strategy == "mirrored" ? Strategy::mirrored : strategy == "sync" ? Strategy::sync : Strategy::async;
  job.replicas = fields.small("replicas", wire::kMaxMembers);
  job.spares = fields.small("spares", wire::kMaxMembers);
  job.servers = fields.small("servers", wire::kMaxMembers);
  job.seed = fields.whole("seed");
  job.shuffle = fields.flag("shuffle");
  job.epochs = fields.small("epochs");
  job.steps = fields.whole("steps");
  job.deterministic = fields.flag("deterministic");
  job.samples = fields.whole("samples");
  job.batch = fields.small("batch");
  return job;
}

Manifest manifest_from(const Json& json, std::string& wrong) {
  Fields fields(json, "", wrong);
  Manifest manifest;
  if (fields.whole("format") != kFormat) fields.refuse("format", fmt::format("is not {}: take a newer Yoke", kFormat));
  manifest.version = fields.whole("version");
  manifest.program = fields.text("program", wire::kMaxName);
  manifest.written_at = fields.whole("written_at");
  manifest.seconds_trained = fields.number("seconds_trained");
  each(fields, "command", kMaxCommandWords, [&](const Json& entry, const std::string& where) {
    manifest.command.push_back(word(entry, where, wire::kMaxText, wrong));
  });
  manifest.job = job_from(fields.object("job"), wrong);
  each(fields, "networks", kMaxNetworks, [&](const Json& entry, const std::string& where) {
    manifest.networks.push_back(network_from(entry, where, wrong));
  });
  each(fields, "parts", wire::kMaxMembers, [&](const Json& entry, const std::string& where) {
    const Json wrapped{{"sum", entry}};
    Fields part(wrapped, where, wrong);
    manifest.parts.push_back(part.hex("sum"));
  });
  return manifest;
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  const auto json = parse_summed(text);
  if (!json) return json.error();
  std::string wrong;
  auto manifest = manifest_from(*json, wrong);
  if (!wrong.empty()) return Error{Code::corrupt, printable(wrong, 300)};
  return manifest;
}

}  // namespace yoke::checkpoint
