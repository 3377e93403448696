#include "sim/describe.h"

#include <fmt/format.h>

namespace yoke::sim {
namespace {

std::string of(const wire::Life& life) { return fmt::format("{}.{}", life.replica, life.incarnation); }
std::string of(const wire::GradientId& id) { return fmt::format("{}#{}", of(id.life), id.sequence); }
std::string of(const std::optional<wire::Range>& range) {
  return range ? fmt::format("samples {}..{} of epoch {}", range->begin, range->end, range->epoch) : "no range";
}
const char* of(wire::Fate fate) {
  return fate == wire::Fate::applied ? "applied" : fate == wire::Fate::dropped ? "dropped" : "refused";
}

struct Words {
  std::string operator()(const wire::Hello& m) const { return fmt::format("Hello of {}", of(m.life)); }
  std::string operator()(const wire::Assign& m) const {
    return fmt::format("Assign {} step {}, {}", of(m.gradient), m.step, of(m.range));
  }
  std::string operator()(const wire::Done& m) const { return fmt::format("Done at version {}", m.version); }
  std::string operator()(const wire::Settled& m) const {
    return fmt::format("Settled {} {} at version {}: {}", of(m.verdict.gradient), of(m.verdict.fate), m.verdict.version,
                       m.verdict.reason);
  }
  std::string operator()(const wire::Turned& m) const { return fmt::format("Turned {}: {}", of(m.life), m.reason); }
  std::string operator()(const wire::Push& m) const {
    return fmt::format("Push {} block {} base {}{}", of(m.gradient), m.block, m.base, m.ticket ? "" : " (absent)");
  }
  std::string operator()(const wire::Pull& m) const {
    return fmt::format("Pull by {} of version {}", of(m.life), m.at_least);
  }
  std::string operator()(const wire::Parameters& m) const {
    return fmt::format("Parameters for {}: version {} of shard {}", of(m.life), m.version, m.shard);
  }
  std::string operator()(const wire::Report& m) const {
    return fmt::format("Report {} base {}: {}", of(m.gradient), m.base, m.ok ? "complete" : m.reason);
  }
  std::string operator()(const wire::Measured& m) const { return fmt::format("Measured step {}", m.step); }
  std::string operator()(const wire::Reduced& m) const { return fmt::format("Reduced version {}", m.version); }
  std::string operator()(const wire::Record& m) const {
    std::string text = fmt::format("Record {} step {}:", m.index, m.step);
    for (const auto& part : m.applied) text += fmt::format(" +{}", of(part.gradient));
    for (const auto& verdict : m.turned_away) text += fmt::format(" -{}", of(verdict.gradient));
    return fmt::format("{} ({})", text, m.reason);
  }
  std::string operator()(const wire::Scale& m) const { return fmt::format("Scale step {} by {}", m.step, m.factor); }
  std::string operator()(const wire::Commit& m) const { return fmt::format("Commit version {}", m.version); }
  std::string operator()(const wire::Fence& m) const { return fmt::format("Fence {}", of(m.life)); }
  std::string operator()(const wire::Forecast& m) const {
    return fmt::format("Forecast of step {}: {} gradients", m.step, m.parts.size());
  }
  std::string operator()(const wire::PartSaved& m) const {
    return fmt::format("PartSaved of checkpoint {}: {}", m.token, m.ok ? "on the disk" : m.reason);
  }
};

}  // namespace

std::string describe(const wire::Address& address) {
  switch (address.role) {
    case wire::Address::Role::sequencer:
      return "sequencer";
    case wire::Address::Role::shard:
      return fmt::format("shard {}", address.id);
    case wire::Address::Role::replica:
      return fmt::format("replica {}", address.id);
  }
  return "nobody";
}

std::string describe(const wire::Message& message) { return std::visit(Words{}, message); }

}  // namespace yoke::sim
