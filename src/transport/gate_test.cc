// Who gets in and who does not, over real sockets.
#include "transport/gate.h"

#include <sys/socket.h>
#include <unistd.h>

#include "transport/conformance.h"

namespace yoke::transport {
namespace {

using security::Secret;

Address loopback() { return {Address::Kind::tcp, "127.0.0.1", "0", ""}; }

security::Tls::Ptr tls_of(const security::Certificate& ca, const security::Subject& subject) {
  const auto own = security::issue(ca, subject).or_throw();
  return security::Tls::from_pem(ca.certificate, own.certificate, own.key, "test").or_throw();
}

security::Certificate authority() { return security::new_authority("test", 1).or_throw(); }

const security::Subject kHere{{"127.0.0.1"}, true, 1};

Settings with(Secret::Ptr secret, security::Tls::Ptr tls = nullptr) {
  Settings settings;
  settings.credentials.secret = std::move(secret);
  settings.credentials.tls = std::move(tls);
  return settings;
}

// Neither is up, each hears why, and the server's handler hears nothing at all.
void expect_refused(const Settings& server_settings, const Settings& client_settings, const std::string& client_hears,
                    const std::string& server_says) {
  End server("server", server_settings), client("client", client_settings);
  client.connect(server.listen(loopback()));
  ASSERT_TRUE(client.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.said.size() == 1; }));
  EXPECT_NE(client.heard().downs[0].failure.text.find(client_hears), std::string::npos)
      << client.heard().downs[0].failure.text;
  EXPECT_NE(server.heard().said[0].find(server_says), std::string::npos) << server.heard().said[0];
  for (auto* end : {&server, &client}) EXPECT_TRUE(end->heard().introductions.empty());
  EXPECT_TRUE(server.heard().downs.empty());
}

TEST(Gate, TheSecretMustBeTheSame) {
  const auto secret = Secret::make().or_throw();
  expect_refused(with(secret), with(Secret::make().or_throw()), "--secret-file", "the secret is not the one");
  expect_refused(with(secret), with(nullptr), "--secret-file", "the secret is not the one");
  expect_refused(with(nullptr), with(secret), "--secret-file", "the secret is not the one");
}

TEST(Gate, CertificatesMustBeOfTheSameAuthorityAndForTheNameThatIsDialled) {
  const auto secret = Secret::make().or_throw();
  const auto ca = authority();
  const auto good = tls_of(ca, kHere);
  expect_refused(with(secret, good), with(secret, tls_of(authority(), kHere)), "not believed", "TLS");
  expect_refused(with(secret, tls_of(ca, {{"elsewhere"}, true, 1})), with(secret, good), "another name", "TLS");
  expect_refused(with(secret, tls_of(ca, {{"127.0.0.1"}, false, 1})), with(secret, good), "not believed", "TLS");
  auto by_name = with(secret, good);
  by_name.credentials.peer_name = "the-job";
  expect_refused(with(secret, good), by_name, "another name", "TLS");
  // And the secret besides: a certificate alone does not let anybody in.
  expect_refused(with(secret, good), with(nullptr, good), "--secret-file", "the secret is not the one");
}

TEST(Gate, PlainAndTlsDoNotMix) {
  const auto secret = Secret::make().or_throw();
  const auto tls = tls_of(authority(), kHere);
  expect_refused(with(secret, tls), with(secret), "", "TLS");
  expect_refused(with(secret), with(secret, tls), "", "no Yoke peer");
}

TEST(Gate, ThePeerNameStandsForTheHost) {
  const auto secret = Secret::make().or_throw();
  auto settings = with(secret, tls_of(authority(), {{"the-job"}, true, 1}));
  settings.credentials.peer_name = "the-job";
  End server("server", settings), client("client", settings);
  client.connect(server.listen(loopback()));
  EXPECT_TRUE(client.connection_to("server"));
  EXPECT_TRUE(server.connection_to("client")->peer_may_serve());
}

TEST(Gate, WhoHasACertificateForDiallingAloneIsNoServer) {
  const auto secret = Secret::make().or_throw();
  const auto ca = authority();
  End server("server", with(secret, tls_of(ca, kHere)));
  End client("client", with(secret, tls_of(ca, {{"somebody"}, false, 1})));
  client.connect(server.listen(loopback()));
  EXPECT_FALSE(server.connection_to("client")->peer_may_serve());
  EXPECT_TRUE(client.connection_to("server")->peer_may_serve());
}

