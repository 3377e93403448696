#include "security/certificates.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "security/memory_search.h"
#include "security/scratch_folder.h"

namespace yoke::security {
namespace {

const std::vector<std::string> kNames = {"node1.cluster.example", "node1", "*.pods.example.org", "10.1.2.3",
                                         "fd00::17"};

// A job's folders: an authority, one that serves, one that only dials.
struct Job {
  ScratchFolder folder;
  Certificate authority, server, client;

  explicit Job(unsigned days = 30) {
    authority = made(new_authority("Yoke test", days));
    server = made(issue(authority, {.names = kNames, .days = 10}));
    client = made(issue(authority, {.names = {"node2"}, .serves = false, .days = 10}));
    write("ca", authority);
    write("server", server);
    write("client", client);
  }
  void write(const std::string& name, const Certificate& certificate) const {
    EXPECT_TRUE(write_pem(folder.path(name + ".pem"), certificate.certificate, false).ok());
    EXPECT_TRUE(write_pem(folder.path(name + "-key.pem"), certificate.key, true).ok());
  }
  static Certificate made(const Result<Certificate>& result) {
    EXPECT_TRUE(result.ok()) << (result ? "" : result.error().message);
    return result ? *result : Certificate{};
  }
  testing::AssertionResult verified(const std::string& flags, const std::string& file) const {
    const auto said =
        openssl("verify -x509_strict -CAfile " + folder.path("ca.pem") + " " + flags + " " + folder.path(file));
    return (said.status == 0 ? testing::AssertionSuccess() : testing::AssertionFailure()) << flags << ": " << said.text;
  }
  std::string text(const std::string& file) const { return openssl("x509 -noout -text -in " + folder.path(file)).text; }
};

void expect_in(const std::string& text, const std::string& words) {
  EXPECT_NE(text.find(words), std::string::npos) << words << " is not in\n" << text;
}

TEST(Certificates, OpensslBelievesTheChain) {
  const Job job;
  for (const auto* file : {"ca.pem", "server.pem", "client.pem"}) EXPECT_TRUE(job.verified("", file));
  const Job other;
  const auto said = openssl("verify -CAfile " + other.folder.path("ca.pem") + " " + job.folder.path("server.pem"));
  EXPECT_NE(said.status, 0) << "an authority of the same name, and another key: " << said.text;
}

TEST(Certificates, NamesAreChecked) {
  const Job job;
  for (const auto* name : {"node1.cluster.example", "node1", "pod-7.pods.example.org"})
    EXPECT_TRUE(job.verified(std::string("-verify_hostname ") + name, "server.pem"));
  for (const auto* address : {"10.1.2.3", "fd00::17", "fd00:0::0017"})
    EXPECT_TRUE(job.verified(std::string("-verify_ip ") + address, "server.pem"));
  for (const auto* name : {"node2", "node1.cluster.example.org", "cluster.example", "a.b.pods.example.org", "10.1.2.3"})
    EXPECT_FALSE(job.verified(std::string("-verify_hostname ") + name, "server.pem"));
  for (const auto* address : {"10.1.2.4", "fd00::18"})
    EXPECT_FALSE(job.verified(std::string("-verify_ip ") + address, "server.pem"));
}

TEST(Certificates, OnlyServersServe) {
  const Job job;
  EXPECT_TRUE(job.verified("-purpose sslserver", "server.pem"));
  EXPECT_TRUE(job.verified("-purpose sslclient", "server.pem"));
  EXPECT_TRUE(job.verified("-purpose sslclient", "client.pem"));
  EXPECT_FALSE(job.verified("-purpose sslserver", "client.pem"));
}

TEST(Certificates, AMemberIsNoAuthority) {
  const Job job;
  const auto forged = issue(job.server, {.names = {"node9"}});
  ASSERT_FALSE(forged.ok());
  expect_in(forged.error().message, "not the certificate of an authority");
  const auto mixed = issue({.certificate = job.authority.certificate, .key = job.server.key}, {.names = {"node9"}});
  ASSERT_FALSE(mixed.ok());
  expect_in(mixed.error().message, "not the key");
  expect_in(job.text("ca.pem"), "CA:TRUE, pathlen:0");
  expect_in(job.text("server.pem"), "CA:FALSE");
}

TEST(Certificates, SayWhatTheyAre) {
  const Job job;
  const auto ca = job.text("ca.pem"), server = job.text("server.pem"), client = job.text("client.pem");
  for (const auto& text : {ca, server, client}) {
    expect_in(text, "Version: 3 (0x2)");
    expect_in(text, "Signature Algorithm: ecdsa-with-SHA256");
    expect_in(text, "NIST CURVE: P-256");
    expect_in(text, "X509v3 Subject Key Identifier");
    expect_in(text, "X509v3 Authority Key Identifier");
    expect_in(text, "Issuer: CN = Yoke test");
  }
  expect_in(ca, "Key Usage: critical\n                Certificate Sign, CRL Sign");
  expect_in(server, "Key Usage: critical\n                Digital Signature\n");
  expect_in(server, "TLS Web Server Authentication, TLS Web Client Authentication");
  expect_in(client, "Extended Key Usage: \n                TLS Web Client Authentication\n");
  expect_in(server,
            "DNS:node1.cluster.example, DNS:node1, DNS:*.pods.example.org, IP Address:10.1.2.3, "
            "IP Address:FD00:0:0:0:0:0:0:17");
  expect_in(server, "Subject: CN = node1.cluster.example");
}

TEST(Certificates, KeysBelongToThem) {
  const Job job;
  for (const std::string name : {"ca", "server", "client"}) {
    const auto one = openssl("x509 -noout -pubkey -in " + job.folder.path(name + ".pem"));
    const auto two = openssl("pkey -pubout -in " + job.folder.path(name + "-key.pem"));
    EXPECT_EQ(one.status, 0) << one.text;
    EXPECT_EQ(one.text, two.text);
  }
}

TEST(Certificates, SerialsAreRandom) {
  const auto authority = Job::made(new_authority("Yoke test", 30));
  ScratchFolder folder;
  std::set<std::string> seen;
  for (int i = 0; i < 8; ++i) {
    const auto file = folder.write(std::to_string(i), Job::made(issue(authority, {.names = {"node"}})).certificate);
    const auto said = openssl("x509 -noout -serial -in " + file).text;
    EXPECT_TRUE(std::regex_match(said, std::regex("serial=[4-7][0-9A-F]{31}\n"))) << said;  // 127 bits, the first set
    seen.insert(said);
  }
  EXPECT_EQ(seen.size(), 8u);
}

// Valid a little earlier than now, and not longer than said, nor than the authority.
TEST(Certificates, HaveTheirDays) {
  const Job job(5);
  const auto ends_within = [&](const std::string& file, unsigned seconds) {
    return openssl("x509 -noout -checkend " + std::to_string(seconds) + " -in " + job.folder.path(file)).status != 0;
  };
  constexpr unsigned kDay = 86400;
  EXPECT_FALSE(ends_within("ca.pem", 5 * kDay - 600));
  EXPECT_TRUE(ends_within("ca.pem", 5 * kDay + 1));
  EXPECT_FALSE(ends_within("server.pem", 5 * kDay - 600));
  EXPECT_TRUE(ends_within("server.pem", 5 * kDay + 1)) << "asked for 10, the authority has 5";
  const auto hour_ago = std::to_string(std::time(nullptr) - 3000), earlier = std::to_string(std::time(nullptr) - 4200);
  EXPECT_TRUE(job.verified("-attime " + hour_ago, "server.pem"));
  EXPECT_FALSE(job.verified("-attime " + earlier, "server.pem"));
}

TEST(Certificates, RefuseWhatTheyCannotSay) {
  const auto authority = Job::made(new_authority("Yoke test", 30));
  for (const std::string name :
       {"", "node 1", "node1:7000", "[fd00::1]", "10.0.0.256", "1.2.3", "a..b", ".a", "a.", "-a", "a-", "*",
        "*.example", "a.*.example.org", "node1,DNS:evil", "n\xc3\xb6", "fe80::1%eth0", "a/b", "7"}) {
    const auto made = issue(authority, {.names = {"good", name}});
    ASSERT_FALSE(made.ok()) << name;
    expect_in(made.error().message, "'" + name + "' is neither a host's name nor an IP address");
  }
  EXPECT_FALSE(issue(authority, {.names = {std::string("a\0b", 3)}}).ok());
  EXPECT_FALSE(issue(authority, {.names = {std::string(64, 'a')}}).ok());
  EXPECT_FALSE(issue(authority, {}).ok());
  EXPECT_FALSE(issue(authority, {.names = std::vector<std::string>(257, "a")}).ok());
  for (const unsigned days : {0u, 36501u, ~0u}) {
    EXPECT_FALSE(issue(authority, {.names = {"a"}, .days = days}).ok());
    EXPECT_FALSE(new_authority("a", days).ok());
  }
  EXPECT_FALSE(new_authority("", 1).ok());
  EXPECT_FALSE(new_authority(std::string(65, 'a'), 1).ok());
  EXPECT_FALSE(issue({.certificate = "nonsense", .key = authority.key}, {.names = {"a"}}).ok());
  EXPECT_FALSE(issue({.certificate = authority.certificate, .key = "nonsense"}, {.names = {"a"}}).ok());
}

TEST(Certificates, LongNamesStandAmongTheNames) {
  const Job job;
  const auto name = std::string(63, 'a') + "." + std::string(63, 'b') + ".example";
  job.write("long", Job::made(issue(job.authority, {.names = {name}})));
  EXPECT_TRUE(job.verified("-verify_hostname " + name, "long.pem"));
}

TEST(Certificates, FilesHaveTheirModes) {
  const Job job;
  EXPECT_EQ(job.folder.mode("ca.pem"), 0644u);
  EXPECT_EQ(job.folder.mode("ca-key.pem"), 0600u);
  EXPECT_EQ(read_pem(job.folder.path("ca-key.pem"), true).value(), job.authority.key);
  EXPECT_EQ(read_pem(job.folder.path("ca.pem"), false).value(), job.authority.certificate);
  EXPECT_FALSE(read_pem(job.folder.path("ca.pem"), true).ok()) << "others may read it";
  EXPECT_FALSE(write_pem(job.folder.path("ca.pem"), "x", false).ok());
  EXPECT_EQ(job.folder.read("ca.pem"), job.authority.certificate);

  const auto writable = read_pem(job.folder.write("writable.pem", "x", 0664), false);
  ASSERT_FALSE(writable.ok());
  expect_in(writable.error().message, "`chmod go-w ");
  EXPECT_FALSE(read_pem(job.folder.write("large.pem", std::string(65537, 'x')), false).ok());
  EXPECT_EQ(read_pem(job.folder.write("just.pem", std::string(65536, 'x')), false).value().size(), 65536u);
}

// Nobody is there to type it; OpenSSL would ask at the terminal, and wait.
TEST(Certificates, KeysHaveNoPassphrase) {
  const Job job;
  const auto locked = job.folder.path("locked.pem");
  const auto said = openssl("pkcs8 -topk8 -passout pass:word -in " + job.folder.path("ca-key.pem") + " -out " + locked);
  ASSERT_EQ(said.status, 0) << said.text;
  const auto made =
      issue({.certificate = job.authority.certificate, .key = job.folder.read("locked.pem")}, {.names = {"a"}});
  ASSERT_FALSE(made.ok());
  expect_in(made.error().message, "without a passphrase");
}

// The text of a private key is not left in memory when the key was let go. (The number in it is: OpenSSL 3.0 frees what
// it decodes without wiping it.)
TEST(Certificates, TextOfKeysDoesNotLinger) {
  ScratchFolder folder;
  const auto pem = folder.path("key.pem");
  {
    const auto authority = new_authority("Yoke test", 30);
    ASSERT_TRUE(authority.ok());
    ASSERT_TRUE(write_pem(pem, authority->key, true).ok());
    auto read = read_pem(pem, true);
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(issue({.certificate = authority->certificate, .key = *read}, {.names = {"a"}}).ok());
    wipe(*read);
  }
  const auto text = Disguised::from_file(pem, 28 + 48, 24);  // behind the first line: the base64 of the number
  ASSERT_EQ(text.size(), 24u);
  EXPECT_EQ(search_memory(text).dumped, 0u);
  const auto copy = folder.read("key.pem");
  EXPECT_GE(search_memory(text).dumped, 1u) << "a search that finds nothing is none";
}

}  // namespace
}  // namespace yoke::security
