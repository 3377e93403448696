// For each type a `put`, which fills the protobuf message, and a `get`, which trusts nothing in it.
#include "wire/codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <array>
#include <cmath>

#include "wire/frame.h"
#include "wire/yoke.pb.h"

namespace yoke::wire {
namespace {

// What a receiver holds messages to. docs/protocol.md lists them.
constexpr std::uint64_t kMaxMembers = 4096;  // replicas, and shards
constexpr std::uint64_t kMaxSlots = 1'000'000;
constexpr std::uint64_t kMaxGroups = 65'536;
constexpr std::uint64_t kMaxDims = 64;
constexpr std::uint64_t kMaxValues = (std::uint64_t{1} << 40) - 1;  // of a slot, and of a network
constexpr std::uint64_t kMaxName = 4096;                            // bytes of a name or an address
constexpr std::uint64_t kMaxText = 65'536;                          // bytes of a reason; longer ones are cut
constexpr std::uint64_t kMaxChanges = 65'536;                       // of the batch, over the run
constexpr std::uint64_t kMaxTurnedAway = 65'536;                    // by one record
constexpr std::uint64_t kMaxStaleness = 1'000'000;                  // places of an account's histogram

// What is sent for an enumerator is its number.
static_assert(int{pb::ROLE_SERVER} == int(Role::server) && int{pb::ROLE_REPLICA} == int(Role::replica) &&
              int{pb::ROLE_WATCHER} == int(Role::watcher));
static_assert(int{pb::FATE_APPLIED} == int(Fate::applied) && int{pb::FATE_DROPPED} == int(Fate::dropped) &&
              int{pb::FATE_REFUSED} == int(Fate::refused));
static_assert(int{pb::Address::SEQUENCER} == int(Address::Role::sequencer) &&
              int{pb::Address::SHARD} == int(Address::Role::shard) &&
              int{pb::Address::REPLICA} == int(Address::Role::replica));
static_assert(int{pb::STRATEGY_MIRRORED} == int(Strategy::mirrored) && int{pb::STRATEGY_SYNC} == int(Strategy::sync) &&
              int{pb::STRATEGY_ASYNC} == int(Strategy::async));
static_assert(int{pb::STALE_APPLY} == int(Stale::apply) && int{pb::STALE_SCALE_INVERSE} == int(Stale::scale_inverse) &&
              int{pb::STALE_SCALE_EXPONENTIAL} == int(Stale::scale_exponential) &&
              int{pb::STALE_SCALE_LINEAR} == int(Stale::scale_linear));
static_assert(int{pb::SCHEDULE_CONSTANT} == int(ScheduleOptions::Kind::constant) &&
              int{pb::SCHEDULE_STEP} == int(ScheduleOptions::Kind::step) &&
              int{pb::SCHEDULE_COSINE} == int(ScheduleOptions::Kind::cosine));
static_assert(int{pb::OPTIMIZER_STATE_SHARED} == int(OptimizerState::shared) &&
              int{pb::OPTIMIZER_STATE_PER_REPLICA} == int(OptimizerState::per_replica));

// --- to bytes ---

// A reason may have grown to anything (an exception's text): its beginning will do.
std::string cut(const std::string& text) { return text.substr(0, kMaxText); }

void put(const Life& life, pb::Life* out) {
  out->set_replica(life.replica);
  out->set_incarnation(life.incarnation);
}

void put(const GradientId& id, pb::GradientId* out) {
  put(id.life, out->mutable_life());
  out->set_sequence(id.sequence);
}

void put(const Range& range, pb::Range* out) {
  out->set_epoch(range.epoch);
  out->set_begin(range.begin);
  out->set_end(range.end);
}

void put(const Verdict& verdict, pb::Verdict* out) {
  put(verdict.gradient, out->mutable_gradient());
  out->set_fate(static_cast<pb::Fate>(verdict.fate));
  out->set_version(verdict.version);
  out->set_staleness(verdict.staleness);
  out->set_reason(cut(verdict.reason));
}

void put(const Contribution& part, pb::Contribution* out) {
  put(part.gradient, out->mutable_gradient());
  out->set_base(part.base);
  out->set_staleness(part.staleness);
  out->set_samples(part.samples);
  out->set_weight(part.weight);
  if (part.range) put(*part.range, out->mutable_range());
}

void put(const Record& record, pb::Record* out) {
  out->set_index(record.index);
  out->set_step(record.step);
  for (const auto& part : record.applied) put(part, out->add_applied());
  for (const auto& verdict : record.turned_away) put(verdict, out->add_turned_away());
  out->set_quorum(record.quorum);
  out->set_degraded(record.degraded);
  out->set_rate(record.rate);
  out->set_clip(record.clip);
  out->set_reason(cut(record.reason));
}

void put(const Hello& hello, pb::Hello* out) {
  put(hello.life, out->mutable_life());
  out->set_samples(hello.samples);
  out->set_batch(hello.batch);
}

void put(const Assign& assign, pb::Assign* out) {
  put(assign.gradient, out->mutable_gradient());
  out->set_step(assign.step);
  if (assign.range) put(*assign.range, out->mutable_range());
}

void put(const Done& done, pb::Done* out) {
  out->set_version(done.version);
  out->set_reason(cut(done.reason));
}

void put(const Settled& settled, pb::Settled* out) { put(settled.verdict, out->mutable_verdict()); }

void put(const Turned& turned, pb::Turned* out) {
  put(turned.life, out->mutable_life());
  out->set_reason(cut(turned.reason));
}

void put(const Push& push, pb::Push* out) {
  put(push.gradient, out->mutable_gradient());
  out->set_base(push.base);
  out->set_block(push.block);
  out->set_has_payload(push.ticket != 0);
  out->set_samples(push.samples);
}

void put(const Pull& pull, pb::Pull* out) {
  put(pull.life, out->mutable_life());
  out->set_at_least(pull.at_least);
}

void put(const Parameters& parameters, pb::Parameters* out) {
  put(parameters.life, out->mutable_life());
  out->set_shard(parameters.shard);
  out->set_version(parameters.version);
}

void put(const Report& report, pb::Report* out) {
  out->set_shard(report.shard);
  put(report.gradient, out->mutable_gradient());
  out->set_base(report.base);
  out->set_samples(report.samples);
  out->set_ok(report.ok);
  out->set_sum_squares(report.sum_squares);
  out->set_reason(cut(report.reason));
}

void put(const Measured& measured, pb::Measured* out) {
  out->set_shard(measured.shard);
  out->set_step(measured.step);
  out->set_sum_squares(measured.sum_squares);
}

void put(const Reduced& reduced, pb::Reduced* out) {
  out->set_shard(reduced.shard);
  out->set_version(reduced.version);
}

void put(const Scale& scale, pb::Scale* out) {
  out->set_step(scale.step);
  out->set_factor(scale.factor);
}

void put(const Commit& commit, pb::Commit* out) { out->set_version(commit.version); }

void put(const Fence& fence, pb::Fence* out) { put(fence.life, out->mutable_life()); }

void put(const Address& address, pb::Address* out) {
  out->set_role(static_cast<pb::Address::Role>(address.role));
  out->set_id(address.id);
}

pb::Hello* field(pb::Post* out, const Hello&) { return out->mutable_hello(); }
pb::Assign* field(pb::Post* out, const Assign&) { return out->mutable_assign(); }
pb::Done* field(pb::Post* out, const Done&) { return out->mutable_done(); }
pb::Settled* field(pb::Post* out, const Settled&) { return out->mutable_settled(); }
pb::Turned* field(pb::Post* out, const Turned&) { return out->mutable_turned(); }
pb::Push* field(pb::Post* out, const Push&) { return out->mutable_push(); }
pb::Pull* field(pb::Post* out, const Pull&) { return out->mutable_pull(); }
pb::Parameters* field(pb::Post* out, const Parameters&) { return out->mutable_parameters(); }
pb::Report* field(pb::Post* out, const Report&) { return out->mutable_report(); }
pb::Measured* field(pb::Post* out, const Measured&) { return out->mutable_measured(); }
pb::Reduced* field(pb::Post* out, const Reduced&) { return out->mutable_reduced(); }
pb::Record* field(pb::Post* out, const Record&) { return out->mutable_record(); }
pb::Scale* field(pb::Post* out, const Scale&) { return out->mutable_scale(); }
pb::Commit* field(pb::Post* out, const Commit&) { return out->mutable_commit(); }
pb::Fence* field(pb::Post* out, const Fence&) { return out->mutable_fence(); }

void put(const Post& post, pb::Post* out) {
  out->set_network(post.network);
  put(post.from, out->mutable_from());
  put(post.to, out->mutable_to());
  std::visit([&](const auto& message) { put(message, field(out, message)); }, post.message);
}

void put(const BatchChange& change, pb::BatchChange* out) {
  out->set_from_epoch(change.from_epoch);
  out->set_batch(change.batch);
}

void put(const ScheduleOptions& schedule, pb::ScheduleOptions* out) {
  out->set_kind(static_cast<pb::ScheduleKind>(schedule.kind));
  out->set_step_epochs(schedule.step_epochs);
  out->set_step_gamma(schedule.step_gamma);
  out->set_floor(schedule.floor);
  out->set_warmup_epochs(schedule.warmup_epochs);
  out->set_reference_batch(schedule.reference_batch);
}

void put(const StaleOptions& stale, pb::StaleOptions* out) {
  out->set_policy(static_cast<pb::Stale>(stale.policy));
  out->set_strength(stale.strength);
  if (stale.max_staleness) out->set_max_staleness(*stale.max_staleness);
  if (stale.max_lead) out->set_max_lead(*stale.max_lead);
  out->set_delay_compensation(stale.delay_compensation);
}

void put(const JobTerms& terms, pb::JobTerms* out) {
  out->set_strategy(static_cast<pb::Strategy>(terms.strategy));
  out->set_replicas(terms.replicas);
  out->set_spares(terms.spares);
  out->set_shards(terms.shards);
  out->set_epochs(terms.epochs);
  out->set_steps(terms.steps);
  for (const auto& change : terms.batch_schedule) put(change, out->add_batch_schedule());
  out->set_warmup_epochs(terms.warmup_epochs);
  out->set_warmup_steps(terms.warmup_steps);
  put(terms.schedule, out->mutable_schedule());
  put(terms.stale, out->mutable_stale());
  out->set_optimizer_state(static_cast<pb::OptimizerState>(terms.optimizer_state));
  out->set_clip_norm(terms.clip_norm);
  out->set_max_refusals(terms.max_refusals);
  out->set_record(terms.record);
  out->set_seed(terms.seed);
  out->set_shuffle(terms.shuffle);
}

void put(const SGD& sgd, pb::Optimizer* out) {
  auto* kind = out->mutable_sgd();
  kind->set_lr(sgd.lr);
  kind->set_momentum(sgd.momentum);
  kind->set_weight_decay(sgd.weight_decay);
  kind->set_nesterov(sgd.nesterov);
}

void put(const Adagrad& adagrad, pb::Optimizer* out) {
  auto* kind = out->mutable_adagrad();
  kind->set_lr(adagrad.lr);
  kind->set_lr_decay(adagrad.lr_decay);
  kind->set_weight_decay(adagrad.weight_decay);
  kind->set_initial_accumulator(adagrad.initial_accumulator);
  kind->set_eps(adagrad.eps);
}

void put(const RMSProp& rmsprop, pb::Optimizer* out) {
  auto* kind = out->mutable_rmsprop();
  kind->set_lr(rmsprop.lr);
  kind->set_alpha(rmsprop.alpha);
  kind->set_eps(rmsprop.eps);
  kind->set_weight_decay(rmsprop.weight_decay);
  kind->set_momentum(rmsprop.momentum);
  kind->set_centered(rmsprop.centered);
}

template <class Adamlike>
void put_adam(const Adamlike& adam, pb::Adam* kind) {
  kind->set_lr(adam.lr);
  kind->set_beta1(adam.beta1);
  kind->set_beta2(adam.beta2);
  kind->set_eps(adam.eps);
  kind->set_weight_decay(adam.weight_decay);
}
void put(const Adam& adam, pb::Optimizer* out) { put_adam(adam, out->mutable_adam()); }
void put(const AdamW& adam, pb::Optimizer* out) { put_adam(adam, out->mutable_adamw()); }

void put(const Average&, pb::Optimizer* out) { out->mutable_average(); }

void put(const Optimizer& optimizer, pb::Optimizer* out) {
  std::visit([&](const auto& kind) { put(kind, out); }, optimizer);
}

void put(const Slot& slot, pb::Slot* out) {
  out->set_name(slot.name);
  out->mutable_shape()->Add(slot.shape.begin(), slot.shape.end());
  out->set_group(slot.group);
  out->set_frozen(slot.frozen);
  out->set_buffer(slot.buffer);
}

void put(const Layout& layout, pb::Layout* out) {
  for (const auto& slot : layout.slots) put(slot, out->add_slots());
  for (const auto& group : layout.groups) put(group, out->add_groups());
}

void put(const ReplicaAccount& account, pb::ReplicaAccount* out) {
  out->set_id(account.id);
  out->set_present(account.present);
  out->set_where(cut(account.where));
  out->set_applied(account.applied);
  out->set_dropped(account.dropped);
  out->set_refused(account.refused);
  out->set_staleness(account.staleness);
  out->set_mean_step_seconds(account.mean_step_seconds);
  out->set_last_heard_seconds(account.last_heard_seconds);
  out->set_gone(cut(account.gone));
}

void put(const ServerAccount& account, pb::ServerAccount* out) {
  out->set_shard(account.shard);
  out->set_where(cut(account.where));
  out->set_address(account.address);
  out->set_present(account.present);
}

void put(const Welcome& welcome, pb::JobMessage* message) {
  auto* out = message->mutable_welcome();
  out->set_replica(welcome.replica);
  for (const auto& server : welcome.servers) out->add_servers(server);
}

void put(const Refusal& refusal, pb::JobMessage* message) {
  message->mutable_refusal()->set_reason(cut(refusal.reason));
}

void put(const Open& open, pb::JobMessage* message) {
  auto* out = message->mutable_open();
  out->set_network(open.network);
  put(open.terms, out->mutable_terms());
  put(open.layout, out->mutable_layout());
}

void put(const Opened& opened, pb::JobMessage* message) {
  auto* out = message->mutable_opened();
  out->set_network(opened.network);
  out->set_bring_values(opened.bring_values);
}

void put(const FirstValues& values, pb::JobMessage* message) {
  auto* out = message->mutable_first_values();
  out->set_network(values.network);
  out->set_block(values.block);
  out->set_frozen(values.frozen);
  out->set_offset(values.offset);
}

void put(const FirstValuesDone& done, pb::JobMessage* message) {
  message->mutable_first_values_done()->set_network(done.network);
}

void put(const BlockValues& values, pb::JobMessage* message) {
  auto* out = message->mutable_block_values();
  out->set_network(values.network);
  out->set_block(values.block);
  out->set_version(values.version);
}

void put(const Post& post, pb::JobMessage* message) { put(post, message->mutable_post()); }

void put(const StepNews& news, pb::JobMessage* message) {
  auto* out = message->mutable_step_news();
  out->set_replica(news.replica);
  out->set_loss(news.loss);
  out->set_right(news.right);
  out->set_samples(news.samples);
  out->set_fate(static_cast<pb::Fate>(news.fate));
  out->set_staleness(news.staleness);
  out->set_step(news.step);
  out->set_epoch(news.epoch);
  out->set_work_seconds(news.work_seconds);
  out->set_whole(news.whole);
}

void put(const ChiefNow&, pb::JobMessage* message) { message->mutable_chief_now(); }
void put(const Concluded&, pb::JobMessage* message) { message->mutable_concluded(); }

void put(const StopNow& stop, pb::JobMessage* message) { message->mutable_stop_now()->set_reason(cut(stop.reason)); }

void put(const Leaving& leaving, pb::JobMessage* message) {
  message->mutable_leaving()->set_reason(cut(leaving.reason));
  message->mutable_leaving()->set_well(leaving.well);
}

void put(const AskAccount& ask, pb::JobMessage* message) {
  message->mutable_ask_account()->set_with_staleness(ask.with_staleness);
}

void put(const Account& account, pb::JobMessage* message) {
  auto* out = message->mutable_account();
  out->set_strategy(account.strategy);
  out->set_step(account.step);
  out->set_steps(account.steps);
  out->set_epochs(account.epochs);
  out->set_epochs_asked(account.epochs_asked);
  out->set_samples(account.samples);
  out->set_assigned(account.assigned);
  out->set_steps_per_second(account.steps_per_second);
  out->set_seconds(account.seconds);
  out->set_least_counted(account.least_counted);
  out->set_most_counted(account.most_counted);
  out->mutable_staleness()->Add(account.staleness.begin(), account.staleness.end());
  out->set_stopped(cut(account.stopped));
  out->set_done(account.done);
  out->set_waiting_for(cut(account.waiting_for));
  for (const auto& replica : account.replicas) put(replica, out->add_replicas());
  for (const auto& server : account.servers) put(server, out->add_servers());
}

// --- from bytes ---

// Hands values through and remembers the first thing that was wrong with one; then whatever was read is thrown away.
class Doubt {
 public:
  bool any() const { return !wrong_.empty(); }
  Error error() const { return {Code::corrupt, "a control message does not check out: " + wrong_}; }

