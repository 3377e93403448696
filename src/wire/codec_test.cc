#include "wire/codec.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <type_traits>

#include "wire/frame.h"

namespace yoke::wire {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// --- are two values the same, field by field? ---

template <class T, class... Others>
constexpr bool kOneOf = (std::is_same_v<T, Others> || ...);

// The fields of a struct. A field more or less does not compile: then this, yoke.proto, encode.cc, decode.cc and the
// values below have to be told.
template <class T>
auto fields(const T& value) {
  if constexpr (kOneOf<T, ChiefNow, Concluded, AskAccount, Average>) {
    static_assert(std::is_empty_v<T>);
    return std::tuple<>();
  } else if constexpr (kOneOf<T, Refusal, FirstValuesDone, StopNow, Settled, Commit, Fence, Containers, Filled,
                              AskServers>) {
    const auto& [a] = value;
    return std::tie(a);
  } else if constexpr (kOneOf<T, Welcome, Life, GradientId, Done, Pull, Reduced, Scale, Address, Layout, BatchChange,
                              PiecesHeld, Elsewhere, View::Seat, Host, ServerView::Network, Recall, Forecast::Part>) {
    const auto& [a, b] = value;
    return std::tie(a, b);
  } else if constexpr (kOneOf<T, Opened, BlockValues, Leaving, Range, Hello, OrderDone, Turned, Measured, Wanted,
                              Forecast>) {
    const auto& [a, b, c] = value;
    return std::tie(a, b, c);
  } else if constexpr (kOneOf<T, FirstValues, Open, Enclosed, Assign, Post, ServerAccount, SGD, View::Network,
                              PiecesDone, Muster, Parameters>) {
    const auto& [a, b, c, d] = value;
    return std::tie(a, b, c, d);
  } else if constexpr (kOneOf<T, Verdict, Push, StaleOptions, Slot, Adagrad, Adam, AdamW, Snapshot, Order, PartSaved,
                              LedgerStanding, Mean, BackupNews, ServerView::Shard>) {
    const auto& [a, b, c, d, e] = value;
    return std::tie(a, b, c, d, e);
  } else if constexpr (kOneOf<T, Contribution, ScheduleOptions, RMSProp, Standing, Piece, Holding, View>) {
    const auto& [a, b, c, d, e, f] = value;
    return std::tie(a, b, c, d, e, f);
  } else if constexpr (kOneOf<T, Report, ServerView, Attend>) {
    const auto& [a, b, c, d, e, f, g] = value;
    return std::tie(a, b, c, d, e, f, g);
  } else if constexpr (kOneOf<T, ContainerAccount>) {
    const auto& [a, b, c, d, e, f, g, h] = value;
    return std::tie(a, b, c, d, e, f, g, h);
  } else if constexpr (kOneOf<T, StepNews>) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j);
  } else if constexpr (kOneOf<T, ReplicaAccount, Record>) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k);
  } else if constexpr (kOneOf<T, Identity>) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l);
  } else if constexpr (kOneOf<T, JobTerms>) {
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  } else {
    static_assert(kOneOf<T, Account>);
    const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = value;
    return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  }
}

template <class T>
bool same(const T& a, const T& b);
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b);
template <class... T>
bool same(const std::variant<T...>& a, const std::variant<T...>& b);
template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class... T>
bool same(const std::variant<T...>& a, const std::variant<T...>& b) {
  return a.index() == b.index() &&
         std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
}
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> ||
                kOneOf<T, std::string, About, std::map<std::uint32_t, std::uint64_t>>) {
    return a == b;
  } else {
    return std::apply(
        [&](const auto&... x) { return std::apply([&](const auto&... y) { return (same(x, y) && ...); }, fields(b)); },
        fields(a));
  }
}

// --- one of each, no field at its default ---

const Life kLife{3, 0x1122334455};
const GradientId kGradient{kLife, 77};
const Range kRange{2, 640, 704};
const Verdict kVerdict{kGradient, Fate::refused, 9, 4, "not finite"};
const Address kShard = shard_at(1);
const Address kReplica = replica_at(3);

Identity identity() {
  return {Role::replica, 3, true, 2, 0x1122334455, "0.1.0", "one", 4711, "one:7070", "job-7.a_b", 0x1122334454, 6};
}

