#include "security/certificate_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "security/certificate_facts.h"
#include "security/scratch_folder.h"

namespace yoke::security {
namespace {

void expect_good(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().message; }

// As `yoke cert new` does it.
Certificate make_home(const std::string& folder) {
  const auto authority = authority_in(folder);
  EXPECT_TRUE(authority.ok() && authority->is_new);
  expect_good(write_authority(folder, authority->certificate));
  return authority->certificate;
}

void add_member(const std::string& folder, const Certificate& authority, const Subject& subject) {
  expect_good(write_member(folder, authority.certificate, *issue(authority, subject)));
}

std::string problems(const std::string& folder) {
  const auto facts = facts_of(folder);
  if (!facts) return facts.error().message;
  std::string all;
  for (const auto& problem : facts->problems) all += problem + ";";
  return all;
}

bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

TEST(CertificateFolder, TheAuthorityIsMadeOnce) {
  ScratchFolder folder;
  const auto home = folder.path("home");
  const auto made = make_home(home);
  EXPECT_EQ(folder.mode("home"), 0700u);
  EXPECT_EQ(folder.mode("home/ca-key.pem"), 0600u);
  EXPECT_EQ(folder.mode("home/ca.pem"), 0644u);
  const auto again = authority_in(home);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_EQ(again->certificate.certificate, made.certificate);
  EXPECT_EQ(again->certificate.key, made.key);
  EXPECT_FALSE(write_authority(home, made).ok()) << "it is there";
}

TEST(CertificateFolder, HalfAnAuthorityIsNone) {
  ScratchFolder folder;
  make_home(folder.path("home"));
  std::filesystem::remove(folder.path("home/ca-key.pem"));
  const auto there = authority_in(folder.path("home"));
  ASSERT_FALSE(there.ok());
  EXPECT_TRUE(has(there.error().message, "ca.pem without ca-key.pem")) << there.error().message;
}

TEST(CertificateFolder, NothingIsWrittenOver) {
  ScratchFolder folder;
  const auto one = make_home(folder.path("one")), two = make_home(folder.path("two"));
  add_member(folder.path("member"), one, {.names = {"a"}});
  EXPECT_EQ(folder.mode("member/key.pem"), 0600u);
  EXPECT_FALSE(std::filesystem::exists(folder.path("member/ca-key.pem")));
  const auto before = folder.read("member/key.pem");
  EXPECT_FALSE(check_no_member(folder.path("member")).ok());
  EXPECT_FALSE(write_member(folder.path("member"), one.certificate, *issue(one, {.names = {"b"}})).ok());
  EXPECT_EQ(folder.read("member/key.pem"), before);

  const auto mixed = write_member(folder.path("two"), one.certificate, *issue(one, {.names = {"b"}}));
  ASSERT_FALSE(mixed.ok());
  EXPECT_TRUE(has(mixed.error().message, "of another authority")) << mixed.error().message;
  EXPECT_EQ(folder.read("two/ca.pem"), two.certificate);
  EXPECT_FALSE(std::filesystem::exists(folder.path("two/key.pem")));
}

TEST(CertificateFacts, SayWhatIsThere) {
  ScratchFolder folder;
  const auto authority = make_home(folder.path("home"));
  add_member(folder.path("home"), authority, {.names = {"node1", "10.0.0.1", "fd00::1"}, .days = 7});
  add_member(folder.path("client"), authority, {.names = {"ann"}, .serves = false});
  const auto home = facts_of(folder.path("home")), client = facts_of(folder.path("client"));
  ASSERT_TRUE(home.ok() && client.ok());
  EXPECT_EQ(home->names, (std::vector<std::string>{"node1", "10.0.0.1", "fd00::1"}));
  EXPECT_EQ(home->subject, "node1");
  EXPECT_TRUE(home->issuer.starts_with("Yoke authority ")) << home->issuer;
  EXPECT_EQ(home->ends - home->begins, 7 * 86400 + 3600);
  EXPECT_TRUE(home->serves && home->dials && home->has_authority_key);
  EXPECT_TRUE(!client->serves && client->dials && !client->has_authority_key);
  EXPECT_EQ(problems(folder.path("home")) + problems(folder.path("client")), "");
}

TEST(CertificateFacts, SayWhatDoesNotHold) {
  ScratchFolder folder;
  const auto one = make_home(folder.path("one")), two = make_home(folder.path("two"));
  add_member(folder.path("one"), one, {.names = {"a"}});
  add_member(folder.path("two"), two, {.names = {"b"}});
  const auto with = [&](const std::string& name) {
    const auto made = folder.path("mixed");
    std::filesystem::remove_all(made);
    std::filesystem::copy(folder.path("one"), made);
    std::filesystem::copy(folder.path("two/" + name), made + "/" + name,
                          std::filesystem::copy_options::overwrite_existing);
    return problems(made);
  };
  EXPECT_TRUE(has(with("key.pem"), "key.pem is not the key of cert.pem")) << with("key.pem");
  EXPECT_TRUE(has(with("ca.pem"), "does not believe cert.pem")) << with("ca.pem");
  // While one authority takes the place of another, both are believed.
  const auto both = folder.path("mixed/ca.pem");
  std::filesystem::remove(both);
  expect_good(write_pem(both, two.certificate + one.certificate, false));
  EXPECT_EQ(problems(folder.path("mixed")), "");

  std::filesystem::remove(folder.path("mixed/key.pem"));
  EXPECT_TRUE(has(problems(folder.path("mixed")), "mixed/key.pem: No such file")) << problems(folder.path("mixed"));
  folder.write("mixed/key.pem", "nonsense");
  EXPECT_TRUE(has(problems(folder.path("mixed")), "mixed/key.pem: no private key")) << problems(folder.path("mixed"));
  std::filesystem::remove(both);
  folder.write("mixed/ca.pem", "nonsense");
  EXPECT_TRUE(has(problems(folder.path("mixed")), "mixed/ca.pem: no certificate")) << problems(folder.path("mixed"));
}

// Certificates that others have made: of the year 2020, and for other purposes.
TEST(CertificateFacts, ReadCertificatesOfOthers) {
  ScratchFolder folder;
  make_home(folder.path("home"));
  const auto at = [&](const std::string& name) { return folder.path("home/" + name); };
  const auto asked =
      openssl("req -new -newkey rsa:2048 -nodes -subj /CN=other -keyout " + at("key.pem") + " -out " + at("request"));
  ASSERT_EQ(asked.status, 0) << asked.text;
  const auto sign = [&](const std::string& extensions, const std::string& days) {
    folder.write("database", "");
    folder.write("settings", "[ca]\ndefault_ca=d\n[d]\ndatabase=" + folder.path("database") +
                                 "\nnew_certs_dir=" + folder.path("home") + "\npolicy=p\ndefault_md=sha256\n" +
                                 "rand_serial=yes\nunique_subject=no\n[p]\ncommonName=supplied\n[x]\n" + extensions +
                                 "\n");
    const auto said =
        openssl("ca -batch -notext -config " + folder.path("settings") + " -extensions x -in " + at("request") +
                " -cert " + at("ca.pem") + " -keyfile " + at("ca-key.pem") + " -out " + at("cert.pem") + " " + days);
    EXPECT_EQ(said.status, 0) << said.text;
    return problems(folder.path("home"));
  };
  EXPECT_EQ(sign("subjectAltName=DNS:other", "-days 1"), "") << "one without purposes is for all of them";
  const auto old = sign("subjectAltName=DNS:other", "-startdate 20200101000000Z -enddate 20200201000000Z");
  EXPECT_TRUE(has(old, "certificate has expired")) << old;
  EXPECT_EQ(facts_of(folder.path("home"))->begins, 1577836800);
  EXPECT_TRUE(has(sign("extendedKeyUsage=codeSigning", "-days 1"), "neither for servers nor for clients"));
  EXPECT_TRUE(has(sign("extendedKeyUsage=clientAuth", "-days 1"), "names no host"));
}

}  // namespace
}  // namespace yoke::security
