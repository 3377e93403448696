// What the certificates in a folder say, and whether they hold: for people, before a job finds out.
#pragma once

#include <ctime>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::security {

struct CertificateFacts {
  std::vector<std::string> names;  // host names and IP addresses
  std::string subject, issuer;     // common names
  std::time_t begins = 0, ends = 0;
  bool serves = false, dials = false;
  bool has_authority_key = false;     // ca-key.pem lies in the folder as well
  std::vector<std::string> problems;  // why a job would refuse it; empty: it holds
};

// Reads ca.pem, cert.pem and key.pem as a job does: an error where it could not read them.
Result<CertificateFacts> facts_of(const std::string& folder);

}  // namespace yoke::security
