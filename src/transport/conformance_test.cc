// What every connection promises (connection.h), over each of the ways.
#include "transport/conformance.h"

namespace yoke::transport {
namespace {

constexpr std::size_t kMiB = 1u << 20;

class Conformance : public ::testing::TestWithParam<Way> {
 protected:
  bool hands_over() const { return GetParam() == Way::inproc || GetParam() == Way::shm; }
};

INSTANTIATE_TEST_SUITE_P(Ways, Conformance,
                         ::testing::Values(Way::inproc, Way::shm, Way::unix_socket, Way::tcp, Way::tls), case_name);

TEST_P(Conformance, IntroductionsReachBothSides) {
  Settings settings;
  settings.incarnation = 42;
  Pair pair(GetParam(), settings);
  pair.connect();
  EXPECT_EQ(pair.first.heard().introductions.at(0).second, "second");
  EXPECT_EQ(pair.second.heard().introductions.at(0).second, "first");
  pair.first.send(pair.to_second, "hello");
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
  EXPECT_EQ(pair.second.heard().messages[0].control, "hello");
  EXPECT_EQ(pair.second.heard().messages[0].incarnation, 42U);
}

TEST_P(Conformance, WhatIsSentAtOnceComesAfterTheIntroduction) {
  Pair pair(GetParam());
  const auto greet = [](Connection& connection) {
    connection.grant(1);
    connection.send("first words");
  };
  pair.first.during_up = pair.second.during_up = greet;
  pair.connect();
  for (auto* end : {&pair.first, &pair.second}) {
    EXPECT_TRUE(end->wait([](const Heard& heard) { return heard.messages.size() == 1; }));
    EXPECT_TRUE(end->heard().downs.empty());
  }
}

TEST_P(Conformance, AGrantBeforeTheFirstTurnDoesNotOvertakeTheIntroduction) {
  if (GetParam() == Way::inproc) GTEST_SKIP() << "there is no dialling";
  Folder folder;
  End server("server", settings_for(GetParam())), client("client", settings_for(GetParam()));
  const auto address = server.listen(folder.address(GetParam()));
  const auto fd = dial(address, {}, kPatience);
  ASSERT_TRUE(fd);
  client.run([&] { adopt(client.loop(), *fd, address, client.settings, client)->grant(kMiB); });
  server.connection_to("client");
  EXPECT_TRUE(server.heard().downs.empty());
}

TEST_P(Conformance, MessagesComeInOrderBothWaysAtOnce) {
  Pair pair(GetParam());
  pair.connect();
  constexpr std::size_t kMessages = 300;
  const auto send_all = [&](End& end, const ConnectionPtr& connection, std::uint64_t seed) {
    end.run([&] {
      for (std::size_t i = 0; i < kMessages; ++i) {
        Bytes payload;
        if (i % 3 != 0)
          payload = payload_of(random_bytes(i * 211, seed + i), i % 3 == 1 ? end.settings.arena.get() : nullptr);
        end.send_here(*connection, std::to_string(i), std::move(payload));
      }
    });
  };
  send_all(pair.first, pair.to_second, 1000);
  send_all(pair.second, pair.to_first, 2000);
  for (auto* end : {&pair.first, &pair.second}) {
    ASSERT_TRUE(end->wait(
        [](const Heard& heard) { return heard.messages.size() == kMessages && heard.completed == kMessages; }));
    const auto heard = end->heard();
    for (std::size_t i = 0; i < kMessages; ++i) {
      EXPECT_EQ(heard.messages[i].control, std::to_string(i));
      const auto seed = end == &pair.first ? 2000 : 1000;
      EXPECT_EQ(heard.messages[i].payload, random_bytes(i % 3 != 0 ? i * 211 : 0, seed + i)) << i;
      EXPECT_EQ(heard.sends[i], std::vector{true}) << i;
    }
  }
}

TEST_P(Conformance, TenThousandSmallMessages) {
  Pair pair(GetParam());
  pair.connect();
  constexpr std::size_t kMessages = 10'000;
  pair.first.run([&] {
    for (std::size_t i = 0; i < kMessages; ++i) pair.first.send_here(*pair.to_second, std::to_string(i));
  });
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == kMessages; }));
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.completed == kMessages; }));
  const auto messages = pair.second.heard().messages;
  for (std::size_t i = 0; i < kMessages; ++i) ASSERT_EQ(messages[i].control, std::to_string(i));
  for (const auto& send : pair.first.heard().sends) ASSERT_EQ(send, std::vector{true});
}