TEST(Gate, AddressesThatOthersReachNeedBoth) {
  const auto secret = Secret::make().or_throw();
  const auto tls = tls_of(authority(), kHere);
  LoopThread thread("gate");
  End handler("handler");
  const Address everywhere{Address::Kind::tcp, "0.0.0.0", "0", ""};
  const auto listen = [&](const Settings& settings) {
    Result<std::unique_ptr<Listener>> opened = Error{Code::missing, ""};
    handler.run([&] {
      opened = Listener::open(handler.loop(), everywhere, settings, handler);
      if (opened) opened->reset();
    });
    return opened ? "" : opened.error().message;
  };
  EXPECT_NE(listen({}).find("neither certificates nor a secret"), std::string::npos) << listen({});
  EXPECT_NE(listen(with(secret)).find("no certificates"), std::string::npos);
  EXPECT_NE(listen(with(nullptr, tls)).find("no secret"), std::string::npos);
  EXPECT_EQ(listen(with(secret, tls)), "");
  auto insecure = with(nullptr);
  insecure.credentials.insecure = true;
  EXPECT_EQ(listen(insecure), "");
  // Nor is anything said to such an address: the error comes before the first try (192.0.2.0/24 leads nowhere).
  const auto dialled = dial({Address::Kind::tcp, "192.0.2.1", "9", ""}, {}, kPatience);
  ASSERT_FALSE(dialled);
  EXPECT_NE(dialled.error().message.find("--insecure"), std::string::npos) << dialled.error().message;
}

class Idle {
 public:
  explicit Idle(const Address& address) : fd_(dial(address, {}, kPatience).or_throw()) {}
  ~Idle() { close(fd_); }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  bool closed() const {
    char byte = 0;
    return recv(fd_, &byte, 1, MSG_DONTWAIT) == 0;
  }

 private:
  int fd_;
};

TEST(Gate, ManyWhoSayNothingKeepNobodyOut) {
  Settings settings;
  settings.limits.newcomers = 8;
  settings.handshake = std::chrono::minutes(1);
  End server("server", settings), client("client");
  const auto address = server.listen(loopback());
  std::vector<std::unique_ptr<Idle>> idle;
  for (int i = 0; i < 20; ++i) idle.push_back(std::make_unique<Idle>(address));
  client.connect(address);
  ASSERT_TRUE(client.connection_to("server"));
  // The first of them had to go, by the order in which they came.
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.said.size() >= 12; }));
  EXPECT_TRUE(idle.front()->closed());
  EXPECT_FALSE(idle.back()->closed());
}

TEST(Gate, WhoFailsTooOftenIsShutOutForAWhile) {
  Settings settings;
  settings.limits.failures = 5;
  settings.limits.within = std::chrono::hours(1);
  End server("server", settings), known("known");
  const auto address = server.listen(loopback());
  known.connect(address);
  const auto to_known = server.connection_to("known");
  for (int i = 0; i < 5; ++i) {
    const int fd = dial(address, {}, kPatience).or_throw();
    EXPECT_EQ(::send(fd, std::string(64, 'x').data(), 64, 0), 64);
    char byte = 0;
    EXPECT_LE(recv(fd, &byte, 1, 0) > 0 ? 1 : 0, 1);
    close(fd);
    ASSERT_TRUE(server.wait([&](const Heard& heard) { return heard.said.size() >= static_cast<std::size_t>(i + 1); }));
  }
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.said.size() == 6; }));
  EXPECT_NE(server.heard().said.back().find("is shut out"), std::string::npos);
  End late("late");
  late.connect(address);
  ASSERT_TRUE(late.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  // Whoever is in stays in.
  server.send(to_known, "hello");
  EXPECT_TRUE(known.wait([](const Heard& heard) { return heard.messages.size() == 1; }));
}

TEST(Gate, NoMoreConnectionsThanTheLimit) {
  Settings settings;
  settings.limits.connections = 2;
  End server("server", settings), first("first"), second("second"), third("third");
  const auto address = server.listen(loopback());
  first.connect(address);
  const auto to_first = server.connection_to("first");
  second.connect(address);
  server.connection_to("second");
  third.connect(address);
  ASSERT_TRUE(third.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  server.run([&] { to_first->close("makes room"); });
  ASSERT_TRUE(server.wait([](const Heard& heard) { return heard.downs.size() == 1; }));
  End fourth("fourth");
  fourth.connect(address);
  EXPECT_TRUE(server.connection_to("fourth"));
}

}  // namespace
}  // namespace yoke::transport
