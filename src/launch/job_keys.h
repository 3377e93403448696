// The secret and the certificates of one job, which rank 0 makes and hands to the other ranks where they meet.
#pragma once

#include <string>
#include <vector>

#include "launch/lookup.h"
#include "yoke/error.h"

namespace yoke::launch {

struct JobKeys {
  std::string secret;
  std::string ca, certificate, key;  // PEM; all processes of the job show the same certificate
};

// The environment has credentials for the job already, or says that it does without.
bool has_own_keys(const Lookup& lookup);

// New ones, from random numbers. The authority that has signed the certificate is thrown away: nobody can add to the
// job. `folder`: private, for files that are needed meanwhile.
Result<JobKeys> make_job_keys(const std::string& folder);

// Writes them into files of `folder` that only this user can read; answers the variables (NAME=VALUE) that lead
// processes there.
Result<std::vector<std::string>> keep_job_keys(const JobKeys& keys, const std::string& folder);

}  // namespace yoke::launch