TEST_P(Conformance, PayloadsOfAllSizesArriveAsTheyWere) {
  const std::size_t sizes[] = {1,     2,     3,       63,       64,   65,       4095,         4096,     65535,
                               65536, 65537, 1 << 19, kMiB - 1, kMiB, kMiB + 1, 5 * kMiB + 3, 16 * kMiB};
  for (const auto take : {End::Take::borrow, End::Take::into}) {
    Pair pair(GetParam());
    pair.second.take = take;
    pair.connect();
    std::size_t count = 0;
    for (const auto size : sizes) {
      for (auto* arena : {pair.arena(), static_cast<Arena*>(nullptr)}) {
        const auto bytes = random_bytes(size, size + 7);
        // A control part of a size that leaves the payload at no round place of the stream.
        pair.first.send(pair.to_second, std::string(size % 97, 'c'), payload_of(bytes, arena));
        ++count;
        ASSERT_TRUE(pair.second.wait([&](const Heard& heard) { return heard.messages.size() == count; })) << size;
        pair.second.wait([&](const Heard& heard) {
          EXPECT_EQ(heard.messages.back().control, std::string(size % 97, 'c'));
          EXPECT_TRUE(heard.messages.back().payload == bytes) << size;
          return true;
        });
      }
    }
    EXPECT_TRUE(pair.first.wait([&](const Heard& heard) { return heard.completed == count; }));
    for (const auto& send : pair.first.heard().sends) EXPECT_EQ(send, std::vector{true});
  }
}

TEST_P(Conformance, AReceiverThatHoldsPayloadsStopsTheSender) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  constexpr std::size_t kPayloads = 40, kFirst = kFirstCredit / kMiB;
  pair.first.run([&] {
    for (std::size_t i = 0; i < kPayloads; ++i)
      pair.first.send_here(*pair.to_second, std::to_string(i), payload_of(random_bytes(kMiB, i), pair.arena()));
  });
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == kFirst; }));
  // One more for each that is let go, and never more at once than was granted.
  for (std::size_t i = kFirst; i < kPayloads; ++i) {
    pair.second.let_go(1);
    ASSERT_TRUE(pair.second.wait([&](const Heard& heard) { return heard.messages.size() == i + 1; }));
  }
  pair.second.let_go();
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.completed == kPayloads; }));
  const auto heard = pair.second.heard();
  EXPECT_EQ(heard.most_held, kFirstCredit);
  EXPECT_TRUE(heard.downs.empty());
  for (std::size_t i = 0; i < kPayloads; ++i) EXPECT_TRUE(heard.messages[i].payload == random_bytes(kMiB, i));
  if (!hands_over()) {
    EXPECT_LE(heard.places.size(), kFirst + 1) << "memory is used again";
  }
}

TEST_P(Conformance, ASendIsNotDoneWhileTheReceiverLooksAtItsBytes) {
  if (!hands_over()) GTEST_SKIP() << "the bytes are copied";
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  const auto number = pair.first.send(pair.to_second, "", payload_of(random_bytes(100, 1), pair.arena()));
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
  // What is sent back has gone the whole way round.
  pair.second.send(pair.to_first, "seen");
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
  EXPECT_TRUE(pair.first.heard().sends[number].empty());
  pair.second.let_go();
  EXPECT_TRUE(pair.first.wait([&](const Heard& heard) { return heard.sends[number] == std::vector{true}; }));
}