Standing standing() {
  return {40, 640, 16, LedgerStanding{2, 48, {{1, 16, 32}, {2, 0, 16}}, {{1, 624}, {2, 32}}, 1}, 1296, 3};
}

JobTerms terms() {
  JobTerms terms;
  terms.strategy = Strategy::async;
  terms.replicas = 8;
  terms.spares = 2;
  terms.shards = 4;
  terms.epochs = 5;
  terms.steps = 1000;
  terms.batch_schedule = {{1, 64}, {3, 128}};
  terms.warmup_epochs = 6;
  terms.warmup_steps = 70;
  terms.schedule = {ScheduleOptions::Kind::cosine, 2.5, 0.5, 0.01, 1.5, 256};
  terms.stale = {Stale::scale_linear, 0.25, 0, 16, 0.04};
  terms.optimizer_state = OptimizerState::per_replica;
  terms.clip_norm = 1.25;
  terms.max_refusals = 7;
  terms.min_replicas = 3;
  terms.record = true;
  terms.seed = 99;
  terms.shuffle = false;
  terms.values_follow = true;
  return terms;
}

Layout layout() {
  Layout layout;
  layout.groups = {
      SGD{0.1, 0.9, 1e-4, true},       Adagrad{0.2, 0.3, 0.4, 0.5, 1e-9}, RMSProp{0.3, 0.9, 1e-7, 0.1, 0.8, true},
      Adam{0.4, 0.8, 0.99, 1e-6, 0.2}, AdamW{0.5, 0.7, 0.9, 1e-5, 0.3},   Average{}};
  layout.slots = {{"conv.weight", {32, 3, 3, 3}, 1, true, false},
                  {"conv.mean", {32}, 5, false, true},
                  {"scale", {}, 2, false, false},
                  {"none", {0, 7}, 3, false, false}};
  return layout;
}

Record record() {
  Record record;
  record.index = 12;
  record.step = 10;
  record.applied = {{kGradient, 8, 2, 64, 0.5, kRange}, {{{4, 1}, 5}, 7, 3, 32, 0.25, {}}};
  record.turned_away = {kVerdict, {{{5, 2}, 6}, Fate::dropped, 10, 1, "late"}};
  record.quorum = 2;
  record.degraded = true;
  record.rate = 0.75;
  record.clip = true;
  record.mark = 77;
  record.reason = "2 of 3";
  record.standing = standing();
  return record;
}

Account account() {
  Account account;
  account.strategy = Strategy::sync;
  account.step = 1;
  account.steps = 2;
  account.epochs = 3;
  account.epochs_asked = 4;
  account.samples = 5;
  account.assigned = 6;
  account.steps_per_second = 7.5;
  account.seconds = 8.5;
  account.least_counted = 9;
  account.most_counted = 10;
  account.staleness = {11, 0, 12};
  account.stopped = "interrupted";
  account.done = true;
  account.waiting_for = "replica 2";
  account.degraded = 13;
  account.checkpoint = "runs/checkpoint-14";
  account.checkpointed = 14;
  account.checkpoint_problem = "no space";
  account.replicas = {{1, true, "one, process 3", 4, 5, 6, 7, 0.5, 1.5, "left", 2}, {}};
  account.servers = {{1, "two, process 4", "two:7070", true}, {}};
  return account;
}

