// Peers that do what they may not, by hand on a socket: each loses its own connection, and nobody else notices.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "transport/conformance.h"
#include "transport/handshake.h"
#include "wire/checksum.h"
#include "wire/frame.h"

namespace yoke::transport {
namespace {

using wire::FrameHead;
using wire::FrameKind;

// A frame as it lies on the wire.
struct Raw {
  FrameHead head;
  std::string control;
  std::vector<std::byte> payload;  // on the socket

  std::vector<std::byte> bytes() const {
    const auto encoded = wire::encode_head(head);
    std::vector<std::byte> all(encoded.begin(), encoded.end());
    wire::Checksum sum;
    const auto words = std::as_bytes(std::span(control));
    sum.add(words);
    sum.add(payload);
    all.insert(all.end(), words.begin(), words.end());
    all.insert(all.end(), payload.begin(), payload.end());
    for (int i = 0; i < 8; ++i) all.push_back(static_cast<std::byte>(sum.value() >> (8 * i)));
    return all;
  }
};

constexpr std::uint64_t kLife = 5;

Raw introduction(const std::string& words = "raw") {
  Raw raw;
  raw.head.kind = FrameKind::introduce;
  raw.head.incarnation = kLife;
  raw.head.control = static_cast<std::uint32_t>(words.size());
  raw.control = words;
  return raw;
}

Raw message(std::size_t payload, std::uint64_t sequence = 1) {
  Raw raw;
  raw.head.incarnation = kLife;
  raw.head.payload = payload;
  raw.head.sequence = payload > 0 ? sequence : 0;
  raw.payload = random_bytes(payload, sequence);
  return raw;
}

Raw of_kind(FrameKind kind) {
  Raw raw;
  raw.head.kind = kind;
  raw.head.incarnation = kLife;
  return raw;
}

class RawPeer {
 public:
  explicit RawPeer(const Address& address) {
    auto fd = dial(address, {}, kPatience);
    EXPECT_TRUE(fd);
    fd_ = fd ? *fd : -1;
    fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_NONBLOCK);
  }
  ~RawPeer() { close(fd_); }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;

