// What a package manager's client said, for people.
#pragma once

#include <string>

namespace yoke::data {

// The first lines of it that are no warnings, each set in. Addresses and names of hosts are left out: they are the
// user's own settings, and messages end up in reports of trouble.
std::string shorten_client_output(const std::string& output);

}  // namespace yoke::data
