// The flags by which a process shows that it belongs to a job, and finds out whether the others do.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "yoke/error.h"
#include "yoke/options.h"

namespace yoke::cli {

// All of them take a value but the last.
inline constexpr const char* kSecurityFlags[] = {"--secret-file", "--certs", "--peer-name"};
inline constexpr const char* kInsecureFlag = "--insecure";

void add_security_flags(CLI::App& command, Security& security);

// A launcher's: its children find the same in their environment, and the secret itself on no command line and in no
// environment: one that came so is moved into a file in `folder`, which only its owner may open.
Status pass_on(const Security& security, const std::string& folder);

}  // namespace yoke::cli
