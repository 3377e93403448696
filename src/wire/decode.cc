// Control messages from bytes: for each type a `get`, which trusts nothing in the protobuf message.
#include <fmt/format.h>

#include <cmath>
#include <type_traits>

#include "wire/codec.h"
#include "wire/frame.h"
#include "wire/limits.h"
#include "wire/list_limits.h"
#include "wire/yoke.pb.h"

namespace yoke::wire {
namespace {

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

Range range(const pb::Range& in, Doubt& doubt) {
  doubt.unless(in.begin() <= in.end(), "a range ends before it begins");
  return {in.epoch(), in.begin(), in.end()};
}

template <class Message>
std::optional<Range> range_of(const Message& in, Doubt& doubt) {
  if (!in.has_range()) return {};
  return range(in.range(), doubt);
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

LedgerStanding get(const pb::LedgerStanding& in, Doubt& doubt) {
  LedgerStanding ledger{in.epoch(), in.cursor(), {}, {}, in.counted_epochs()};
  for (const auto& returned : in.returned()) ledger.returned.push_back(range(returned, doubt));
  for (const auto& epoch : in.counted())
    doubt.unless(ledger.counted.emplace(epoch.epoch(), epoch.counted()).second, "an epoch is counted twice");
  return ledger;
}

template <class Message>
std::optional<Standing> standing_of(const Message& message, Doubt& doubt) {
  if (!message.has_standing()) return {};
  const auto& in = message.standing();
  doubt.unless(in.batch() > 0, "a batch has no samples");
  Standing standing{in.version(),   in.samples(), in.batch(), {}, doubt.finite(in.samples_decided(), "samples decided"),
                    in.warmup_end()};
  if (in.has_ledger()) standing.ledger = get(in.ledger(), doubt);
  return standing;
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
  record.mark = in.mark();
  record.reason = doubt.reason(in.reason());
  record.standing = standing_of(in, doubt);
  return record;
}

Hello get(const pb::Hello& in, Doubt& doubt) {
  doubt.unless(in.batch() > 0, "a batch has no samples");
  return {life_of(in, doubt), in.samples(), in.batch()};
}

Assign get(const pb::Assign& in, Doubt& doubt) {
  return {gradient_of(in, doubt), in.step(), range_of(in, doubt), in.counted()};
}

Done get(const pb::Done& in, Doubt& doubt) { return {in.version(), doubt.reason(in.reason())}; }

Settled get(const pb::Settled& in, Doubt& doubt) {
  doubt.unless(in.has_verdict(), "it has no verdict");
  return {get(in.verdict(), doubt)};
}

Turned get(const pb::Turned& in, Doubt& doubt) { return {life_of(in, doubt), doubt.reason(in.reason()), in.drained()}; }

Push get(const pb::Push& in, Doubt& doubt) {
  return {gradient_of(in, doubt), in.base(), in.block(), in.has_payload() ? Ticket{1} : Ticket{0}, in.samples()};
}

Pull get(const pb::Pull& in, Doubt& doubt) { return {life_of(in, doubt), in.at_least()}; }

Parameters get(const pb::Parameters& in, Doubt& doubt) {
  return {life_of(in, doubt), doubt.shard(in.shard()), in.version(), in.follow()};
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

Forecast get(const pb::Forecast& in, Doubt& doubt) {
  Forecast forecast{in.step(), {}, doubt.finite(in.rate(), "the factor on the learning rate")};
  for (const auto& part : in.parts())
    forecast.parts.push_back({gradient_of(part, doubt), doubt.finite(part.weight(), "the weight of a gradient")});
  return forecast;
}

PartSaved get(const pb::PartSaved& in, Doubt& doubt) {
  return {doubt.shard(in.shard()), in.token(), in.ok(), in.sum(), doubt.reason(in.reason())};
}

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
    case pb::Post::kPartSaved:
      return get(in.part_saved(), doubt);
    case pb::Post::kForecast:
      return get(in.forecast(), doubt);
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

Strategy strategy(int in, Doubt& doubt) { return doubt.one_of<Strategy>(in, pb::Strategy_IsValid, "strategy"); }

JobTerms get(const pb::JobTerms& in, Doubt& doubt) {
  doubt.unless(in.has_schedule(), "the terms have no schedule");
  doubt.unless(in.has_stale(), "the terms do not say what happens to stale gradients");
  JobTerms terms;
  terms.strategy = strategy(in.strategy(), doubt);
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
  terms.min_replicas = doubt.between(0, in.min_replicas(), kMaxMembers, "the least number of replicas");
  terms.seed = in.seed();
  terms.shuffle = in.shuffle();
  terms.record = in.record();
  terms.values_follow = in.values_follow();
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

template <class Message>
About about_of(const Message& in, Doubt& doubt) {
  About about;
  std::uint64_t bytes = 0;
  for (const auto& word : in.about()) {
    bytes += word.key().size() + word.value().size();
    about[word.key()] = word.value();
  }
  doubt.between(0, bytes, kMaxAbout, "the length of what is said about a model");
  return about;
}

Open get(const pb::Open& in, Doubt& doubt) {
  doubt.unless(in.has_terms(), "there are no terms of the job");
  doubt.unless(in.has_layout(), "there is no layout of the network");
  return {in.network(), get(in.terms(), doubt), get(in.layout(), doubt), about_of(in, doubt)};
}

Opened get(const pb::Opened& in, Doubt&) { return {in.network(), in.bring_values(), in.version()}; }

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

Leaving get(const pb::Leaving& in, Doubt& doubt) {
  return {doubt.reason(in.reason()), in.well(), doubt.finite(in.silence(), "the length of a silence")};
}

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
  account.lives = in.lives();
  return account;
}

ServerAccount get(const pb::ServerAccount& in, Doubt& doubt) {
  return {doubt.shard(in.shard()), doubt.at_most(kMaxText, in.where(), "where a server is"),
          doubt.name(in.address(), "an address"), in.present()};
}

Account get(const pb::Account& in, Doubt& doubt) {
  Account account;
  if (in.has_strategy()) account.strategy = strategy(in.strategy(), doubt);
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
  account.degraded = in.degraded();
  account.checkpoint = doubt.reason(in.checkpoint());
  account.checkpointed = in.checkpointed();
  account.checkpoint_problem = doubt.reason(in.checkpoint_problem());
  account.replicas = get_all<ReplicaAccount>(in.replicas(), doubt);
  account.servers = get_all<ServerAccount>(in.servers(), doubt);
  return account;
}

// Empty where none need be named.
const std::string& container(const std::string& name, Doubt& doubt) {
  doubt.unless(name.empty() || is_job_name(name), "the name of a container is none");
  return name;
}

Enclosed get(const pb::Enclosed& in, Doubt& doubt) {
  return {container(in.container(), doubt), in.run(),
          doubt.one_of<Enclosed::Kind>(in.kind(), pb::Enclosed::Kind_IsValid, "kind of news of a run"), in.said()};
}

Order get(const pb::Order& in, Doubt& doubt) {
  return {doubt.one_of<Order::Kind>(in.kind(), pb::Order::Kind_IsValid, "order"), container(in.container(), doubt),
          in.force(), in.token(), doubt.replica(in.replica())};
}

OrderDone get(const pb::OrderDone& in, Doubt& doubt) {
  return {in.token(), doubt.reason(in.problem()), doubt.reason(in.result())};
}

ContainerAccount get(const pb::ContainerAccount& in, Doubt& doubt) {
  ContainerAccount account;
  account.name = container(in.name(), doubt);
  account.running = in.running();
  account.clients = in.clients();
  account.values = in.values();
  account.memory = in.memory();
  account.version = in.version();
  if (in.has_saved()) account.saved = in.saved();
  account.idle_seconds = doubt.finite(in.idle_seconds(), "the time since a container was used");
  return account;
}

Containers get(const pb::Containers& in, Doubt& doubt) { return {get_all<ContainerAccount>(in.containers(), doubt)}; }

Snapshot get(const pb::Snapshot& in, Doubt& doubt) {
  doubt.unless(in.has_layout(), "there is no layout of the network");
  return {in.network(), doubt.between(0, in.networks(), kMaxMembers, "the number of networks"), in.version(),
          get(in.layout(), doubt), about_of(in, doubt)};
}

Piece get(const pb::Piece& in, Doubt& doubt) {
  return {in.network(),
          in.of(),
          doubt.between(0, in.slot(), kMaxSlots - 1, "a slot"),
          doubt.between(0, in.array(), 16, "an array of the optimizer's"),
          doubt.between(0, in.offset(), kMaxValues, "an offset"),
          in.updates()};
}

PiecesDone get(const pb::PiecesDone& in, Doubt& doubt) {
  return {in.network(), in.of(), doubt.between(1, in.shards(), kMaxMembers, "the number of shards"),
          standing_of(in, doubt)};
}

PiecesHeld get(const pb::PiecesHeld& in, Doubt&) { return {in.network(), in.of()}; }

Holding get(const pb::Holding& in, Doubt& doubt) {
  doubt.unless(in.shard() < in.shards(), "a slice is none of its view's");
  return {in.view(),    in.network(),
          in.shard(),   doubt.between(1, in.shards(), kMaxMembers, "the number of shards"),
          in.version(), standing_of(in, doubt)};
}

Muster get(const pb::Muster& in, Doubt& doubt) {
  return {in.view(), get_all<Holding>(in.holdings(), doubt), in.chief(), doubt.reason(in.why())};
}

Elsewhere get(const pb::Elsewhere& in, Doubt& doubt) { return {in.view(), get(in.address(), doubt)}; }

View::Seat get(const pb::View::Seat& in, Doubt& doubt) {
  return {doubt.replica(in.replica()), get(in.listens(), doubt)};
}

View::Network get(const pb::View::Network& in, Doubt& doubt) {
  doubt.unless(in.has_layout(), "there is no layout of the network");
  doubt.between(0, static_cast<std::uint64_t>(in.sources().size()), kMaxMembers, "the number of slices");
  return {in.version(), standing_of(in, doubt), {in.sources().begin(), in.sources().end()}, get(in.layout(), doubt)};
}

View get(const pb::View& in, Doubt& doubt) {
  View view{in.number(),
            in.from(),
            doubt.replica(in.chief()),
            in.survivors(),
            get_all<View::Seat>(in.members(), doubt),
            get_all<View::Network>(in.networks(), doubt)};
  doubt.unless(view.survivors > 0 && view.survivors <= view.members.size(), "a view has other survivors than members");
  for (const auto& network : view.networks)
    for (const auto source : network.sources)
      doubt.unless(source < view.survivors, "a slice comes from somebody who was not there");
  return view;
}

Host get(const pb::Host& in, Doubt& doubt) { return {in.life(), get(in.listens(), doubt)}; }

ServerView::Shard get(const pb::ServerView::Shard& in, Doubt& doubt) {
  doubt.unless(in.has_primary(), "a shard has no primary");
  ServerView::Shard shard{get(in.primary(), doubt), {}, in.filled(), in.since(), in.brought()};
  if (in.has_backup()) shard.backup = get(in.backup(), doubt);
  return shard;
}

ServerView::Network get(const pb::ServerView::Network& in, Doubt& doubt) {
  return {in.version(), standing_of(in, doubt)};
}

ServerView get(const pb::ServerView& in, Doubt& doubt) {
  ServerView view{in.number(),
                  in.revision(),
                  in.from(),
                  {},
                  get_all<ServerView::Shard>(in.shards(), doubt),
                  get_all<ServerView::Network>(in.networks(), doubt),
                  in.over()};
  if (in.has_restore()) view.restore = in.restore();
  doubt.unless(!view.shards.empty(), "a view without shards");
  return view;
}

Attend get(const pb::Attend& in, Doubt& doubt) {
  Attend attend{{}, in.laid_down(),         in.laid_revision(), get_all<Holding>(in.holdings(), doubt),
                {}, doubt.reason(in.why()), in.networks()};
  if (in.has_serves()) attend.serves = get(in.serves(), doubt);
  if (in.has_checkpoint()) attend.checkpoint = in.checkpoint();
  return attend;
}

BackupNews get(const pb::BackupNews& in, Doubt& doubt) {
  return {in.view(), doubt.between(0, in.shard(), kMaxMembers - 1, "a shard"), in.backup(), in.since(),
          doubt.reason(in.lost())};
}

Recall get(const pb::Recall& in, Doubt& doubt) { return {in.view(), doubt.reason(in.why())}; }

Mean get(const pb::Mean& in, Doubt& doubt) {
  doubt.unless(std::isfinite(in.rate()), "a rate is not finite");
  return {in.network(), in.version(), in.block(), in.rate(), doubt.replica(in.whose())};
}

Filled get(const pb::Filled& in, Doubt&) { return {in.network()}; }

AskServers get(const pb::AskServers& in, Doubt& doubt) { return {get_all<Holding>(in.has(), doubt)}; }

Wanted get(const pb::Wanted& in, Doubt&) { return {in.network(), in.version(), in.view()}; }

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
      return AskAccount{};
    case pb::JobMessage::kAccount:
      return get(in.account(), doubt);
    case pb::JobMessage::kEnclosed:
      return get(in.enclosed(), doubt);
    case pb::JobMessage::kOrder:
      return get(in.order(), doubt);
    case pb::JobMessage::kOrderDone:
      return get(in.order_done(), doubt);
    case pb::JobMessage::kContainers:
      return get(in.containers(), doubt);
    case pb::JobMessage::kSnapshot:
      return get(in.snapshot(), doubt);
    case pb::JobMessage::kPiece:
      return get(in.piece(), doubt);
    case pb::JobMessage::kPiecesDone:
      return get(in.pieces_done(), doubt);
    case pb::JobMessage::kPiecesHeld:
      return get(in.pieces_held(), doubt);
    case pb::JobMessage::kMuster:
      return get(in.muster(), doubt);
    case pb::JobMessage::kElsewhere:
      return get(in.elsewhere(), doubt);
    case pb::JobMessage::kView:
      return get(in.view(), doubt);
    case pb::JobMessage::kServerView:
      return get(in.server_view(), doubt);
    case pb::JobMessage::kAttend:
      return get(in.attend(), doubt);
    case pb::JobMessage::kBackupNews:
      return get(in.backup_news(), doubt);
    case pb::JobMessage::kRecall:
      return get(in.recall(), doubt);
    case pb::JobMessage::kAskServers:
      return get(in.ask_servers(), doubt);
    case pb::JobMessage::kMean:
      return get(in.mean(), doubt);
    case pb::JobMessage::kFilled:
      return get(in.filled(), doubt);
    case pb::JobMessage::kWanted:
      return get(in.wanted(), doubt);
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
  identity.job = in.job();
  identity.replaces = in.replaces();
  identity.view = in.view();
  doubt.unless(identity.job.empty() || is_job_name(identity.job), "the job's name is none");
  return identity;
}

template <class Value, class Wire>
Result<Value> parse(std::string_view bytes, std::size_t limit) {
  if (bytes.size() > limit)
    return Error{Code::corrupt, fmt::format("a control message has {} bytes, the limit is {}", bytes.size(), limit)};
  Doubt doubt;
  if (std::is_same_v<Wire, pb::JobMessage>) doubt.say(too_long_a_list(bytes));  // an Identity has no lists
  if (doubt.any()) return doubt.error();
  Wire in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error{Code::corrupt, "a control message is cut off or garbled"};
  Value value = get(in, doubt);
  if (doubt.any()) return doubt.error();
  return value;
}

}  // namespace

Result<JobMessage> decode(std::string_view bytes) { return parse<JobMessage, pb::JobMessage>(bytes, kMaxControl); }

Result<Identity> decode_identity(std::string_view bytes) {
  return parse<Identity, pb::Identity>(bytes, kMaxIntroduction);
}

}  // namespace yoke::wire