TEST_P(Conformance, OnePayloadMayAlwaysGo) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  const auto large = random_bytes(2 * kFirstCredit, 3);
  pair.first.send(pair.to_second, "large", payload_of(large, pair.arena()));
  pair.first.send(pair.to_second, "small", payload_of(random_bytes(10, 4), pair.arena()));
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
  pair.second.let_go();
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 2; }));
  EXPECT_EQ(pair.second.heard().most_held, large.size()) << "the small one waited for the large one";
  EXPECT_TRUE(pair.second.heard().messages[0].payload == large);
}

TEST_P(Conformance, MoreCanBeGranted) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  pair.second.run([&] { pair.to_first->grant(3 * kMiB); });
  constexpr std::size_t kPayloads = kFirstCredit / kMiB + 3;
  pair.first.run([&] {
    for (std::size_t i = 0; i < kPayloads + 1; ++i)
      pair.first.send_here(*pair.to_second, "", payload_of(random_bytes(kMiB, i), pair.arena()));
  });
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == kPayloads; }));
  pair.second.let_go();
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == kPayloads + 1; }));
  EXPECT_EQ(pair.second.heard().most_held, kPayloads * kMiB);
}

TEST_P(Conformance, ASendCompletesOnceWheneverItIsClosed) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  const auto before = pair.first.send(pair.to_second, "done");
  ASSERT_TRUE(pair.first.wait([&](const Heard& heard) { return heard.sends[before].size() == 1; }));
  std::vector<std::size_t> during, after;
  pair.first.run([&] {
    for (int i = 0; i < 20; ++i)
      during.push_back(pair.first.send_here(*pair.to_second, "", payload_of(random_bytes(kMiB, 1), pair.arena())));
  });
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 5; }));
  pair.first.run([&] {
    pair.to_second->close("enough");
    after.push_back(pair.first.send_here(*pair.to_second, "late"));
    after.push_back(pair.first.send_here(*pair.to_second, "", payload_of(random_bytes(10, 1), pair.arena())));
    pair.to_second->close("twice");
    pair.to_second->finish("and differently");
    pair.to_second->grant(1);
  });
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.completed == 23 && heard.downs.size() == 1; }));
  pair.second.let_go();
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  // Both loops have turned once more.
  pair.second.run([] {});
  pair.first.run([] {});
  const auto heard = pair.first.heard();
  EXPECT_EQ(heard.sends[before], std::vector{true});
  for (const auto send : during) EXPECT_EQ(heard.sends[send].size(), 1U);
  EXPECT_EQ(heard.sends[during.back()], std::vector{false});
  for (const auto send : after) EXPECT_EQ(heard.sends[send], std::vector{false});
  EXPECT_EQ(heard.downs.size(), 1U);
  EXPECT_EQ(heard.downs[0].failure.kind, Down::local);
  EXPECT_EQ(heard.downs[0].failure.text, "enough");
}

TEST_P(Conformance, TheOtherSideOfACloseHearsOfItOnceAndLast) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  pair.first.run([&] {
    for (int i = 0; i < 20; ++i)
      pair.first.send_here(*pair.to_second, "", payload_of(random_bytes(kMiB, 1), pair.arena()));
  });
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 4; }));
  pair.second.run([&] { pair.to_first->close("enough"); });
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  const auto heard = pair.first.heard();
  EXPECT_EQ(heard.completed, 20U) << "before the end is told";
  for (const auto& send : heard.sends) EXPECT_EQ(send.size(), 1U);
  EXPECT_EQ(heard.sends.back(), std::vector{false});
  EXPECT_EQ(heard.downs[0].failure.kind, Down::closed);
  EXPECT_NE(heard.downs[0].failure.text.find("second"), std::string::npos) << heard.downs[0].failure.text;
  // The bytes that the second end holds are still what they were.
  for (const auto& payload : pair.second.take_held())
    EXPECT_TRUE(std::ranges::equal(payload.bytes, random_bytes(kMiB, 1)));
  pair.first.run([] {});
  EXPECT_EQ(pair.first.heard().downs.size(), 1U);
  EXPECT_EQ(pair.first.heard().after_the_end, 0U);
}