  void say(std::string wrong) {
    if (!any()) wrong_ = std::move(wrong);
  }
  void unless(bool fine, const char* wrong) {
    if (!fine) say(wrong);
  }
  template <class Number>
  Number between(std::uint64_t least, Number value, std::uint64_t most, const char* what) {
    if (value < least || value > most) say(fmt::format("{} is {}, not between {} and {}", what, value, least, most));
    return value;
  }
  double finite(double value, const char* what) {
    if (!std::isfinite(value)) say(fmt::format("{} is {}", what, value));
    return value;
  }
  template <class Enum>
  Enum one_of(int value, bool (*valid)(int), const char* what) {
    if (!valid(value)) say(fmt::format("there is no {} {}", what, value));
    return static_cast<Enum>(value);
  }
  const std::string& at_most(std::uint64_t limit, const std::string& text, const char* what) {
    if (text.size() > limit) say(fmt::format("{} has {} bytes, the limit is {}", what, text.size(), limit));
    return text;
  }
  const std::string& name(const std::string& text, const char* what) { return at_most(kMaxName, text, what); }
  const std::string& reason(const std::string& text) { return at_most(kMaxText, text, "a reason"); }
  ReplicaId replica(ReplicaId id) { return between(0, id, kMaxMembers - 1, "a replica's number"); }
  ShardId shard(ShardId id) { return between(0, id, kMaxMembers - 1, "a shard's number"); }