std::vector<Message> messages() {
  return {Hello{kLife, 60'000, 32},
          Assign{kGradient, 5, kRange, 320},
          Assign{kGradient, 5, {}},
          Done{100, "all epochs"},
          Settled{kVerdict},
          Turned{kLife, "struck off"},
          Turned{kLife, "asked to go", true},
          Push{kGradient, 8, 4, 1, 64},
          Push{kGradient, 8, 4, 0, 64},
          Pull{kLife, 9},
          Parameters{kLife, 1, 9},
          Parameters{kLife, 1, 9, 4},
          Report{1, kGradient, 8, 64, true, 2.5, "because"},
          Report{1, kGradient, 8, 64, false, 2.5, "not finite"},
          Measured{1, 9, 3.5},
          Reduced{1, 10},
          record(),
          Record{},
          Scale{9, 0.125},
          Commit{10},
          Fence{kLife},
          Forecast{9, {{kGradient, 0.25}, {{{3, 4}, 5}, 0.75}}, 0.5},
          Forecast{},
          PartSaved{1, 77, true, 0x1122334455667788, ""},
          PartSaved{1, 77, false, 0, "no space"}};
}

ServerView server_view() {
  return {5,
          2,
          4,
          500,
          {{{3, "one:7070"}, Host{4, "two:7070"}, true, 1}, {{5, "three:7070"}, {}, false, 0, true}},
          {{40, standing()}, {}},
          true};
}

std::vector<JobMessage> job_messages() {
  std::vector<JobMessage> all{
      Welcome{3, {"one:7070", "two:7070"}},
      Refusal{"another version"},
      Open{1, terms(), layout(), {{"model", "cnn"}, {"data", "digits"}}},
      Open{},
      Opened{1, true, 7},
      FirstValues{1, 2, true, 4096},
      FirstValuesDone{1},
      BlockValues{1, 2, 9},
      StepNews{3, 0.5, 12, 64, Fate::dropped, 2, 9, 1, 0.25, true},
      ChiefNow{},
      Concluded{},
      StopNow{"interrupted"},
      Leaving{"done", true, 1.5},
      AskAccount{},
      account(),
      Account{},
      Enclosed{"job-7", 5, Enclosed::Kind::says, "bytes"},
      Order{Order::Kind::remove, "job-7", true, 0x1122334455},
      Order{Order::Kind::drain, "", false, 0x1122334455, 3},
      OrderDone{0x1122334455, "it is in use"},
      OrderDone{0x1122334455, "", "runs/checkpoint-14"},
      Containers{{{"job-7", true, 2, 1000, 8000, 60, 40, 1.5}, {}}},
      Snapshot{1, 2, 60, layout(), {{"model", "cnn"}}},
      Piece{1, 40, 2, 3, 4096, 17},
      PiecesDone{1, 40, 3, standing()},
      PiecesDone{1, 40, 1, {}},
      PiecesHeld{1, 40},
      Muster{3, {{3, 1, 2, 4, 40, standing()}, {2, 0, 1, 4, 39, {}}}, true, "replica 1 is gone"},
      Elsewhere{4, "one:7070"},
      View{5, 4, 2, 1, {{2, "one:7070"}, {3, "two:7070"}}, {{40, standing(), {0, 0}, layout()}}},
      server_view(),
      ServerView{.number = 1, .shards = {{{3, "one:7070"}, {}}}},
      Attend{server_view(), 4, 2, {{3, 1, 2, 4, 40, standing()}}, 500, "server 1 is gone", 3},
      Attend{},
      BackupNews{5, 1, 77, 2, "it is gone"},
      Recall{5, "server 1 is gone"},
      AskServers{},
      AskServers{{{0, 1, 2, 4, 40, {}}}},
      Wanted{1, 40, 5},
      Mean{1, 40, 7, 0.5, 3},
      Filled{5}};
  for (auto& message : messages()) all.emplace_back(Post{1, kReplica, kShard, std::move(message)});
  return all;
}

JobMessage post(Message message) { return Post{1, kReplica, kShard, std::move(message)}; }

std::string hex(std::string_view bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

// --- there and back ---

TEST(CodecTest, EveryMessageComesBack) {
  std::set<std::size_t> kinds, posted;
  for (const auto& message : job_messages()) {
    kinds.insert(message.index());
    if (const auto* a_post = std::get_if<Post>(&message)) posted.insert(a_post->message.index());
    const auto back = decode(encode(message));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_TRUE(same(*back, message)) << "kind " << message.index();
    EXPECT_EQ(encode(*back), encode(message));
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<JobMessage>);
  EXPECT_EQ(posted.size(), std::variant_size_v<Message>);
}

TEST(CodecTest, AnIdentityComesBack) {
  for (const auto& one : {identity(), Identity{}, Identity{.role = Role::server, .id = 1, .shards = 2}}) {
    const auto back = decode_identity(encode_identity(one));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(*back, one);
  }
}

TEST(CodecTest, WhatIsOptionalStaysSo) {
  Open open{1, terms(), layout()};
  for (const std::optional<std::uint64_t> bound : {std::optional<std::uint64_t>{}, {0}, {5}}) {
    open.terms.stale.max_staleness = bound;
    open.terms.stale.max_lead = bound;
    const auto back = decode(encode(open));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(std::get<Open>(*back).terms.stale.max_staleness, bound);
    EXPECT_EQ(std::get<Open>(*back).terms.stale.max_lead, bound);
  }
  const auto back = decode(encode(post(Assign{kGradient, 5, Range{}})));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<Assign>(std::get<Post>(*back).message).range, Range{}) << "an empty range is one";
}

TEST(CodecTest, OfATicketOnlyWhetherThereIsOneTravels) {
  const auto back = decode(encode(post(Push{kGradient, 8, 4, 123'456, 64})));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<Push>(std::get<Post>(*back).message).ticket, 1U);
}

TEST(CodecTest, ADivergedModelIsNoCorruptMessage) {
  const auto news = decode(encode(StepNews{.loss = kNan, .right = kInfinite}));
  ASSERT_TRUE(news.ok());
  EXPECT_TRUE(std::isnan(std::get<StepNews>(*news).loss));
  EXPECT_TRUE(decode(encode(post(Report{.ok = false, .sum_squares = kInfinite, .reason = "not finite"}))).ok());
}

TEST(CodecTest, TextsNeedNotBeUtf8AndLongReasonsAreCut) {
  const auto odd = decode(encode(Refusal{std::string("\xff\xfe\0x", 4)}));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(std::get<Refusal>(*odd).reason, std::string("\xff\xfe\0x", 4));
  const auto cut = decode(encode(Refusal{std::string(100'000, 'x')}));
  ASSERT_TRUE(cut.ok());
  EXPECT_EQ(std::get<Refusal>(*cut).reason, std::string(65'536, 'x'));
}

// --- these bytes and no others ---

TEST(CodecTest, AnIdentityHasTheseBytes) {
  EXPECT_EQ(hex(encode_identity(identity())),
            "0801"                  // a replica
            "1003"                  // number 3 ...
            "1801"                  // ... and no other
            "2002"                  // shards
            "28d588cd919202"        // incarnation
            "3205302e312e30"        // "0.1.0"
            "3a036f6e65"            // "one"
            "40e724"                // process 4711
            "4a086f6e653a37303730"  // "one:7070"
            "5209"                  // the job's name:
            "6a6f622d372e615f62"    // "job-7.a_b"
            "58d488cd919202"        // its former life
            "6006"                  // view 6
  );
}

TEST(CodecTest, APushHasTheseBytes) {
  EXPECT_EQ(hex(encode(post(Push{kGradient, 8, 4, 1, 64}))),
            "4227"            // a post
            "0801"            // network 1
            "120408021003"    // from replica 3
            "1a0408011001"    // to shard 1
            "4a17"            // a push
            "0a0d"            // gradient
            "0a09"            // life
            "0803"            // replica 3
            "10d588cd919202"  // incarnation
            "104d"            // sequence 77
            "1008"            // base
            "1804"            // block
            "2001"            // it has a payload
            "2840"            // samples
  );
}

TEST(CodecTest, ARecordHasTheseBytes) {
  EXPECT_EQ(hex(encode(post(record()))),
            "42e501"                          // a post
            "08011204080210031a0408011001"    // network, from, to
            "7ad401"                          // a record
            "080c"                            // index 12
            "100a"                            // step 10
            "1a28"                            // applied
            "0a0d0a09080310d588cd919202104d"  // gradient
            "10081802"                        // base, staleness
            "2040"                            // samples
            "29000000000000e03f"              // weight 0.5
            "3208080210800518c005"            // range
            "1a19"                            // applied
            "0a080a04080410011005"            // gradient
            "10071803"                        // base, staleness
            "2020"                            // samples
            "29000000000000d03f"              // weight 0.25
            "2221"                            // turned away
            "0a0d0a09080310d588cd919202104d"  // gradient
            "1002"                            // refused
            "18092004"                        // version, staleness
            "2a0a6e6f742066696e697465"        // "not finite"
            "2216"                            // turned away
            "0a080a04080510021006"            // gradient
            "1001"                            // dropped
            "180a2001"                        // version, staleness
            "2a046c617465"                    // "late"
            "2802"                            // quorum
            "3001"                            // degraded
            "39000000000000e83f"              // rate 0.75
            "4001"                            // clip
            "4a0632206f662033"                // "2 of 3"
            "504d"
            "5a35"
            "0828"
            "108005"
            "1810"
            "2221"
            "0802"
            "1030"
            "1a06080110101820"
            "1a0408021810"
            "2205080110f004"
            "220408021020"
            "2801"
            "290000000000409440"
            "3003"  // mark 77
  );
}

TEST(CodecTest, AnOpenHasTheseBytes) {
  Open open{1, {}, {{{"w", {2, 3}, 0, false, false}}, {SGD{}}}};
  open.terms.stale.max_lead = 4;
  EXPECT_EQ(hex(encode(open)),
            "1a50"                // an open
            "0801"                // network 1
            "1234"                // terms
            "0801"                // sync
            "1001"                // replicas
            "2001"                // shards
            "2801"                // epochs
            "5212"                // schedule, constant
            "11000000000000f03f"  // step_epochs 1
            "199a9999999999b93f"  // step_gamma 0.1
            "5a0b"                // stale, apply
            "119a9999999999b93f"  // strength 0.1
            "2004"                // max_lead
            "7003"                // max_refusals
            "800101"              // seed
            "880101"              // shuffle
            "900101"              // min_replicas
            "1a16"                // layout
            "0a07"                // slot
            "0a0177"              // "w"
            "12020203"            // 2 x 3
            "120b"                // group
            "0a09"                // SGD
            "097b14ae47e17a843f"  // lr 0.01
  );
}

// --- nothing is trusted ---

void expect_refused(const std::string& bytes, std::string_view why) {
  const auto message = decode(bytes);
  ASSERT_FALSE(message.ok()) << "expected: " << why;
  EXPECT_EQ(message.error().code, Code::corrupt);
  EXPECT_NE(message.error().message.find(why), std::string::npos) << message.error().message;
}
void expect_refused(const JobMessage& message, std::string_view why) { expect_refused(encode(message), why); }

void expect_stranger(const Identity& one, std::string_view why) {
  const auto back = decode_identity(encode_identity(one));
  ASSERT_FALSE(back.ok()) << "expected: " << why;
  EXPECT_EQ(back.error().code, Code::corrupt);
  EXPECT_NE(back.error().message.find(why), std::string::npos) << back.error().message;
}

TEST(CodecTest, MissingPartsAreRefused) {
  using std::string_literals::operator""s;
  expect_refused(""s, "no known kind");
  expect_refused("\xa2\x06\x00"s, "no known kind");  // field 100
  expect_refused("\x1a\x00"s, "no terms");
  expect_refused("\x1a\x02\x12\x00"s, "no layout");
  expect_refused("\x1a\x04\x12\x00\x1a\x00"s, "no schedule");
  expect_refused("\x1a\x06\x12\x02\x52\x00\x1a\x00"s, "stale");
  expect_refused("\x42\x00"s, "from whom or to whom");
  expect_refused("\x42\x02\x12\x00"s, "from whom or to whom");
  expect_refused("\x42\x04\x12\x00\x1a\x00"s, "no message of a known kind");
  expect_refused("\x42\x06\x12\x00\x1a\x00\x2a\x00"s, "which gradient");
  expect_refused("\x42\x08\x12\x00\x1a\x00\x2a\x02\x0a\x00"s, "which life");
  expect_refused("\x42\x06\x12\x00\x1a\x00\x3a\x00"s, "no verdict");
  expect_refused("\x42\x06\x12\x00\x1a\x00\x52\x00"s, "which life");
}

TEST(CodecTest, NumbersThatNameNothingAreRefused) {
  expect_refused(StepNews{.fate = static_cast<Fate>(3)}, "no fate 3");
  expect_refused(StepNews{.fate = static_cast<Fate>(-1)}, "no fate -1");
  expect_refused(Order{.kind = static_cast<Order::Kind>(7)}, "no order 7");
  expect_refused(Order{.container = "../x"}, "the name of a container is none");
  expect_refused(Enclosed{.container = ".x"}, "the name of a container is none");
  expect_refused(Post{0, {static_cast<Address::Role>(3), 0}, kShard, Commit{}}, "no role 3");
  expect_refused(Post{0, kReplica, {Address::Role::sequencer, 1}, Commit{}}, "the number in an address is 1");
  expect_refused(Post{0, kReplica, shard_at(4096), Commit{}}, "the number in an address is 4096");
  expect_refused(StepNews{.replica = 4096}, "a replica's number is 4096");
  expect_refused(post(Pull{{4096, 1}, 0}), "a replica's number is 4096");
  expect_refused(post(Reduced{4096, 0}), "a shard's number is 4096");
  expect_refused(post(Hello{kLife, 100, 0}), "a batch has no samples");
  expect_refused(post(Assign{kGradient, 5, Range{0, 2, 1}}), "a range ends before it begins");
}

TEST(CodecTest, WhatIsNotFiniteIsRefused) {
  expect_refused(post(Scale{1, kNan}), "the factor of a scale is nan");
  expect_refused(post(Measured{0, 1, kInfinite}), "a sum of squares is inf");
  expect_refused(post(Report{.ok = true, .sum_squares = kNan}), "a sum of squares is nan");
  expect_refused(post(Record{.rate = kInfinite}), "the factor on the learning rate is inf");
  expect_refused(post(Record{.applied = {{.weight = -kInfinite}}}), "the weight of a gradient is -inf");
  expect_refused(StepNews{.work_seconds = kInfinite}, "the time of a step is inf");
  expect_refused(Account{.strategy = static_cast<Strategy>(9)}, "no strategy 9");
  expect_refused(Account{.steps_per_second = kNan}, "steps per second is nan");
  expect_refused(Open{1, {}, {{}, {SGD{.lr = kNan}}}}, "SGD's lr is nan");
  expect_refused(Open{1, {}, {{}, {Average{}, AdamW{.eps = kInfinite}}}}, "Adam's eps is inf");
}

// Terms with one thing changed.
template <class Change>
JobMessage open_with(Change change) {
  Open open{1, terms(), layout()};
  change(open);
  return open;
}

TEST(CodecTest, TermsThatMakeNoSenseAreRefused) {
  expect_refused(open_with([](Open& o) { o.terms.strategy = static_cast<Strategy>(9); }), "no strategy 9");
  expect_refused(open_with([](Open& o) { o.terms.replicas = 0; }), "the number of replicas is 0");
  expect_refused(open_with([](Open& o) { o.terms.replicas = 4097; }), "the number of replicas is 4097");
  expect_refused(open_with([](Open& o) { o.terms.spares = 4097; }), "the number of spares is 4097");
  expect_refused(open_with([](Open& o) { o.terms.shards = 0; }), "the number of shards is 0");
  expect_refused(open_with([](Open& o) { o.terms.batch_schedule = {{0, 0}}; }), "a batch has no samples");
  expect_refused(open_with([](Open& o) { o.terms.batch_schedule.resize(65'537); }), "65537 changes of the batch");
  expect_refused(open_with([](Open& o) { o.terms.schedule.kind = ScheduleOptions::Kind(3); }), "no schedule 3");
  expect_refused(open_with([](Open& o) { o.terms.schedule.floor = kNan; }), "floor is nan");
  expect_refused(open_with([](Open& o) { o.terms.stale.policy = static_cast<Stale>(4); }), "no policy");
  expect_refused(open_with([](Open& o) { o.terms.stale.strength = kInfinite; }), "strength");
  expect_refused(open_with([](Open& o) { o.terms.optimizer_state = OptimizerState(2); }), "optimizer's state 2");
  expect_refused(open_with([](Open& o) { o.terms.clip_norm = kNan; }), "the norm to clip to is nan");
}

TEST(CodecTest, LayoutsThatMakeNoSenseAreRefused) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const auto shaped = [](std::vector<std::int64_t> shape) {
    return open_with([&](Open& o) { o.layout.slots.at(0).shape = shape; });
  };
  EXPECT_TRUE(decode(encode(shaped({kHuge / 2}))).ok());
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {-1}, {3, -3, 0}, {kHuge}, {kHuge / 2, 2}, {kHuge, 0}, {0, kHuge}, {1 << 30, 1 << 30, 1 << 30, 1 << 30}})
    expect_refused(shaped(shape), "the shape of slot conv.weight makes no sense");
  expect_refused(
      open_with([](Open& o) { o.layout.slots[0].shape = {kHuge / 2}, o.layout.slots[1].shape = {kHuge / 2}; }),
      "the number of a network's values is 10995");
  expect_refused(shaped(std::vector<std::int64_t>(65, 1)), "dimensions is 65");
  expect_refused(open_with([](Open& o) { o.layout.slots[1].group = 6; }), "slot conv.mean is in group 6 of 6");
  expect_refused(open_with([](Open& o) { o.layout.groups.clear(); }), "slot conv.weight is in group 1 of 0");
  expect_refused(open_with([](Open& o) { o.layout.slots[0].name.resize(4097); }), "has 4097 bytes, the limit is 4096");
  expect_refused(open_with([](Open& o) { o.layout.slots = std::vector<Slot>(1'000'001); }), "1000001 slots");
  expect_refused(open_with([](Open& o) { o.layout.groups.resize(65'537); }), "65537 parameter groups");
  using std::string_literals::operator""s;
  // A layout with one optimizer of no kind.
  expect_refused("\x1a\x0e\x12\x08\x10\x01\x20\x01\x52\x00\x5a\x00\x1a\x02\x12\x00"s, "no optimizer of a known kind");
}

TEST(CodecTest, ListsAndTextsHaveLimits) {
  expect_refused(Welcome{0, std::vector<std::string>(4097)}, "4097 servers");
  const auto half = encode(Welcome{0, std::vector<std::string>(3000)});  // halves of a message are put together
  expect_refused(half + half, "6000 servers");
  expect_refused(Welcome{0, {std::string(4097, 'x')}}, "an address has 4097 bytes");
  expect_refused(post(Record{.applied = std::vector<Contribution>(4097)}), "4097 gradients in one update");
  expect_refused(post(Record{.turned_away = std::vector<Verdict>(65'537)}), "65537 gradients turned away");
  expect_refused(post(Record{.quorum = 4097}), "a quorum is 4097");
  expect_refused(Account{.staleness = std::vector<std::uint64_t>(1'000'001)}, "the length of the histogram is 1000001");
  expect_refused(Account{.replicas = std::vector<ReplicaAccount>(4097)}, "4097 replicas");
  expect_refused(Account{.servers = std::vector<ServerAccount>(4097)}, "4097 servers");
  expect_refused(Open{.about = {{"model", std::string((1u << 20) + 1, 'x')}}}, "what is said about a model");
  expect_refused(Containers{std::vector<ContainerAccount>(4097)}, "4097 containers");
  expect_refused(std::string(kMaxControl + 1, '\0'), "16777217 bytes, the limit is 16777216");
}

TEST(CodecTest, StrangeIdentitiesAreRefused) {
  expect_stranger({.role = static_cast<Role>(6)}, "no role 6");
  expect_stranger({.role = Role::replica, .id = 4096}, "is 4096");
  expect_stranger({.role = Role::server, .id = 2, .shards = 2}, "none of the job's");
  expect_stranger({.role = Role::server, .id = 2, .shards = 4097}, "shards is 4097");
  expect_stranger({.host = std::string(1024, 'x')}, "the limit is 816");
  for (const auto* name : {"..", "a/b", "-x", "a b"}) expect_stranger({.job = name}, "the job's name is none");
  EXPECT_FALSE(decode_identity("GET / HTTP/1.1\r\n").ok());
}

// Whatever is made of these bytes, it is something that can be sent.
void expect_harmless(std::string_view bytes) {
  const auto back = decode(bytes);
  if (!back) return;
  const auto once = encode(*back);
  const auto again = decode(once);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(encode(*again), once);
}

TEST(CodecTest, NoPartOfAMessageDoesHarm) {
  for (const auto& message : job_messages()) {
    const auto bytes = encode(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      // On the heap and of its own size, so that a sanitizer sees what is read behind it.
      const std::vector<char> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
      expect_harmless({part.data(), part.size()});
    }
  }
  const auto bytes = encode_identity(identity());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<char> part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto back = decode_identity({part.data(), part.size()});
    if (back) {
      EXPECT_EQ(*decode_identity(encode_identity(*back)), *back);
    }
  }
}

TEST(CodecTest, AChangedByteDoesNoHarm) {
  for (const auto& message : job_messages()) {
    const auto bytes = encode(message);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int value : {0, 1, 0x7f, 0x80, 0xff, bytes[at] ^ 1, bytes[at] ^ 8, bytes[at] ^ 64}) {
        auto changed = bytes;
        changed[at] = static_cast<char>(value);
        expect_harmless(changed);
      }
    }
  }
}

}  // namespace
}  // namespace yoke::wire