  void write(const Raw& raw) { write(raw.bytes()); }
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto done = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (done <= 0) return;  // it has been closed, as it should
      bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
  }
  void write_with(std::span<const std::byte> bytes, const std::vector<int>& descriptors) {
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
    msghdr out{};
    out.msg_iov = &piece;
    out.msg_iovlen = 1;
    std::vector<char> space(CMSG_SPACE(sizeof(int) * descriptors.size()));
    out.msg_control = space.data();
    out.msg_controllen = space.size();
    auto* header = CMSG_FIRSTHDR(&out);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(header), descriptors.data(), sizeof(int) * descriptors.size());
    EXPECT_EQ(sendmsg(fd_, &out, MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Becomes known, as a good peer does.
  void greet(const std::string& words = "raw") {
    auto handshake = Handshake::dialling({words, kLife, ""}, nullptr);
    while (handshake.state() == Handshake::State::going) {
      const auto output = handshake.take_output();
      write(std::as_bytes(std::span(output)));
      const auto place = handshake.want();
      const auto got = recv(fd_, place.data(), place.size(), 0);
      if (got <= 0) break;
      handshake.filled(static_cast<std::size_t>(got));
    }
    EXPECT_EQ(handshake.state(), Handshake::State::done) << handshake.problem();
  }
  void say_no_more() { shutdown(fd_, SHUT_WR); }
  // What the other side has said when it has closed; nothing: it has not, for a long time.
  std::optional<std::string> last_words() {
    std::string words(1 << 16, 0);
    std::size_t have = 0;
    for (;;) {
      pollfd waiting{fd_, POLLIN, 0};
      const auto patience = std::chrono::milliseconds(kPatience).count();
      if (poll(&waiting, 1, static_cast<int>(patience)) <= 0 || have == words.size()) return std::nullopt;
      const auto got = recv(fd_, words.data() + have, words.size() - have, 0);
      if (got <= 0) return words.substr(0, have);
      have += static_cast<std::size_t>(got);
    }
  }
  // Reads until the other side has closed; false: it has not, for a long time.
  bool is_closed() {
    std::vector<char> buffer(1 << 16);
    for (;;) {
      pollfd waiting{fd_, POLLIN, 0};
      const auto patience = std::chrono::milliseconds(kPatience).count();
      if (poll(&waiting, 1, static_cast<int>(patience)) <= 0) return false;
      if (recv(fd_, buffer.data(), buffer.size(), 0) <= 0) return true;
    }
  }

 private:
  int fd_ = -1;
};

class Hostile : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam() == Way::inproc) GTEST_SKIP() << "there is no socket";
    address_ = server_.listen(folder_.address(GetParam()));
    good_.connect(address_);
    to_good_ = server_.connection_to("good");
  }

  // `act` is done by a newcomer: it is down, for that reason, and the good peer is not.
  void expect_closed(const std::string& reason, const std::function<void(RawPeer&)>& act,
                     Down kind = Down::protocol_error) {
    const auto before = server_.heard().downs.size();
    RawPeer peer(address_);
    act(peer);
    ASSERT_TRUE(server_.wait([&](const Heard& heard) { return heard.downs.size() == before + 1; })) << reason;
    EXPECT_TRUE(peer.is_closed()) << reason;
    const auto failure = server_.heard().downs.back().failure;
    EXPECT_EQ(failure.kind, kind) << failure.text;
    EXPECT_NE(failure.text.find(reason), std::string::npos) << failure.text << "\nshould say: " << reason;
    expect_good_peer_unharmed();
    EXPECT_EQ(server_.heard().downs.size(), before + 1) << reason;
  }
  // Before it is known: then the server's handler hears nothing of it, and it hears nothing, or `words`.
  void expect_turned_away(const std::string& reason, const std::function<void(RawPeer&)>& act,
                          const std::string& words = "") {
    const auto before = server_.heard();
    RawPeer peer(address_);
    act(peer);
    const auto heard = peer.last_words();
    ASSERT_TRUE(heard) << reason;
    EXPECT_EQ(heard->empty(), words.empty());
    EXPECT_NE(heard->find(words), std::string::npos) << *heard;
    ASSERT_TRUE(server_.wait([&](const Heard& now) { return now.said.size() == before.said.size() + 1; })) << reason;
    const auto after = server_.heard();
    EXPECT_NE(after.said.back().find(reason), std::string::npos) << after.said.back();
    EXPECT_EQ(after.introductions.size(), before.introductions.size());
    EXPECT_EQ(after.downs.size(), before.downs.size());
    expect_good_peer_unharmed();
  }
  void expect_wrong(const std::string& reason, const Raw& second) {
    expect_closed(reason, [&](RawPeer& peer) {
      peer.greet();
      peer.write(second);
    });
  }
  void expect_good_peer_unharmed() {
    const auto count = good_.heard().messages.size();
    server_.send(to_good_, "still there?", payload_of(random_bytes(100, 9), server_.settings.arena.get()));
    EXPECT_TRUE(good_.wait([&](const Heard& heard) { return heard.messages.size() == count + 1; }));
    EXPECT_TRUE(good_.heard().downs.empty());
  }

  Folder folder_;
  End server_{"server"}, good_{"good"};
  Address address_;
  ConnectionPtr to_good_;
};

INSTANTIATE_TEST_SUITE_P(Ways, Hostile, ::testing::Values(Way::shm, Way::unix_socket, Way::tcp), case_name);

TEST_P(Hostile, StrangersAndOtherVersions) {
  expect_turned_away("no Yoke peer", [](RawPeer& peer) {
    const std::string words(200, 'G');
    peer.write(std::as_bytes(std::span(words)));
  });
  expect_turned_away(
      "speaks frame version 1",
      [](RawPeer& peer) {
        auto bytes = introduction().bytes();
        bytes[4] = std::byte{1};
        peer.write(bytes);
      },
      "speaks frame version 1, this program 2");
  expect_turned_away("closed the connection", [](RawPeer& peer) { peer.say_no_more(); });
}