 private:
  std::string wrong_;
};

// Calls `get` for each.
template <class To, class Field>
std::vector<To> get_all(const Field& field, Doubt& doubt) {
  std::vector<To> values;
  values.reserve(static_cast<std::size_t>(field.size()));
  for (const auto& value : field) {
    if (doubt.any()) break;
    values.push_back(get(value, doubt));
  }
  return values;
}

std::string get(const std::string& address, Doubt& doubt) { return doubt.name(address, "an address"); }

Life get(const pb::Life& in, Doubt& doubt) { return {doubt.replica(in.replica()), in.incarnation()}; }

template <class Message>
Life life_of(const Message& in, Doubt& doubt) {
  doubt.unless(in.has_life(), "it does not say which life of a replica");
  return get(in.life(), doubt);
}

GradientId get(const pb::GradientId& in, Doubt& doubt) { return {life_of(in, doubt), in.sequence()}; }

template <class Message>
GradientId gradient_of(const Message& in, Doubt& doubt) {
  doubt.unless(in.has_gradient(), "it does not say which gradient");
  return get(in.gradient(), doubt);
}

template <class Message>
std::optional<Range> range_of(const Message& in, Doubt& doubt) {
  if (!in.has_range()) return {};
  const Range range{in.range().epoch(), in.range().begin(), in.range().end()};
  doubt.unless(range.begin <= range.end, "a range ends before it begins");
  return range;
}

Fate fate(int in, Doubt& doubt) { return doubt.one_of<Fate>(in, pb::Fate_IsValid, "fate"); }

Verdict get(const pb::Verdict& in, Doubt& doubt) {
  return {gradient_of(in, doubt), fate(in.fate(), doubt), in.version(), in.staleness(), doubt.reason(in.reason())};
}

Contribution get(const pb::Contribution& in, Doubt& doubt) {
  return {gradient_of(in, doubt),
          in.base(),
          in.staleness(),
          in.samples(),
          doubt.finite(in.weight(), "the weight of a gradient"),
          range_of(in, doubt)};
}

Record get(const pb::Record& in, Doubt& doubt) {
  Record record;
  record.index = in.index();
  record.step = in.step();
  record.applied = get_all<Contribution>(in.applied(), doubt);
  record.turned_away = get_all<Verdict>(in.turned_away(), doubt);
  record.quorum = doubt.between(0, in.quorum(), kMaxMembers, "a quorum");
  record.degraded = in.degraded();
  record.rate = doubt.finite(in.rate(), "the factor on the learning rate");
  record.clip = in.clip();
  record.reason = doubt.reason(in.reason());
  return record;
}

Hello get(const pb::Hello& in, Doubt& doubt) {
  doubt.unless(in.batch() > 0, "a batch has no samples");
  return {life_of(in, doubt), in.samples(), in.batch()};
}

Assign get(const pb::Assign& in, Doubt& doubt) { return {gradient_of(in, doubt), in.step(), range_of(in, doubt)}; }

Done get(const pb::Done& in, Doubt& doubt) { return {in.version(), doubt.reason(in.reason())}; }

Settled get(const pb::Settled& in, Doubt& doubt) {
  doubt.unless(in.has_verdict(), "it has no verdict");
  return {get(in.verdict(), doubt)};
}

Turned get(const pb::Turned& in, Doubt& doubt) { return {life_of(in, doubt), doubt.reason(in.reason())}; }

Push get(const pb::Push& in, Doubt& doubt) {
  return {gradient_of(in, doubt), in.base(), in.block(), in.has_payload() ? Ticket{1} : Ticket{0}, in.samples()};
}

Pull get(const pb::Pull& in, Doubt& doubt) { return {life_of(in, doubt), in.at_least()}; }

Parameters get(const pb::Parameters& in, Doubt& doubt) {
  return {life_of(in, doubt), doubt.shard(in.shard()), in.version()};
}

Report get(const pb::Report& in, Doubt& doubt) {
  // Of a gradient that is refused it may be anything.
  if (in.ok()) doubt.finite(in.sum_squares(), "a sum of squares");
  return {doubt.shard(in.shard()), gradient_of(in, doubt),   in.base(), in.samples(), in.ok(),
          in.sum_squares(),        doubt.reason(in.reason())};
}

Measured get(const pb::Measured& in, Doubt& doubt) {
  return {doubt.shard(in.shard()), in.step(), doubt.finite(in.sum_squares(), "a sum of squares")};
}

Reduced get(const pb::Reduced& in, Doubt& doubt) { return {doubt.shard(in.shard()), in.version()}; }

Scale get(const pb::Scale& in, Doubt& doubt) { return {in.step(), doubt.finite(in.factor(), "the factor of a scale")}; }

Commit get(const pb::Commit& in, Doubt&) { return {in.version()}; }

Fence get(const pb::Fence& in, Doubt& doubt) { return {life_of(in, doubt)}; }

Address get(const pb::Address& in, Doubt& doubt) {
  const auto role = doubt.one_of<Address::Role>(in.role(), pb::Address::Role_IsValid, "role");
  const auto last = role == Address::Role::sequencer ? 0 : kMaxMembers - 1;
  return {role, doubt.between(0, in.id(), last, "the number in an address")};
}

Message message_of(const pb::Post& in, Doubt& doubt) {
  switch (in.message_case()) {
    case pb::Post::kHello:
      return get(in.hello(), doubt);
    case pb::Post::kAssign:
      return get(in.assign(), doubt);
    case pb::Post::kDone:
      return get(in.done(), doubt);
    case pb::Post::kSettled:
      return get(in.settled(), doubt);
    case pb::Post::kTurned:
      return get(in.turned(), doubt);
    case pb::Post::kPush:
      return get(in.push(), doubt);
    case pb::Post::kPull:
      return get(in.pull(), doubt);
    case pb::Post::kParameters:
      return get(in.parameters(), doubt);
    case pb::Post::kReport:
      return get(in.report(), doubt);
    case pb::Post::kMeasured:
      return get(in.measured(), doubt);
    case pb::Post::kReduced:
      return get(in.reduced(), doubt);
    case pb::Post::kRecord:
      return get(in.record(), doubt);
    case pb::Post::kScale:
      return get(in.scale(), doubt);
    case pb::Post::kCommit:
      return get(in.commit(), doubt);
    case pb::Post::kFence:
      return get(in.fence(), doubt);
    case pb::Post::MESSAGE_NOT_SET:
      break;
  }
  doubt.say("a post has no message of a known kind");
  return {};
}

Post get(const pb::Post& in, Doubt& doubt) {
  doubt.unless(in.has_from() && in.has_to(), "a post does not say from whom or to whom");
  return {in.network(), get(in.from(), doubt), get(in.to(), doubt), message_of(in, doubt)};
}

BatchChange get(const pb::BatchChange& in, Doubt& doubt) {
  doubt.unless(in.batch() > 0, "a batch has no samples");
  return {in.from_epoch(), in.batch()};
}

ScheduleOptions get(const pb::ScheduleOptions& in, Doubt& doubt) {
  return {doubt.one_of<ScheduleOptions::Kind>(in.kind(), pb::ScheduleKind_IsValid, "schedule"),
          doubt.finite(in.step_epochs(), "the schedule's step_epochs"),
          doubt.finite(in.step_gamma(), "the schedule's step_gamma"),
          doubt.finite(in.floor(), "the schedule's floor"),
          doubt.finite(in.warmup_epochs(), "the schedule's warmup_epochs"),
          doubt.finite(in.reference_batch(), "the schedule's reference_batch")};
}

StaleOptions get(const pb::StaleOptions& in, Doubt& doubt) {
  StaleOptions stale;
  stale.policy = doubt.one_of<Stale>(in.policy(), pb::Stale_IsValid, "policy for stale gradients");
  stale.strength = doubt.finite(in.strength(), "the strength of the policy for stale gradients");
  if (in.has_max_staleness()) stale.max_staleness = in.max_staleness();
  if (in.has_max_lead()) stale.max_lead = in.max_lead();
  stale.delay_compensation = doubt.finite(in.delay_compensation(), "the delay compensation");
  return stale;
}

JobTerms get(const pb::JobTerms& in, Doubt& doubt) {
  doubt.unless(in.has_schedule(), "the terms have no schedule");
  doubt.unless(in.has_stale(), "the terms do not say what happens to stale gradients");
  JobTerms terms;
  terms.strategy = doubt.one_of<Strategy>(in.strategy(), pb::Strategy_IsValid, "strategy");
  terms.replicas = doubt.between(1, in.replicas(), kMaxMembers, "the number of replicas");
  terms.spares = doubt.between(0, in.spares(), kMaxMembers, "the number of spares");
  terms.shards = doubt.between(1, in.shards(), kMaxMembers, "the number of shards");
  terms.epochs = in.epochs();
  terms.steps = in.steps();
  terms.batch_schedule = get_all<BatchChange>(in.batch_schedule(), doubt);
  terms.warmup_epochs = in.warmup_epochs();
  terms.warmup_steps = in.warmup_steps();
  terms.schedule = get(in.schedule(), doubt);
  terms.stale = get(in.stale(), doubt);
  terms.optimizer_state =
      doubt.one_of<OptimizerState>(in.optimizer_state(), pb::OptimizerState_IsValid, "place for the optimizer's state");
  terms.clip_norm = doubt.finite(in.clip_norm(), "the norm to clip to");
  terms.max_refusals = in.max_refusals();
  terms.seed = in.seed();
  terms.shuffle = in.shuffle();
  terms.record = in.record();
  return terms;
}

template <class Adamlike>
Adamlike adam_of(const pb::Adam& in, Doubt& doubt) {
  return {doubt.finite(in.lr(), "Adam's lr"), doubt.finite(in.beta1(), "Adam's beta1"),
          doubt.finite(in.beta2(), "Adam's beta2"), doubt.finite(in.eps(), "Adam's eps"),
          doubt.finite(in.weight_decay(), "Adam's weight_decay")};
}

SGD get(const pb::SGD& in, Doubt& doubt) {
  return {doubt.finite(in.lr(), "SGD's lr"), doubt.finite(in.momentum(), "SGD's momentum"),
          doubt.finite(in.weight_decay(), "SGD's weight_decay"), in.nesterov()};
}

Adagrad get(const pb::Adagrad& in, Doubt& doubt) {
  return {doubt.finite(in.lr(), "Adagrad's lr"), doubt.finite(in.lr_decay(), "Adagrad's lr_decay"),
          doubt.finite(in.weight_decay(), "Adagrad's weight_decay"),
          doubt.finite(in.initial_accumulator(), "Adagrad's initial_accumulator"),
          doubt.finite(in.eps(), "Adagrad's eps")};
}

RMSProp get(const pb::RMSProp& in, Doubt& doubt) {
  return {doubt.finite(in.lr(), "RMSProp's lr"),
          doubt.finite(in.alpha(), "RMSProp's alpha"),
          doubt.finite(in.eps(), "RMSProp's eps"),
          doubt.finite(in.weight_decay(), "RMSProp's weight_decay"),
          doubt.finite(in.momentum(), "RMSProp's momentum"),
          in.centered()};
}

Optimizer get(const pb::Optimizer& in, Doubt& doubt) {
  switch (in.kind_case()) {
    case pb::Optimizer::kSgd:
      return get(in.sgd(), doubt);
    case pb::Optimizer::kAdagrad:
      return get(in.adagrad(), doubt);
    case pb::Optimizer::kRmsprop:
      return get(in.rmsprop(), doubt);
    case pb::Optimizer::kAdam:
      return adam_of<Adam>(in.adam(), doubt);
    case pb::Optimizer::kAdamw:
      return adam_of<AdamW>(in.adamw(), doubt);
    case pb::Optimizer::kAverage:
      return Average{};
    case pb::Optimizer::KIND_NOT_SET:
      break;
  }
  doubt.say("a parameter group has no optimizer of a known kind");
  return {};
}

// None: more than kMaxValues, or less than nothing. An extent of 0 does not excuse the others.
template <class Shape>
std::optional<std::uint64_t> values_of(const Shape& shape) {
  std::uint64_t values = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return {};
    empty = empty || extent == 0;
    if (extent > 0 && static_cast<std::uint64_t>(extent) > kMaxValues / values) return {};
    if (extent > 0) values *= static_cast<std::uint64_t>(extent);
  }
  return empty ? 0 : values;
}

Slot get(const pb::Slot& in, Doubt& doubt) {
  Slot slot;
  slot.name = doubt.name(in.name(), "the name of a slot");
  doubt.between(0, static_cast<std::uint64_t>(in.shape_size()), kMaxDims, "the number of a slot's dimensions");
  if (doubt.any()) return slot;
  slot.shape.assign(in.shape().begin(), in.shape().end());
  slot.group = in.group();
  slot.frozen = in.frozen();
  slot.buffer = in.buffer();
  if (!values_of(slot.shape)) doubt.say(fmt::format("the shape of slot {} makes no sense", slot.name));
  return slot;
}

Layout get(const pb::Layout& in, Doubt& doubt) {
  Layout layout;
  layout.groups = get_all<Optimizer>(in.groups(), doubt);
  layout.slots = get_all<Slot>(in.slots(), doubt);
  if (doubt.any()) return layout;
  std::uint64_t values = 0;
  for (const auto& slot : layout.slots) {
    if (slot.group >= layout.groups.size())
      doubt.say(fmt::format("slot {} is in group {} of {}", slot.name, slot.group, layout.groups.size()));
    values += slot.size();  // a million of them, each below 2^40
  }
  doubt.between(0, values, kMaxValues, "the number of a network's values");
  return layout;
}

Welcome get(const pb::Welcome& in, Doubt& doubt) {
  return {doubt.replica(in.replica()), get_all<std::string>(in.servers(), doubt)};
}

Refusal get(const pb::Refusal& in, Doubt& doubt) { return {doubt.reason(in.reason())}; }

Open get(const pb::Open& in, Doubt& doubt) {
  doubt.unless(in.has_terms(), "there are no terms of the job");
  doubt.unless(in.has_layout(), "there is no layout of the network");
  return {in.network(), get(in.terms(), doubt), get(in.layout(), doubt)};
}

Opened get(const pb::Opened& in, Doubt&) { return {in.network(), in.bring_values()}; }

FirstValues get(const pb::FirstValues& in, Doubt& doubt) {
  return {in.network(), in.block(), in.frozen(),
          doubt.between(0, in.offset(), kMaxValues, "where in a slot the values go")};
}

FirstValuesDone get(const pb::FirstValuesDone& in, Doubt&) { return {in.network()}; }

BlockValues get(const pb::BlockValues& in, Doubt&) { return {in.network(), in.block(), in.version()}; }

StepNews get(const pb::StepNews& in, Doubt& doubt) {
  StepNews news;
  news.replica = doubt.replica(in.replica());
  news.loss = in.loss();  // these two are the model's: a training that diverges has no finite loss
  news.right = in.right();
  news.samples = in.samples();
  news.fate = fate(in.fate(), doubt);
  news.staleness = in.staleness();
  news.step = in.step();
  news.epoch = in.epoch();
  news.work_seconds = doubt.finite(in.work_seconds(), "the time of a step");
  news.whole = in.whole();
  return news;
}

StopNow get(const pb::StopNow& in, Doubt& doubt) { return {doubt.reason(in.reason())}; }

Leaving get(const pb::Leaving& in, Doubt& doubt) { return {doubt.reason(in.reason()), in.well()}; }

AskAccount get(const pb::AskAccount& in, Doubt&) { return {in.with_staleness()}; }

ReplicaAccount get(const pb::ReplicaAccount& in, Doubt& doubt) {
  ReplicaAccount account;
  account.id = doubt.replica(in.id());
  account.present = in.present();
  account.where = doubt.at_most(kMaxText, in.where(), "where a replica is");
  account.applied = in.applied();
  account.dropped = in.dropped();
  account.refused = in.refused();
  account.staleness = in.staleness();
  account.mean_step_seconds = doubt.finite(in.mean_step_seconds(), "the mean time of a step");
  account.last_heard_seconds = doubt.finite(in.last_heard_seconds(), "the time since a replica was heard");
  account.gone = doubt.reason(in.gone());
  return account;
}

ServerAccount get(const pb::ServerAccount& in, Doubt& doubt) {
  return {doubt.shard(in.shard()), doubt.at_most(kMaxText, in.where(), "where a server is"),
          doubt.name(in.address(), "an address"), in.present()};
}

Account get(const pb::Account& in, Doubt& doubt) {
  Account account;
  account.strategy = doubt.name(in.strategy(), "the name of a strategy");
  account.step = in.step();
  account.steps = in.steps();
  account.epochs = in.epochs();
  account.epochs_asked = in.epochs_asked();
  account.samples = in.samples();
  account.assigned = in.assigned();
  account.steps_per_second = doubt.finite(in.steps_per_second(), "the number of steps per second");
  account.seconds = doubt.finite(in.seconds(), "the time of training");
  account.least_counted = in.least_counted();
  account.most_counted = in.most_counted();
  doubt.between(0, static_cast<std::uint64_t>(in.staleness_size()), kMaxStaleness, "the length of the histogram");
  if (!doubt.any()) account.staleness.assign(in.staleness().begin(), in.staleness().end());
  account.stopped = doubt.reason(in.stopped());
  account.done = in.done();
  account.waiting_for = doubt.reason(in.waiting_for());
  account.replicas = get_all<ReplicaAccount>(in.replicas(), doubt);
  account.servers = get_all<ServerAccount>(in.servers(), doubt);
  return account;
}

JobMessage get(const pb::JobMessage& in, Doubt& doubt) {
  switch (in.kind_case()) {
    case pb::JobMessage::kWelcome:
      return get(in.welcome(), doubt);
    case pb::JobMessage::kRefusal:
      return get(in.refusal(), doubt);
    case pb::JobMessage::kOpen:
      return get(in.open(), doubt);
    case pb::JobMessage::kOpened:
      return get(in.opened(), doubt);
    case pb::JobMessage::kFirstValues:
      return get(in.first_values(), doubt);
    case pb::JobMessage::kFirstValuesDone:
      return get(in.first_values_done(), doubt);
    case pb::JobMessage::kBlockValues:
      return get(in.block_values(), doubt);
    case pb::JobMessage::kPost:
      return get(in.post(), doubt);
    case pb::JobMessage::kStepNews:
      return get(in.step_news(), doubt);
    case pb::JobMessage::kChiefNow:
      return ChiefNow{};
    case pb::JobMessage::kConcluded:
      return Concluded{};
    case pb::JobMessage::kStopNow:
      return get(in.stop_now(), doubt);
    case pb::JobMessage::kLeaving:
      return get(in.leaving(), doubt);
    case pb::JobMessage::kAskAccount:
      return get(in.ask_account(), doubt);
    case pb::JobMessage::kAccount:
      return get(in.account(), doubt);
    case pb::JobMessage::KIND_NOT_SET:
      break;
  }
  doubt.say("it is of no known kind");
  return {};
}

Identity get(const pb::Identity& in, Doubt& doubt) {
  Identity identity;
  identity.role = doubt.one_of<Role>(in.role(), pb::Role_IsValid, "role");
  identity.id = doubt.between(0, in.id(), kMaxMembers - 1, "the number of a server or replica");
  identity.numbered = in.numbered();
  identity.shards = doubt.between(0, in.shards(), kMaxMembers, "the number of shards");
  if (identity.role == Role::server)
    doubt.unless(identity.id < identity.shards, "a server's shard is none of the job's");
  identity.incarnation = in.incarnation();
  identity.version = in.version();
  identity.host = in.host();
  identity.pid = in.pid();
  identity.listens = in.listens();
  return identity;
}

// --- lists, before anything is made of them: two bytes can ask for an object of a hundred ---

struct List {
  std::array<int, 3> path;  // the numbers of the fields that lead to it; 0: none
  std::uint64_t most;
  const char* what;
};
constexpr List kLists[] = {
    {{pb::JobMessage::kWelcomeFieldNumber, pb::Welcome::kServersFieldNumber}, kMaxMembers, "servers"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kTermsFieldNumber, pb::JobTerms::kBatchScheduleFieldNumber},
     kMaxChanges,
     "changes of the batch"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kLayoutFieldNumber, pb::Layout::kSlotsFieldNumber},
     kMaxSlots,
     "slots"},
    {{pb::JobMessage::kOpenFieldNumber, pb::Open::kLayoutFieldNumber, pb::Layout::kGroupsFieldNumber},
     kMaxGroups,
     "parameter groups"},
    {{pb::JobMessage::kPostFieldNumber, pb::Post::kRecordFieldNumber, pb::Record::kAppliedFieldNumber},
     kMaxMembers,
     "gradients in one update"},
    {{pb::JobMessage::kPostFieldNumber, pb::Post::kRecordFieldNumber, pb::Record::kTurnedAwayFieldNumber},
     kMaxTurnedAway,
     "gradients turned away at once"},
    {{pb::JobMessage::kAccountFieldNumber, pb::Account::kReplicasFieldNumber}, kMaxMembers, "replicas"},
    {{pb::JobMessage::kAccountFieldNumber, pb::Account::kServersFieldNumber}, kMaxMembers, "servers"},
};

