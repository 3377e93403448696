// A small certificate authority of our own: what `yoke cert new` writes, and what a launcher makes for one job.
//
// A folder of certificates has ca.pem (whom to believe), cert.pem and key.pem (who this is; mode 0600), and, where the
// authority itself is at home, ca-key.pem (mode 0600), which no process of a job needs.
#pragma once

#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::security {

// Overwrites the text of a private key that is no longer needed, and empties it.
void wipe(std::string& text);

// Its key is wiped when it goes.
struct Certificate {
  std::string certificate, key;  // PEM
  ~Certificate() { wipe(key); }
};

// Keys are P-256; serial numbers are random; valid from an hour ago, for clocks that differ. The name is for people.
Result<Certificate> new_authority(const std::string& name, unsigned days);

struct Subject {
  std::vector<std::string> names;  // host names and IP addresses under which it is reached; at least one
  bool serves = true;              // may others dial it? Else it may only dial
  unsigned days = 365;             // but no longer than the authority
};
Result<Certificate> issue(const Certificate& authority, const Subject& subject);

// Reads and writes one file of such a folder. Private ones are made with mode 0600, and are refused when others may
// read them; none may be another's to write. Nothing that is there is written over. Who reads a private one wipes it.
Status write_pem(const std::string& path, const std::string& text, bool is_private);
Result<std::string> read_pem(const std::string& path, bool is_private);

}  // namespace yoke::security
