#include "transport/credit.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/hash.h"

namespace yoke::transport {
namespace {

TEST(Credit, TheSenderStopsWhereTheReceiverWouldRefuse) {
  SendCredit<int> sender;
  ReceiveCredit receiver;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;  // sequence, bytes
  std::uint64_t held = 0, granted = kFirstCredit;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    const auto bytes = mix(1, i) % (kFirstCredit / 2) + 1;
    if (sender.may_send(bytes)) {
      ASSERT_TRUE(receiver.take(bytes));
      out.emplace_back(sender.start(bytes, static_cast<int>(bytes)), bytes);
      held += bytes;
      ASSERT_TRUE(held <= granted || out.size() == 1);
    } else {
      ASSERT_FALSE(receiver.take(bytes)) << "both keep the same books";
    }
    if (mix(2, i) % 3 == 0 && !out.empty()) {
      const auto which = mix(3, i) % out.size();
      int kept = 0;
      receiver.give_back(out[which].second);
      ASSERT_TRUE(sender.give_back(out[which].first, kept));
      EXPECT_EQ(kept, static_cast<int>(out[which].second));
      held -= out[which].second;
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
    }
    if (mix(4, i) % 1000 == 0) {
      sender.grant(1000);
      receiver.grant(1000);
      granted += 1000;
    }
  }
}

TEST(Credit, OneMayAlwaysGo) {
  SendCredit<int> sender;
  ReceiveCredit receiver;
  EXPECT_TRUE(sender.may_send(kFirstCredit * 100));
  EXPECT_TRUE(receiver.take(kFirstCredit * 100));
  sender.start(kFirstCredit * 100, 0);
  EXPECT_FALSE(sender.may_send(1));
  EXPECT_FALSE(receiver.take(1));
}

TEST(Credit, APayloadIsGivenBackOnce) {
  SendCredit<int> sender;
  const auto sequence = sender.start(10, 7);
  int kept = 0;
  EXPECT_FALSE(sender.give_back(sequence + 1, kept));
  EXPECT_TRUE(sender.give_back(sequence, kept));
  EXPECT_FALSE(sender.give_back(sequence, kept));
}

TEST(Credit, AGrantThatIsTooLargeIsAllThereIs) {
  SendCredit<int> sender;
  sender.grant(~std::uint64_t{0});
  sender.start(1, 0);
  EXPECT_TRUE(sender.may_send(~std::uint64_t{0} - 1));
}

TEST(Credit, AllThatIsKeptComesOutInOrder) {
  SendCredit<int> sender;
  for (int i = 0; i < 5; ++i) sender.start(1, i);
  std::vector<int> all;
  sender.take_all([&](int kept) { all.push_back(kept); });
  EXPECT_EQ(all, (std::vector{0, 1, 2, 3, 4}));
  sender.take_all([&](int) { FAIL(); });
}

}  // namespace
}  // namespace yoke::transport