class ListCounter {
 public:
  // Adds what `bytes` has, a message `depth` steps along the paths of the lists in `among` (a bit each). Stops where it
  // is garbled: there the parser will stop as well.
  void add(std::string_view bytes, std::size_t depth = 0, unsigned among = ~0U) {
    using Format = google::protobuf::internal::WireFormatLite;
    google::protobuf::io::CodedInputStream in(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                              static_cast<int>(bytes.size()));
    while (const auto tag = in.ReadTag()) {
      if (Format::GetTagWireType(tag) != Format::WIRETYPE_LENGTH_DELIMITED) {
        if (!Format::SkipField(&in, tag)) return;
        continue;
      }
      std::uint32_t size = 0;
      if (!in.ReadVarint32(&size)) return;
      const auto at = static_cast<std::size_t>(in.CurrentPosition());
      if (size > bytes.size() - at || !in.Skip(static_cast<int>(size))) return;
      add_part(Format::GetTagFieldNumber(tag), bytes.substr(at, size), depth, among);
    }
  }

  void check(Doubt& doubt) const {
    for (std::size_t i = 0; i < std::size(kLists); ++i)
      if (counts_[i] > kLists[i].most)
        doubt.say(fmt::format("{} {}, the limit is {}", counts_[i], kLists[i].what, kLists[i].most));
  }