TEST_P(Conformance, FinishDeliversAllThatWasSentBefore) {
  for (const auto size : {std::size_t{100}, kMiB, 16 * kMiB}) {
    Pair pair(GetParam());
    pair.connect();
    const std::size_t count = size > kMiB ? 3 : 50;
    pair.first.run([&] {
      for (std::size_t i = 0; i < count; ++i)
        pair.first.send_here(*pair.to_second, std::to_string(i),
                             payload_of(random_bytes(size, i), i % 2 ? pair.arena() : nullptr));
      pair.to_second->finish("done");
      pair.first.send_here(*pair.to_second, "too late");
    });
    ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
    const auto heard = pair.second.heard();
    ASSERT_EQ(heard.messages.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_TRUE(heard.messages[i].payload == random_bytes(size, i));
    EXPECT_EQ(heard.downs[0].failure.kind, Down::closed);
    EXPECT_NE(heard.downs[0].failure.text.find("first"), std::string::npos);
    ASSERT_TRUE(pair.first.wait([](const Heard& mine) { return mine.downs.size() == 1; }));
    EXPECT_EQ(pair.first.heard().downs[0].failure.kind, Down::local);
    EXPECT_EQ(pair.first.heard().downs[0].failure.text, "done");
    EXPECT_EQ(pair.first.heard().completed, count + 1);
    EXPECT_EQ(pair.first.heard().sends.back(), std::vector{false});
  }
}

TEST_P(Conformance, BothMayFinishAtOnce) {
  Pair pair(GetParam());
  pair.connect();
  pair.first.run([&] {
    pair.first.send_here(*pair.to_second, "", payload_of(random_bytes(3 * kMiB, 1), nullptr));
    pair.to_second->finish("done");
  });
  pair.second.run([&] {
    pair.second.send_here(*pair.to_first, "", payload_of(random_bytes(3 * kMiB, 1), nullptr));
    pair.to_first->finish("done");
  });
  for (auto* end : {&pair.first, &pair.second}) {
    ASSERT_TRUE(end->wait([](const Heard& heard) { return heard.downs.size() == 1 && heard.completed == 1; }));
    end->run([] {});
    EXPECT_EQ(end->heard().sends[0].size(), 1U);
  }
}

TEST_P(Conformance, HeartbeatsTellTheProgress) {
  std::atomic<std::uint64_t> progress = 17;
  Settings settings;
  settings.heartbeat = std::chrono::milliseconds(5);
  settings.progress = &progress;
  Pair pair(GetParam(), settings);
  pair.connect();
  const auto comes = [&](std::uint64_t value) {
    const auto give_up = Loop::now() + kPatience;
    for (std::uint64_t seen = 0; Loop::now() < give_up;) {
      pair.second.run([&] { seen = pair.to_first->peer_progress(); });
      if (seen == value) return true;
    }
    return false;
  };
  EXPECT_TRUE(comes(17));
  progress = 18;
  EXPECT_TRUE(comes(18));
  Time heard_at{};
  pair.second.run([&] { heard_at = pair.to_first->last_heard(); });
  EXPECT_LE(heard_at, Loop::now());
}

TEST_P(Conformance, QuietConnectionsStayUp) {
  Settings settings;
  settings.heartbeat = std::chrono::milliseconds(20);
  settings.silence = std::chrono::milliseconds(700);
  Pair pair(GetParam(), settings);
  pair.connect();
  std::promise<void> later;  // twice as long as silence may last
  pair.first.run([&] { pair.first.loop().after(2 * settings.silence, [&] { later.set_value(); }); });
  later.get_future().wait();
  EXPECT_TRUE(pair.first.heard().downs.empty());
  EXPECT_TRUE(pair.second.heard().downs.empty());
}

TEST_P(Conformance, ARefusedPayloadClosesTheConnection) {
  for (const auto take : {End::Take::refuse, End::Take::wrong_size}) {
    Pair pair(GetParam());
    pair.second.take = take;
    pair.connect();
    pair.first.send(pair.to_second, "", payload_of(random_bytes(1000, 1), pair.arena()));
    ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
    EXPECT_EQ(pair.second.heard().downs[0].failure.kind, Down::protocol_error);
    EXPECT_TRUE(pair.second.heard().messages.empty());
    ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
    EXPECT_EQ(pair.first.heard().downs[0].failure.kind, Down::closed);
  }
}

TEST_P(Conformance, MayBeClosedFromWithinAnyCallback) {
  using Hook = std::function<void(Connection&)> End::*;
  for (const Hook hook : {&End::during_up, &End::during_announcement, &End::during_message}) {
    Pair pair(GetParam());
    pair.second.*hook = [](Connection& connection) {
      connection.close("in a callback");
      connection.send("nothing");
    };
    pair.first.during_up = [&](Connection& connection) {
      for (int i = 0; i < 3; ++i) pair.first.send_here(connection, "", payload_of(random_bytes(1000, 1), pair.arena()));
    };
    pair.connect();
    for (auto* end : {&pair.first, &pair.second}) {
      ASSERT_TRUE(end->wait([](const Heard& heard) { return heard.downs.size() == 1; }));
      EXPECT_EQ(end->heard().after_the_end, 0U);
      for (const auto& send : end->heard().sends) EXPECT_EQ(send.size(), 1U);
    }
  }
}

TEST_P(Conformance, APayloadOutlivesItsConnectionAndTheLoops) {
  std::vector<Bytes> held;
  {
    Pair pair(GetParam());
    pair.second.take = End::Take::hold;
    pair.connect();
    for (auto* arena : {pair.arena(), static_cast<Arena*>(nullptr)})
      pair.first.send(pair.to_second, "", payload_of(random_bytes(kMiB, 5), arena));
    ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 2; }));
    pair.first.run([&] { pair.to_second->close("enough"); });
    ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
    held = pair.second.take_held();
  }
  ASSERT_EQ(held.size(), 2U);
  for (const auto& payload : held) EXPECT_TRUE(std::ranges::equal(payload.bytes, random_bytes(kMiB, 5)));
}

