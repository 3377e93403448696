#include "security/alternative_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace yoke::security {
namespace {

constexpr std::size_t kMostNames = 256;
constexpr std::size_t kLongestName = 253, kLongestLabel = 63;

struct Address {
  std::array<unsigned char, 16> bytes{};
  std::size_t size = 0;  // 0: it is none
};

Address address_from(const std::string& name) {
  Address address;
  if (::inet_pton(AF_INET, name.c_str(), address.bytes.data()) == 1) address.size = 4;
  if (::inet_pton(AF_INET6, name.c_str(), address.bytes.data()) == 1) address.size = 16;
  return address;
}

bool is_label(std::string_view label) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= kLongestLabel && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), fits);
}

bool is_host(std::string_view name) {
  if (name.size() > kLongestName) return false;
  const bool any = name.starts_with("*.");
  if (any) name.remove_prefix(2);
  std::size_t labels = 0;
  for (;; ++labels) {
    const auto dot = name.find('.');
    if (!is_label(name.substr(0, dot))) return false;
    if (dot == std::string_view::npos) break;
    name.remove_prefix(dot + 1);
  }
  // What ends in a number is an address (here: a wrong one), never a host.
  const auto is_digit = [](unsigned char c) { return std::isdigit(c) != 0; };
  return !std::all_of(name.begin(), name.end(), is_digit) && (!any || labels >= 1);
}

bool append(GENERAL_NAMES* names, int kind, const void* data, std::size_t size) {
  Handle<GENERAL_NAME, GENERAL_NAME_free> name(GENERAL_NAME_new());
  Handle<ASN1_STRING, ASN1_STRING_free> value(
      ASN1_STRING_type_new(kind == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING));
  if (!name || !value || ASN1_STRING_set(value.get(), data, static_cast<int>(size)) != 1) return false;
  GENERAL_NAME_set0_value(name.get(), kind, value.release());
  if (sk_GENERAL_NAME_push(names, name.get()) <= 0) return false;
  (void)name.release();
  return true;
}

std::string text_of(const GENERAL_NAME* name) {
  int kind = 0;
  const auto* value = static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(name, &kind));
  const auto size =
      static_cast<std::size_t>(value && (kind == GEN_DNS || kind == GEN_IPADD) ? ASN1_STRING_length(value) : 0);
  if (size == 0) return "";
  const auto* data = ASN1_STRING_get0_data(value);
  if (kind == GEN_DNS) return std::string(reinterpret_cast<const char*>(data), size);
  char text[INET6_ADDRSTRLEN] = "";
  if (size == 4 || size == 16) ::inet_ntop(size == 4 ? AF_INET : AF_INET6, data, text, sizeof text);
  return text;
}

}  // namespace

Result<NamesHandle> alternative_names(const std::vector<std::string>& names) {
  if (names.empty() || names.size() > kMostNames)
    return Error{Code::invalid_argument,
                 fmt::format("a certificate has 1 to {} names, not {}", kMostNames, names.size())};
  NamesHandle made(GENERAL_NAMES_new());
  for (const auto& name : names) {
    const auto address = address_from(name);
    if (address.size == 0 && !is_host(name))
      return Error{Code::invalid_argument,
                   fmt::format("'{}' is neither a host's name nor an IP address: node1, node1.cluster.example, "
                               "*.cluster.example, 10.0.0.1 or fd00::1, without a port",
                               name)};
    const bool added = address.size > 0 ? append(made.get(), GEN_IPADD, address.bytes.data(), address.size)
                                        : append(made.get(), GEN_DNS, name.data(), name.size());
    if (!added) return Error{Code::unsupported, "a certificate's names: " + openssl_reason()};
  }
  return made;
}

std::vector<std::string> names_in(const X509* certificate) {
  const NamesHandle names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> found;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    auto text = text_of(sk_GENERAL_NAME_value(names.get(), i));
    if (!text.empty()) found.push_back(std::move(text));
  }
  return found;
}

}  // namespace yoke::security