 private:
  void add_part(int field, std::string_view part, std::size_t depth, unsigned among) {
    unsigned further = 0;
    for (std::size_t i = 0; i < std::size(kLists); ++i) {
      const auto& path = kLists[i].path;
      if (!(among >> i & 1) || path[depth] != field) continue;
      if (depth + 1 == path.size() || path[depth + 1] == 0)
        ++counts_[i];
      else
        further |= 1U << i;
    }
    if (further != 0) add(part, depth + 1, further);
  }

  std::array<std::uint64_t, std::size(kLists)> counts_{};
};

void check_lists(std::string_view bytes, const pb::JobMessage&, Doubt& doubt) {
  ListCounter counter;
  counter.add(bytes);
  counter.check(doubt);
}
void check_lists(std::string_view, const pb::Identity&, Doubt&) {}  // it has none

template <class Value, class Wire>
Result<Value> parse(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > limit)
    return Error{Code::corrupt, fmt::format("a control message has {} bytes, the limit is {}", bytes.size(), limit)};
  Wire in;
  Doubt doubt;
  check_lists(bytes, in, doubt);
  if (doubt.any()) return doubt.error();
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error{Code::corrupt, "a control message is cut off or garbled"};
  Value value = get(in, doubt);
  if (doubt.any()) return doubt.error();
  return value;
}

}  // namespace

std::string encode(const JobMessage& message) {
  pb::JobMessage out;
  std::visit([&](const auto& kind) { put(kind, &out); }, message);
  return out.SerializeAsString();
}

Result<JobMessage> decode(std::string_view bytes) { return parse<JobMessage, pb::JobMessage>(bytes, kMaxControl); }

std::string encode_identity(const Identity& identity) {
  pb::Identity out;
  out.set_role(static_cast<pb::Role>(identity.role));
  out.set_id(identity.id);
  out.set_numbered(identity.numbered);
  out.set_shards(identity.shards);
  out.set_incarnation(identity.incarnation);
  out.set_version(identity.version);
  out.set_host(identity.host);
  out.set_pid(identity.pid);
  out.set_listens(identity.listens);
  return out.SerializeAsString();
}

Result<Identity> decode_identity(std::string_view bytes) {
  return parse<Identity, pb::Identity>(bytes, kMaxFirstControl);
}

}  // namespace yoke::wire
