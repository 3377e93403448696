#include "report/history_file.h"

#include <nlohmann/json.hpp>

namespace yoke::report {
namespace {

using nlohmann::ordered_json;

ordered_json of(const wire::Life& life) { return {{"replica", life.replica}, {"incarnation", life.incarnation}}; }

ordered_json of(const wire::GradientId& gradient) {
  auto json = of(gradient.life);
  json["sequence"] = gradient.sequence;
  return json;
}

ordered_json of(const std::optional<wire::Range>& range) {
  if (!range) return nullptr;
  return {{"epoch", range->epoch}, {"begin", range->begin}, {"end", range->end}};
}

ordered_json of(const wire::Verdict& verdict) {
  constexpr const char* kFates[] = {"applied", "dropped", "refused"};
  return {{"gradient", of(verdict.gradient)},
          {"fate", kFates[static_cast<std::size_t>(verdict.fate)]},
          {"version", verdict.version},
          {"staleness", verdict.staleness},
          {"reason", verdict.reason}};
}

ordered_json of(const wire::Record& record) {
  auto applied = ordered_json::array(), turned_away = ordered_json::array();
  for (const auto& part : record.applied)
    applied.push_back({{"gradient", of(part.gradient)},
                       {"base", part.base},
                       {"staleness", part.staleness},
                       {"samples", part.samples},
                       {"weight", part.weight},
                       {"range", of(part.range)}});
  for (const auto& verdict : record.turned_away) turned_away.push_back(of(verdict));
  return {{"index", record.index},      {"step", record.step},     {"applied", applied},
          {"turned_away", turned_away}, {"quorum", record.quorum}, {"degraded", record.degraded},
          {"rate", record.rate},        {"clip", record.clip},     {"reason", record.reason}};
}

struct ToJson {
  ordered_json operator()(const history::Terms& e) const {
    return {{"event", "terms"},           {"replicas", e.options.replicas},
            {"spares", e.options.spares}, {"shards", e.options.shards},
            {"async", e.options.async},   {"epochs", e.options.epochs},
            {"steps", e.options.steps},   {"samples", e.samples},
            {"batch", e.batch},           {"shard_blocks", e.shard_blocks}};
  }
  ordered_json operator()(const history::Joined& e) const { return {{"event", "joined"}, {"life", of(e.life)}}; }
  ordered_json operator()(const history::Left& e) const {
    return {{"event", "left"}, {"life", of(e.life)}, {"reason", e.reason}};
  }
  ordered_json operator()(const history::Assigned& e) const {
    return {{"event", "assigned"},
            {"gradient", of(e.assign.gradient)},
            {"step", e.assign.step},
            {"range", of(e.assign.range)}};
  }
  ordered_json operator()(const history::Installed& e) const {
    return {{"event", "installed"}, {"gradient", of(e.gradient)}, {"shard", e.shard}, {"version", e.version}};
  }
  ordered_json operator()(const history::Examined& e) const {
    return {
        {"event", "examined"}, {"gradient", of(e.gradient)}, {"block", e.block}, {"ticket", e.ticket}, {"ok", e.ok}};
  }
  ordered_json operator()(const history::Decided& e) const { return {{"event", "decided"}, {"record", of(e.record)}}; }
  ordered_json operator()(const history::Made& e) const {
    auto used = ordered_json::array();
    for (const auto& part : e.used)
      used.push_back({{"gradient", of(part.gradient)}, {"ticket", part.ticket}, {"weight", part.weight}});
    return {{"event", "made"}, {"shard", e.shard}, {"block", e.block}, {"version", e.version},
            {"used", used},    {"rate", e.rate},   {"scale", e.scale}};
  }
  ordered_json operator()(const history::Committed& e) const {
    return {{"event", "committed"}, {"version", e.version}};
  }
  ordered_json operator()(const history::Published& e) const {
    return {{"event", "published"}, {"shard", e.shard}, {"version", e.version}};
  }
  ordered_json operator()(const history::Told& e) const { return {{"event", "told"}, {"verdict", of(e.verdict)}}; }
  ordered_json operator()(const history::Stopped& e) const { return {{"event", "stopped"}, {"reason", e.reason}}; }
  ordered_json operator()(const history::Finished& e) const { return {{"event", "finished"}, {"version", e.version}}; }
};

}  // namespace

std::string to_json_lines(const std::vector<history::Event>& events) {
  std::string lines;
  for (const auto& event : events) {
    ordered_json line{{"seconds", std::chrono::duration<double>(event.at).count()}};
    line.update(std::visit(ToJson{}, event.what));
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace yoke::report
