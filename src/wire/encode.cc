// Control messages to bytes: for each type a `put`, which fills the protobuf message.
#include "wire/codec.h"
#include "wire/limits.h"
#include "wire/yoke.pb.h"

namespace yoke::wire {
namespace {

// What is sent for an enumerator is its number.
static_assert(int{pb::ROLE_SERVER} == int(Role::server) && int{pb::ROLE_REPLICA} == int(Role::replica) &&
              int{pb::ROLE_WATCHER} == int(Role::watcher) && int{pb::ROLE_KEEPER} == int(Role::keeper) &&
              int{pb::ROLE_MEMBER} == int(Role::member) && int{pb::ROLE_COORDINATOR} == int(Role::coordinator));
static_assert(int{pb::Enclosed::BEGINS} == int(Enclosed::Kind::begins) &&
              int{pb::Enclosed::SAYS} == int(Enclosed::Kind::says) &&
              int{pb::Enclosed::ENDS} == int(Enclosed::Kind::ends));
static_assert(int{pb::Order::LIST} == int(Order::Kind::list) &&
              int{pb::Order::SNAPSHOT} == int(Order::Kind::snapshot) &&
              int{pb::Order::SAVE} == int(Order::Kind::save) && int{pb::Order::REMOVE} == int(Order::Kind::remove) &&
              int{pb::Order::STOP} == int(Order::Kind::stop) &&
              int{pb::Order::CHECKPOINT} == int(Order::Kind::checkpoint) &&
              int{pb::Order::DRAIN} == int(Order::Kind::drain));
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

void put(const Standing& standing, pb::Standing* out) {
  out->set_version(standing.version);
  out->set_samples(standing.samples);
  out->set_batch(standing.batch);
  out->set_samples_decided(standing.samples_decided);
  out->set_warmup_end(standing.warmup_end);
  if (!standing.ledger) return;
  auto* ledger = out->mutable_ledger();
  ledger->set_epoch(standing.ledger->epoch);
  ledger->set_cursor(standing.ledger->cursor);
  for (const auto& range : standing.ledger->returned) put(range, ledger->add_returned());
  for (const auto& [epoch, counted] : standing.ledger->counted) {
    auto* one = ledger->add_counted();
    one->set_epoch(epoch);
    one->set_counted(counted);
  }
  ledger->set_counted_epochs(standing.ledger->counted_epochs);
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
  out->set_mark(record.mark);
  out->set_reason(cut(record.reason));
  if (record.standing) put(*record.standing, out->mutable_standing());
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
  out->set_counted(assign.counted);
}

void put(const Done& done, pb::Done* out) {
  out->set_version(done.version);
  out->set_reason(cut(done.reason));
}

void put(const Settled& settled, pb::Settled* out) { put(settled.verdict, out->mutable_verdict()); }

void put(const Turned& turned, pb::Turned* out) {
  put(turned.life, out->mutable_life());
  out->set_reason(cut(turned.reason));
  out->set_drained(turned.drained);
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
  out->set_follow(parameters.follow);
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

void put(const Forecast& forecast, pb::Forecast* out) {
  out->set_step(forecast.step);
  for (const auto& part : forecast.parts) {
    auto* one = out->add_parts();
    put(part.gradient, one->mutable_gradient());
    one->set_weight(part.weight);
  }
  out->set_rate(forecast.rate);
}

void put(const PartSaved& saved, pb::PartSaved* out) {
  out->set_shard(saved.shard);
  out->set_token(saved.token);
  out->set_ok(saved.ok);
  out->set_sum(saved.sum);
  out->set_reason(cut(saved.reason));
}

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
pb::PartSaved* field(pb::Post* out, const PartSaved&) { return out->mutable_part_saved(); }
pb::Forecast* field(pb::Post* out, const Forecast&) { return out->mutable_forecast(); }

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
  out->set_min_replicas(terms.min_replicas);
  out->set_record(terms.record);
  out->set_values_follow(terms.values_follow);
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
  out->set_lives(account.lives);
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

template <class Message>
void put_about(const About& about, Message* out) {
  for (const auto& [key, value] : about) {
    auto* word = out->add_about();
    word->set_key(key);
    word->set_value(value);
  }
}

void put(const Open& open, pb::JobMessage* message) {
  auto* out = message->mutable_open();
  out->set_network(open.network);
  put(open.terms, out->mutable_terms());
  put(open.layout, out->mutable_layout());
  put_about(open.about, out);
}

void put(const Opened& opened, pb::JobMessage* message) {
  auto* out = message->mutable_opened();
  out->set_network(opened.network);
  out->set_bring_values(opened.bring_values);
  out->set_version(opened.version);
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
void put(const AskAccount&, pb::JobMessage* message) { message->mutable_ask_account(); }

void put(const StopNow& stop, pb::JobMessage* message) { message->mutable_stop_now()->set_reason(cut(stop.reason)); }

void put(const Leaving& leaving, pb::JobMessage* message) {
  message->mutable_leaving()->set_reason(cut(leaving.reason));
  message->mutable_leaving()->set_well(leaving.well);
  message->mutable_leaving()->set_silence(leaving.silence);
}

void put(const Account& account, pb::JobMessage* message) {
  auto* out = message->mutable_account();
  if (account.strategy) out->set_strategy(static_cast<pb::Strategy>(*account.strategy));
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
  out->set_degraded(account.degraded);
  out->set_checkpoint(cut(account.checkpoint));
  out->set_checkpointed(account.checkpointed);
  out->set_checkpoint_problem(cut(account.checkpoint_problem));
  for (const auto& replica : account.replicas) put(replica, out->add_replicas());
  for (const auto& server : account.servers) put(server, out->add_servers());
}

void put(const Enclosed& enclosed, pb::JobMessage* message) {
  auto* out = message->mutable_enclosed();
  out->set_container(enclosed.container);
  out->set_run(enclosed.run);
  out->set_kind(static_cast<pb::Enclosed::Kind>(enclosed.kind));
  out->set_said(enclosed.said);
}

void put(const Order& order, pb::JobMessage* message) {
  auto* out = message->mutable_order();
  out->set_kind(static_cast<pb::Order::Kind>(order.kind));
  out->set_container(order.container);
  out->set_force(order.force);
  out->set_token(order.token);
  out->set_replica(order.replica);
}

void put(const OrderDone& done, pb::JobMessage* message) {
  message->mutable_order_done()->set_token(done.token);
  message->mutable_order_done()->set_problem(cut(done.problem));
  message->mutable_order_done()->set_result(cut(done.result));
}

void put(const ContainerAccount& account, pb::ContainerAccount* out) {
  out->set_name(account.name);
  out->set_running(account.running);
  out->set_clients(account.clients);
  out->set_values(account.values);
  out->set_memory(account.memory);
  out->set_version(account.version);
  if (account.saved) out->set_saved(*account.saved);
  out->set_idle_seconds(account.idle_seconds);
}

void put(const Containers& containers, pb::JobMessage* message) {
  auto* out = message->mutable_containers();
  for (const auto& container : containers.containers) put(container, out->add_containers());
}

void put(const Snapshot& snapshot, pb::JobMessage* message) {
  auto* out = message->mutable_snapshot();
  out->set_network(snapshot.network);
  out->set_networks(snapshot.networks);
  out->set_version(snapshot.version);
  put(snapshot.layout, out->mutable_layout());
  put_about(snapshot.about, out);
}

void put(const Piece& piece, pb::JobMessage* message) {
  auto* out = message->mutable_piece();
  out->set_network(piece.network);
  out->set_of(piece.of);
  out->set_slot(piece.slot);
  out->set_array(piece.array);
  out->set_offset(piece.offset);
  out->set_updates(piece.updates);
}

void put(const PiecesDone& done, pb::JobMessage* message) {
  auto* out = message->mutable_pieces_done();
  out->set_network(done.network);
  out->set_of(done.of);
  out->set_shards(done.shards);
  if (done.standing) put(*done.standing, out->mutable_standing());
}

void put(const PiecesHeld& held, pb::JobMessage* message) {
  message->mutable_pieces_held()->set_network(held.network);
  message->mutable_pieces_held()->set_of(held.of);
}

void put(const Holding& holding, pb::Holding* out) {
  out->set_view(holding.view);
  out->set_network(holding.network);
  out->set_shard(holding.shard);
  out->set_shards(holding.shards);
  out->set_version(holding.version);
  if (holding.standing) put(*holding.standing, out->mutable_standing());
}

void put(const Muster& muster, pb::JobMessage* message) {
  auto* out = message->mutable_muster();
  out->set_view(muster.view);
  out->set_why(cut(muster.why));
  out->set_chief(muster.chief);
  for (const auto& holding : muster.holdings) put(holding, out->add_holdings());
}

void put(const Elsewhere& elsewhere, pb::JobMessage* message) {
  message->mutable_elsewhere()->set_view(elsewhere.view);
  message->mutable_elsewhere()->set_address(elsewhere.address);
}

void put(const View& view, pb::JobMessage* message) {
  auto* out = message->mutable_view();
  out->set_number(view.number);
  out->set_from(view.from);
  out->set_chief(view.chief);
  out->set_survivors(view.survivors);
  for (const auto& member : view.members) {
    auto* one = out->add_members();
    one->set_replica(member.replica);
    one->set_listens(member.listens);
  }
  for (const auto& network : view.networks) {
    auto* one = out->add_networks();
    one->set_version(network.version);
    if (network.standing) put(*network.standing, one->mutable_standing());
    for (const auto source : network.sources) one->add_sources(source);
    put(network.layout, one->mutable_layout());
  }
}

void put(const Host& host, pb::Host* out) {
  out->set_life(host.life);
  out->set_listens(host.listens);
}

void put(const ServerView& view, pb::ServerView* out) {
  out->set_number(view.number);
  out->set_revision(view.revision);
  out->set_from(view.from);
  out->set_over(view.over);
  if (view.restore) out->set_restore(*view.restore);
  for (const auto& shard : view.shards) {
    auto* one = out->add_shards();
    put(shard.primary, one->mutable_primary());
    if (shard.backup) put(*shard.backup, one->mutable_backup());
    one->set_filled(shard.filled);
    one->set_since(shard.since);
    one->set_brought(shard.brought);
  }
  for (const auto& network : view.networks) {
    auto* one = out->add_networks();
    one->set_version(network.version);
    if (network.standing) put(*network.standing, one->mutable_standing());
  }
}

void put(const ServerView& view, pb::JobMessage* message) { put(view, message->mutable_server_view()); }

void put(const Attend& attend, pb::JobMessage* message) {
  auto* out = message->mutable_attend();
  if (attend.serves) put(*attend.serves, out->mutable_serves());
  out->set_laid_down(attend.laid_down);
  out->set_laid_revision(attend.laid_revision);
  for (const auto& holding : attend.holdings) put(holding, out->add_holdings());
  if (attend.checkpoint) out->set_checkpoint(*attend.checkpoint);
  out->set_why(cut(attend.why));
  out->set_networks(attend.networks);
}

void put(const BackupNews& news, pb::JobMessage* message) {
  auto* out = message->mutable_backup_news();
  out->set_view(news.view);
  out->set_shard(news.shard);
  out->set_backup(news.backup);
  out->set_since(news.since);
  out->set_lost(cut(news.lost));
}

void put(const Recall& recall, pb::JobMessage* message) {
  message->mutable_recall()->set_view(recall.view);
  message->mutable_recall()->set_why(cut(recall.why));
}

void put(const AskServers& ask, pb::JobMessage* message) {
  auto* out = message->mutable_ask_servers();
  for (const auto& holding : ask.has) put(holding, out->add_has());
}

void put(const Mean& mean, pb::JobMessage* message) {
  auto* out = message->mutable_mean();
  out->set_network(mean.network);
  out->set_version(mean.version);
  out->set_block(mean.block);
  out->set_rate(mean.rate);
  out->set_whose(mean.whose);
}

void put(const Filled& filled, pb::JobMessage* message) { message->mutable_filled()->set_network(filled.network); }

void put(const Wanted& wanted, pb::JobMessage* message) {
  message->mutable_wanted()->set_network(wanted.network);
  message->mutable_wanted()->set_version(wanted.version);
  message->mutable_wanted()->set_view(wanted.view);
}

}  // namespace

std::string encode(const JobMessage& message) {
  pb::JobMessage out;
  std::visit([&](const auto& kind) { put(kind, &out); }, message);
  return out.SerializeAsString();
}

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
  out.set_job(identity.job);
  out.set_replaces(identity.replaces);
  out.set_view(identity.view);
  return out.SerializeAsString();
}

}  // namespace yoke::wire
