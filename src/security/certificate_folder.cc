#include "security/certificate_folder.h"

#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>

namespace yoke::security {
namespace {

constexpr unsigned kAuthorityDays = 3650;

std::string file_in(const std::string& folder, const char* name) {
  return (std::filesystem::path(folder) / name).string();
}

bool is_there(const std::string& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(file_in(folder, name), ignored));
}

Status make_folder(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0700) == 0 || (errno == EEXIST && std::filesystem::is_directory(folder))) return {};
  return Error{Code::missing, fmt::format("{}: the folder cannot be made: {}", folder, std::strerror(errno))};
}

// Two authorities are told apart by people, too.
std::string new_name() {
  std::uint32_t number = 0;
  (void)!::getrandom(&number, sizeof number, 0);
  return fmt::format("Yoke authority {:08x}", number);
}

}  // namespace

Result<Authority> authority_in(const std::string& folder) {
  const bool has_certificate = is_there(folder, "ca.pem"), has_key = is_there(folder, "ca-key.pem");
  if (has_certificate != has_key)
    return Error{
        Code::missing,
        fmt::format("{} has {} without {}: the authority is at home where both are (`--from` names its folder)", folder,
                    has_certificate ? "ca.pem" : "ca-key.pem", has_certificate ? "ca-key.pem" : "ca.pem")};
  if (!has_certificate) {
    const auto made = new_authority(new_name(), kAuthorityDays);
    if (!made) return made.error();
    return Authority{.certificate = *made, .is_new = true};
  }
  auto certificate = read_pem(file_in(folder, "ca.pem"), false);
  if (!certificate) return certificate.error();
  auto key = read_pem(file_in(folder, "ca-key.pem"), true);
  if (!key) return key.error();
  return Authority{.certificate = {.certificate = std::move(*certificate), .key = std::move(*key)}};
}

Status write_authority(const std::string& folder, const Certificate& authority) {
  if (auto made = make_folder(folder); !made) return made;
  if (auto written = write_pem(file_in(folder, "ca-key.pem"), authority.key, true); !written) return written;
  return write_pem(file_in(folder, "ca.pem"), authority.certificate, false);
}

Status check_no_member(const std::string& folder) {
  for (const auto* name : {"cert.pem", "key.pem"})
    if (is_there(folder, name))
      return Error{Code::missing, fmt::format("{} is there already, and is left alone: name another folder, or remove "
                                              "cert.pem and key.pem first",
                                              file_in(folder, name))};
  return {};
}

Status write_member(const std::string& folder, const std::string& authority, const Certificate& member) {
  if (auto made = make_folder(folder); !made) return made;
  if (auto free = check_no_member(folder); !free) return free;
  if (is_there(folder, "ca.pem")) {
    const auto there = read_pem(file_in(folder, "ca.pem"), false);
    if (!there) return there.error();
    if (*there != authority)
      return Error{Code::missing, fmt::format("{} is of another authority, and is left alone: name another folder",
                                              file_in(folder, "ca.pem"))};
  } else if (auto written = write_pem(file_in(folder, "ca.pem"), authority, false); !written) {
    return written;
  }
  if (auto written = write_pem(file_in(folder, "key.pem"), member.key, true); !written) return written;
  return write_pem(file_in(folder, "cert.pem"), member.certificate, false);
}

}  // namespace yoke::security