TEST_P(Hostile, DamagedBytes) {
  expect_turned_away("checksum of a frame's head", [](RawPeer& peer) {
    auto bytes = introduction().bytes();
    bytes[20] ^= std::byte{1};
    peer.write(bytes);
  });
  for (const std::size_t place : {wire::kHeadSize, wire::kHeadSize + 70'000, wire::kHeadSize + 100'000})
    expect_closed("damaged on the way", [&](RawPeer& peer) {
      peer.greet();
      auto bytes = message(100'000).bytes();  // the last place: in the checksum itself
      bytes[place] ^= std::byte{64};
      peer.write(bytes);
    });
  EXPECT_TRUE(server_.heard().messages.empty());
}

TEST_P(Hostile, AMessageThatIsCutOffIsLost) {
  expect_closed(
      "in the middle of a message",
      [](RawPeer& peer) {
        peer.greet();
        const auto bytes = message(100'000).bytes();
        peer.write(std::span(bytes).first(50'000));
        peer.say_no_more();
      },
      Down::closed);
  EXPECT_EQ(server_.heard().lost.size(), 1U);
  EXPECT_TRUE(server_.heard().messages.empty());
}

TEST_P(Hostile, TooLargeOrOutOfPlace) {
  auto raw = message(0);
  raw.head.control = wire::kMaxControl + 1;
  expect_wrong("a control part of", raw);
  raw = message(0);
  raw.head.payload = wire::kMaxPayload + 1;
  raw.head.sequence = 1;
  expect_wrong("a payload of", raw);
  raw = message(10);
  raw.head.sequence = 0;
  expect_wrong("without a sequence number", raw);
  raw = of_kind(FrameKind::heartbeat);
  raw.head.payload = 10;
  expect_wrong("a payload where none belongs", raw);
  raw = of_kind(FrameKind::heartbeat);
  raw.control = "12345678";
  raw.head.control = 8;
  expect_wrong("words where none belong", raw);
  expect_turned_away("more than belongs there",
                     [](RawPeer& peer) { peer.write(introduction(std::string(wire::kMaxFirstControl + 1, 'x'))); });
}

TEST_P(Hostile, Introductions) {
  expect_wrong("known already", introduction());
  expect_turned_away("something else", [](RawPeer& peer) { peer.write(message(0)); });
  expect_turned_away("something else", [](RawPeer& peer) { peer.write(of_kind(FrameKind::release)); });
  expect_turned_away("something else", [](RawPeer& peer) { peer.write(of_kind(FrameKind::prove)); });
  expect_turned_away("too short", [](RawPeer& peer) { peer.write(introduction("raw")); });
  auto raw = message(10);
  raw.head.incarnation = kLife + 1;
  expect_wrong("of another life", raw);
}

TEST_P(Hostile, CreditThatWasNotGranted) {
  server_.take = End::Take::hold;
  expect_closed("more than it was granted", [](RawPeer& peer) {
    peer.greet();
    for (std::uint64_t i = 1; i <= 5; ++i) peer.write(message(1u << 20, i));
  });
  EXPECT_EQ(server_.heard().messages.size(), 4U);
  EXPECT_EQ(server_.heard().most_held, kFirstCredit);
}

TEST_P(Hostile, Releases) {
  auto raw = of_kind(FrameKind::release);
  raw.control = std::string(8, '\1');
  raw.head.control = 8;
  expect_wrong("is not out", raw);
  raw.control = "short";
  raw.head.control = 5;
  expect_wrong("a strange size", raw);
}

TEST_P(Hostile, PlacesInSharedMemory) {
  auto raw = message(100);
  raw.payload.clear();
  raw.head.in_region = true;
  if (GetParam() != Way::shm) return expect_wrong("shared memory over a socket", raw);
  expect_wrong("never announced", raw);
  expect_wrong("without its descriptor", of_kind(FrameKind::region));

  const auto arena = Arena::make();
  const auto memory = arena->allocate(100);
  const auto size = arena->size(0);
  auto region = of_kind(FrameKind::region);
  region.head.payload = size;
  const auto after_region = [&](const std::string& reason, std::uint64_t offset, std::uint64_t payload) {
    expect_closed(reason, [&](RawPeer& peer) {
      peer.greet();
      peer.write_with(region.bytes(), {arena->descriptor(0)});
      raw.head.offset = offset;
      raw.head.payload = payload;
      peer.write(raw);
    });
  };
  after_region("outside of its region", size - 96, 100);
  after_region("outside of its region", size + 4, 100);
  after_region("outside of its region", ~std::uint64_t{3}, 100);
  after_region("not aligned", 2, 100);
  EXPECT_TRUE(server_.heard().messages.empty());

  raw.head.region = 1;
  after_region("never announced", 0, 100);
  region.head.region = 1;
  after_region("out of order", 0, 100);
  region.head.region = 0;
  region.head.payload = size * 2;
  after_region("were said", 0, 100);
  region.head.payload = 0;
  after_region("were said", 0, 100);
}

TEST_P(Hostile, DescriptorsThatAreNotWhatTheyShouldBe) {
  if (GetParam() != Way::shm) GTEST_SKIP() << "no descriptors travel";
  auto region = of_kind(FrameKind::region);
  region.head.payload = 1u << 20;
  const auto shown = [&](const std::string& reason, int fd, std::size_t copies = 1) {
    expect_closed(reason, [&](RawPeer& peer) {
      peer.greet();
      peer.write_with(region.bytes(), std::vector<int>(copies, fd));
    });
    close(fd);
  };
  const auto memfd = [&](int seals) {
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(fd, 1 << 20), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
  };
  shown("not sealed", memfd(0));
  shown("not sealed", memfd(F_SEAL_GROW));
  shown("not sealed", memfd(F_SEAL_SHRINK));
  shown("not sealed", open("/dev/zero", O_RDONLY | O_CLOEXEC));
  shown("not sealed", socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int whole = memfd(F_SEAL_SHRINK | F_SEAL_GROW);
  region.head.payload = 4096;
  shown("were said", whole);
  expect_closed("too many descriptors", [&](RawPeer& peer) {
    peer.greet();
    const int fd = memfd(F_SEAL_SHRINK | F_SEAL_GROW);
    const auto beat = of_kind(FrameKind::heartbeat).bytes();
    for (int i = 0; i < 5; ++i) peer.write_with(beat, std::vector<int>(4, fd));
    close(fd);
  });
}

TEST_P(Hostile, DescriptorsOfAPeerThatIsGoneAreClosed) {
  if (GetParam() != Way::shm) GTEST_SKIP() << "no descriptors travel";
  const auto count = [] {
    std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  expect_good_peer_unharmed();  // its region stands from here on
  const auto before = count();
  expect_closed(
      "closed the connection",
      [](RawPeer& peer) {
        peer.greet();
        const int fd = memfd_create("test", MFD_CLOEXEC);
        peer.write_with(of_kind(FrameKind::heartbeat).bytes(), std::vector<int>(8, fd));
        close(fd);
        peer.say_no_more();
      },
      Down::closed);
  server_.run([] {});
  EXPECT_EQ(count(), before);
}

// --- silence ---

class Silent : public ::testing::TestWithParam<Way> {};

INSTANTIATE_TEST_SUITE_P(Ways, Silent, ::testing::Values(Way::shm, Way::unix_socket, Way::tcp), case_name);

TEST_P(Silent, APeerThatSaysNothingMoreIsDown) {
  Folder folder;
  Settings settings;
  settings.heartbeat = std::chrono::milliseconds(20);
  settings.silence = std::chrono::milliseconds(100);
  End server("server", settings);
  const auto address = server.listen(folder.address(GetParam()));
  RawPeer peer(address);
  peer.greet();
  const auto to_peer = server.connection_to("raw");
  server.send(to_peer, "", payload_of(random_bytes(1 << 20, 1), server.settings.arena.get()));
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  const auto heard = server.heard();
  EXPECT_EQ(heard.downs[0].failure.kind, Down::timed_out);
  EXPECT_NE(heard.downs[0].failure.text.find("raw has been silent"), std::string::npos) << heard.downs[0].failure.text;
  EXPECT_EQ(heard.sends[0].size(), 1U);
  EXPECT_TRUE(peer.is_closed());
}

// A process that computes for a while, or is stopped, is not gone.
TEST_P(Silent, APeerThatReadsNothingForSomeSecondsIsNotDown) {
  Folder folder;
  End server("server");
  RawPeer peer(server.listen(folder.address(GetParam())));
  peer.greet();
  auto grant = of_kind(FrameKind::release);
  grant.head.offset = 1u << 30;
  peer.write(grant);
  const auto to_peer = server.connection_to("raw");
  server.run([&] {
    for (int i = 0; i < 64; ++i) server.send_here(*to_peer, "", payload_of(random_bytes(1u << 20, 1), nullptr));
  });
  std::promise<void> later;
  server.run([&] { server.loop().after(std::chrono::milliseconds(4500), [&] { later.set_value(); }); });
  later.get_future().wait();
  EXPECT_TRUE(server.heard().downs.empty());
  EXPECT_LT(server.heard().completed, 64U);
}

TEST_P(Silent, APeerThatNeverIntroducesItselfIsTurnedAway) {
  Folder folder;
  Settings settings;
  settings.handshake = std::chrono::milliseconds(50);
  End server("server", settings);
  RawPeer peer(server.listen(folder.address(GetParam())));
  EXPECT_EQ(peer.last_words(), "");
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.said.size() == 1; }));
  EXPECT_NE(server.heard().said[0].find("has not introduced itself"), std::string::npos);
  EXPECT_TRUE(server.heard().downs.empty());
}

TEST_P(Silent, AFinishEndsEvenWhenTheOtherSideNeverCloses) {
  Folder folder;
  Settings settings;
  settings.heartbeat = std::chrono::milliseconds(20);
  settings.silence = std::chrono::milliseconds(100);
  End server("server", settings);
  RawPeer peer(server.listen(folder.address(GetParam())));
  peer.greet();
  const auto to_peer = server.connection_to("raw");
  server.run([&] { to_peer->finish("done"); });
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
}

}  // namespace
}  // namespace yoke::transport
