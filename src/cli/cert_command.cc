#include "cli/cert_command.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "cli/exit_status.h"
#include "security/certificate_facts.h"
#include "security/certificate_folder.h"

namespace yoke::cli {
namespace {

struct NewFlags {
  std::string folder, from;
  std::vector<std::string> names;
  unsigned days = 365;
  bool client = false;
};

std::string day(std::time_t time) { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(time)); }

void print_facts(const security::CertificateFacts& facts) {
  fmt::print("names     {}\n", fmt::join(facts.names, ", "));
  fmt::print("issuer    {}\n", facts.issuer);
  fmt::print("valid     {} to {} (UTC)\n", day(facts.begins), day(facts.ends));
  fmt::print("may       {}\n", facts.serves && facts.dials ? "serve and dial"
                               : facts.serves              ? "serve"
                               : facts.dials               ? "dial, not serve"
                                                           : "do nothing here");
}

int show(const std::string& folder) {
  const auto facts = security::facts_of(folder);
  if (!facts) return fail(facts.error());
  print_facts(*facts);
  if (facts->has_authority_key) fmt::print("authority at home here: ca-key.pem is for no process of a job\n");
  if (!facts->problems.empty())
    return fail({Code::corrupt, fmt::format("{}: {}; `yoke cert new` makes one that holds", folder,
                                            fmt::join(facts->problems, "; "))});
  fmt::print("holds     key.pem belongs to cert.pem, and ca.pem vouches for it\n");
  return kDone;
}

void say_where(const NewFlags& flags, const std::string& home, bool is_new) {
  const auto& folder = flags.folder;
  if (is_new)
    fmt::print("A new authority is at home in {0}: {0}/ca-key.pem stays here, and goes to no other host.\n", home);
  fmt::print("{}/cert.pem and key.pem are for {}{}.\n", folder, fmt::join(flags.names, ", "),
             flags.client ? ", which may dial, not serve" : "");
  fmt::print(
      "That host gets {0}/ca.pem, {0}/cert.pem and {0}/key.pem (scp -p keeps the modes), in one folder, and its\n"
      "processes --certs FOLDER, or YOKE_CERTS=FOLDER in their environment.\n"
      "For the next host: yoke cert new OTHER-FOLDER NAME... --from {1}\n",
      folder, home);
}

int make(const NewFlags& flags) {
  const auto& home = flags.from.empty() ? flags.folder : flags.from;
  if (const auto free = security::check_no_member(flags.folder); !free) return fail(free.error());
  const auto authority = security::authority_in(home);
  if (!authority) return fail(authority.error());
  if (authority->is_new && !flags.from.empty())
    return fail({Code::missing, fmt::format("--from {}: no authority is at home there, with ca.pem and ca-key.pem; "
                                            "`yoke cert new {} NAME` makes one",
                                            flags.from, flags.from)});
  const auto member =
      security::issue(authority->certificate, {.names = flags.names, .serves = !flags.client, .days = flags.days});
  if (!member) return fail(member.error());
  if (authority->is_new)
    if (const auto written = security::write_authority(home, authority->certificate); !written)
      return fail(written.error());
  if (const auto written = security::write_member(flags.folder, authority->certificate.certificate, *member); !written)
    return fail(written.error());
  say_where(flags, home, authority->is_new);
  return kDone;
}

void add_new(CLI::App& cert, int& status) {
  auto flags = std::make_shared<NewFlags>();
  auto* command =
      cert.add_subcommand("new", "Make a certificate for a host, and an authority where there is none yet.");
  command->footer(
      "The names are those under which the others dial the host: its name, its IP addresses. The authority lives for\n"
      "ten years in the folder of the first certificate; nothing that is there is written over.\n"
      "Examples:\n"
      "  yoke cert new certs node1 10.0.0.1                       the first host; the authority is made\n"
      "  yoke cert new for-node2 node2 10.0.0.2 --from certs      the next one, of the same authority\n"
      "  yoke cert new certs '*.job.default.svc' localhost        one for all pods of a job\n"
      "  yoke cert new for-ann ann --client --from certs          for who asks, as `yoke status` does");
  command->add_option("folder", flags->folder, "where ca.pem, cert.pem and key.pem go")->required()->type_name("DIR");
  command->add_option("name", flags->names, "host name or IP address")->required()->type_name("NAME");
  command->add_option("--days", flags->days, "how long it is valid, but no longer than its authority")
      ->capture_default_str()
      ->check(CLI::Range(1u, 36500u));
  command->add_flag("--client", flags->client, "may only dial: a replica that hosts nothing, or who asks");
  command->add_option("--from", flags->from, "where the authority is at home")->type_name("DIR");
  command->callback([flags, &status] { status = make(*flags); });
}

void add_show(CLI::App& cert, int& status) {
  auto folder = std::make_shared<std::string>();
  auto* command =
      cert.add_subcommand("show", "Say whose certificate a folder has, for how long, and whether it holds.");
  command->footer(
      "Ends with 3 when a job would refuse it.\n"
      "Examples:\n"
      "  yoke cert show certs");
  command->add_option("folder", *folder, "with ca.pem, cert.pem and key.pem")->required()->type_name("DIR");
  command->callback([folder, &status] { status = show(*folder); });
}

}  // namespace

void add_cert(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("cert", "Certificates for TLS between hosts, from an authority of your own.");
  command->require_subcommand(1);
  add_new(*command, status);
  add_show(*command, status);
}

}  // namespace yoke::cli
