#include "wire/frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

#include "wire/checksum.h"

namespace yoke::wire {
namespace {

const FrameHead kHead{.kind = FrameKind::message,
                      .in_region = true,
                      .incarnation = 0x0102030405060708,
                      .sequence = 9,
                      .clock = 1'700'000'000'000'000'000,
                      .control = 44,
                      .region = 3,
                      .offset = 4096,
                      .payload = 1 << 20};

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

// One byte changed, and the checksum made to fit: as a peer would send it that means it.
HeadBytes with(const FrameHead& head, std::size_t at, std::uint8_t value) {
  auto bytes = encode_head(head);
  bytes[at] = static_cast<std::byte>(value);
  Checksum checksum;
  checksum.add(std::span(bytes).first(60));
  for (std::size_t i = 0; i < 4; ++i) bytes[60 + i] = static_cast<std::byte>(checksum.value() >> (8 * i));
  return bytes;
}

void expect_refused(const HeadBytes& bytes, std::string_view why) {
  const auto head = decode_head(bytes);
  ASSERT_FALSE(head.ok()) << "expected: " << why;
  EXPECT_EQ(head.error().code, Code::corrupt);
  EXPECT_NE(head.error().message.find(why), std::string::npos) << head.error().message;
}

void expect_back(const FrameHead& head) {
  const auto back = decode_head(encode_head(head));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, head);
}

TEST(FrameTest, TheHeadHasTheseBytes) {
  EXPECT_EQ(hex(encode_head(kHead)),
            "594f4b45"          // "YOKE"
            "0200"              // version
            "02"                // a message
            "01"                // whose payload lies in a region
            "0807060504030201"  // incarnation
            "0900000000000000"  // sequence
            "00002a36fe9c9717"  // clock
            "2c000000"          // control
            "03000000"          // region
            "0010000000000000"  // offset
            "0000100000000000"  // payload
            "00000000"          // reserved
            "be5fffd1");        // checksum
}

TEST(FrameTest, HeadsOfAllKindsComeBack) {
  expect_back(kHead);
  for (std::uint8_t kind = 1; kind <= kLastKind; ++kind) expect_back({.kind = static_cast<FrameKind>(kind)});
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  expect_back({.incarnation = kMost,
               .sequence = kMost,
               .clock = kMost,
               .control = kMaxControl,
               .region = std::numeric_limits<std::uint32_t>::max(),
               .offset = kMost,
               .payload = kMaxPayload});
  expect_back({.kind = FrameKind::region, .payload = kMost});
}

TEST(FrameTest, AFlippedBitIsRefusedWhereverItIs) {
  const auto good = encode_head(kHead);
  for (std::size_t bit = 0; bit < 8 * kHeadSize; ++bit) {
    auto bytes = good;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto head = decode_head(bytes);
    ASSERT_FALSE(head.ok()) << "bit " << bit;
    EXPECT_EQ(head.error().code, Code::corrupt);
  }
}

TEST(FrameTest, SaysWhatIsWrongWithAHead) {
  expect_refused(HeadBytes{}, "no Yoke peer");
  expect_refused(with(kHead, 0, 'G'), "no Yoke peer");
  expect_refused(with(kHead, 4, 7), "speaks frame version 7, this program 2");
  expect_refused(with(kHead, 5, 1), "speaks frame version 258, this program 2");
  expect_refused(with(kHead, 6, 0), "no frame of kind 0");
  expect_refused(with(kHead, 6, kLastKind + 1), "no frame of kind 9");
  expect_refused(with(kHead, 7, 2), "unknown flags: 2");
  expect_refused(with(kHead, 7, 0x81), "unknown flags: 129");
  expect_refused(with(kHead, 56, 1), "reserved");
  expect_refused(with(kHead, 59, 128), "reserved");
  auto damaged = encode_head(kHead);
  damaged[20] = std::byte{1};
  expect_refused(damaged, "checksum");
}

TEST(FrameTest, HoldsAHeadToTheLimits) {
  expect_refused(encode_head({.control = kMaxControl + 1}),
                 "a control part of 16777217 bytes is announced, the limit is 16777216");
  expect_refused(encode_head({.kind = FrameKind::region, .control = kMaxControl + 1}), "a control part of");
  expect_refused(encode_head({.sequence = 1, .payload = kMaxPayload + 1}),
                 "a payload of 67108865 bytes is announced, the limit is 67108864");
  expect_refused(encode_head({.sequence = 1, .payload = std::numeric_limits<std::uint64_t>::max()}), "a payload of");
  expect_refused(encode_head({.sequence = 0, .payload = 1}), "without a sequence number");
}

}  // namespace
}  // namespace yoke::wire