TEST_P(Conformance, WhatTheOtherSideMayStillReadIsNotHandedOutAgainAtOnce) {
  Pair pair(GetParam());
  pair.second.take = End::Take::hold;
  pair.connect();
  pair.first.send(pair.to_second, "", payload_of(random_bytes(kMiB, 5), pair.arena()));
  ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
  pair.first.run([&] { pair.to_second->close("enough"); });
  ASSERT_TRUE(pair.first.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  for (std::uint64_t i = 0; i < 10; ++i) payload_of(random_bytes(kMiB, 100 + i), pair.arena());
  EXPECT_TRUE(std::ranges::equal(pair.second.take_held().at(0).bytes, random_bytes(kMiB, 5)));
}

TEST_P(Conformance, LoopsMayEndBeforeTheirConnections) {
  ConnectionPtr left;
  std::vector<Bytes> held;
  {
    Pair pair(GetParam());
    pair.second.take = End::Take::hold;
    pair.connect();
    pair.first.send(pair.to_second, "", payload_of(random_bytes(kMiB, 5), pair.arena()));
    ASSERT_TRUE(pair.second.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
    held = pair.second.take_held();
    left = pair.to_first;
  }
  EXPECT_TRUE(std::ranges::equal(held.at(0).bytes, random_bytes(kMiB, 5)));
}

}  // namespace
}  // namespace yoke::transport
