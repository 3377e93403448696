#include "transport/endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <thread>

#include "transport/conformance.h"

namespace yoke::transport {
namespace {

TEST(Listener, SaysWhichPortWasFree) {
  End server("server");
  Folder folder;
  const auto address = server.listen(folder.address(Way::tcp));
  EXPECT_NE(address.port, "0");
  End client("client");
  client.connect(address);
  client.connection_to("server");
}

// Of a host's own connections; between hosts the administrator's choice stands.
TEST(Connection, DoesNotSendAtAPaceWhereNothingLeavesTheHost) {
  End server("server"), client("client");
  Folder folder;
  const auto address = server.listen(folder.address(Way::tcp));
  const auto fd = dial_once(address, {}, std::chrono::seconds(5));
  ASSERT_TRUE(fd) << fd.error().message;
  Loop loop;
  const auto connection = adopt(loop, *fd, address, {}, client);
  std::array<char, 16> how{};
  socklen_t size = how.size();
  ASSERT_EQ(getsockopt(*fd, IPPROTO_TCP, TCP_CONGESTION, how.data(), &size), 0);
  EXPECT_STREQ(how.data(), "reno");
  connection->close("the test is over");
}

TEST(Listener, ReplacesASocketThatNobodyListensOn) {
  Folder folder;
  const auto address = folder.address(Way::unix_socket);
  {
    const int left = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, address.path.c_str(), address.path.size() + 1);
    ASSERT_EQ(bind(left, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    close(left);
  }
  End server("server"), client("client");
  client.connect(server.listen(address));
  client.connection_to("server");
}

TEST(Listener, LeavesOtherPeoplesFilesAlone) {
  Folder folder;
  const auto address = folder.address(Way::unix_socket);
  std::ofstream(address.path) << "precious";
  Loop loop;
  End handler("unused");
  const auto opened = Listener::open(loop, address, {}, handler);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("Address already in use"), std::string::npos) << opened.error().message;
  EXPECT_TRUE(std::filesystem::exists(address.path));
}

TEST(Listener, TwoDoNotShareAnAddress) {
  Folder folder;
  for (const auto way : {Way::unix_socket, Way::tcp}) {
    End server("server");
    const auto address = server.listen(folder.address(way));
    Loop loop;
    const auto second = Listener::open(loop, address, {}, server);
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("another server may be running there"), std::string::npos)
        << second.error().message;
    End client("client");
    client.connect(address);
    client.connection_to("server");
  }
}

TEST(Listener, TakesItsSocketFileAway) {
  Folder folder;
  const auto address = folder.address(Way::shm);
  {
    End server("server");
    server.listen(address);
    EXPECT_EQ(std::filesystem::status(address.path).permissions() & std::filesystem::perms::mask,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }
  EXPECT_FALSE(std::filesystem::exists(address.path));
}

TEST(Dial, SaysWhoDoesNotAnswer) {
  Folder folder;
  for (const auto& address : {folder.address(Way::unix_socket), Address{Address::Kind::tcp, "127.0.0.1", "1", ""}}) {
    const auto fd = dial(address, {}, std::chrono::milliseconds(50));
    ASSERT_FALSE(fd);
    EXPECT_EQ(fd.error().code, Code::peer_down);
    EXPECT_NE(fd.error().message.find(to_string(address)), std::string::npos) << fd.error().message;
  }
  EXPECT_FALSE(dial({Address::Kind::tcp, "127.0.0.1", "1", ""}, {}, Duration::zero()));
}

TEST(Dial, WaitsForAServerThatComesLater) {
  Folder folder;
  const auto address = folder.address(Way::unix_socket);
  Result<int> fd = 0;
  std::jthread early([&] { fd = dial(address, {}, kPatience); });
  End server("server");
  server.listen(address);
  early.join();
  ASSERT_TRUE(fd);
  close(*fd);
}

// A port of this host where nobody listens, tried often enough that the kernel chooses it for our end as well.
TEST(Dial, DoesNotReachItself) {
  Address address{Address::Kind::tcp, "127.0.0.1", "0", ""};
  {
    End server("server");
    address = server.listen(address);
  }
  EXPECT_FALSE(dial(address, {}, std::chrono::milliseconds(100)));
}

}  // namespace
}  // namespace yoke::transport
