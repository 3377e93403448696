#include "security/tls.h"

#include <gtest/gtest.h>

#include "security/certificates.h"

namespace yoke::security {
namespace {

void expect_wrong(const std::string& ca, const std::string& certificate, const std::string& key,
                  const std::string& what) {
  const auto tls = Tls::from_pem(ca, certificate, key, "folder");
  ASSERT_FALSE(tls.ok()) << "expected: " << what;
  EXPECT_NE(tls.error().message.find(what), std::string::npos) << tls.error().message;
  EXPECT_NE(tls.error().message.find("yoke cert"), std::string::npos) << tls.error().message;
}

TEST(Tls, SaysWhichFileIsWrong) {
  const auto ca = new_authority("test", 1).or_throw();
  const auto own = issue(ca, {{"here"}, true, 1}).or_throw(), other = issue(ca, {{"there"}, true, 1}).or_throw();
  EXPECT_TRUE(Tls::from_pem(ca.certificate, own.certificate, own.key, "folder").ok());
  expect_wrong("", own.certificate, own.key, "folder/ca.pem");
  expect_wrong(ca.certificate, "nothing", own.key, "folder/cert.pem");
  expect_wrong(ca.certificate, own.certificate, own.certificate, "folder/key.pem");
  expect_wrong(ca.certificate, own.certificate, other.key, "does not belong to cert.pem");
}

TEST(Tls, AFolderThatIsNotThereIsNamed) {
  const auto tls = Tls::from_folder("/nowhere");
  ASSERT_FALSE(tls.ok());
  EXPECT_NE(tls.error().message.find("/nowhere/ca.pem"), std::string::npos) << tls.error().message;
}

}  // namespace
}  // namespace yoke::security
