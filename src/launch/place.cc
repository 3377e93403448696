#include "launch/place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace yoke::launch {
namespace {

constexpr std::uint32_t kMostRanks = 65'536;

Result<std::uint32_t> number(const std::string& what, const std::string& text, std::uint32_t below) {
  std::uint32_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [stopped, why] = std::from_chars(text.data(), end, value);
  if (why != std::errc() || stopped != end || value >= below)
    return Error{Code::invalid_argument, fmt::format("{}={}: it must be a number from 0 to {}", what, text, below - 1)};
  return value;
}

// Both or an error; a rank is below the number of ranks.
Status set_ranks(Place& place, const std::string& rank_name, const std::string& rank, const std::string& ranks_name,
                 const std::string& ranks) {
  const auto of = number(ranks_name, ranks, kMostRanks + 1);
  if (!of) return of.error();
  if (*of == 0) return Error{Code::invalid_argument, fmt::format("{}=0: there is at least 1 rank", ranks_name)};
  const auto own = number(rank_name, rank, *of);
  if (!own) return own.error();
  place.rank = *own;
  place.ranks = *of;
  return {};
}

Result<Place> by_hand(const Whereabouts& here) {
  Place place{.kind = Place::Kind::by_hand, .node = here.node, .job = "by-hand"};
  const auto slash = here.rank.find('/');
  if (slash == std::string::npos)
    return Error{Code::invalid_argument,
                 fmt::format("--rank {}: it is I/N, as in 0/2 and 1/2 on two hosts (numbered from 0)", here.rank)};
  if (auto set =
          set_ranks(place, "--rank I/N: I", here.rank.substr(0, slash), "--rank I/N: N", here.rank.substr(slash + 1));
      !set)
    return set.error();
  if (place.ranks > 1 && here.folder.empty())
    return Error{
        Code::invalid_argument,
        fmt::format("--rank {}: say with --meet DIR where the ranks find each other, a folder that all of them "
                    "see (on a shared file system)",
                    here.rank)};
  return place;
}

Result<Place> in_kubernetes(const Lookup& lookup, const Whereabouts& here) {
  Place place{.kind = Place::Kind::kubernetes, .node = here.node};
  const auto index = value_of(lookup, "JOB_COMPLETION_INDEX");
  const auto ranks = value_of(lookup, "YOKE_RANKS");
  if (ranks.empty())
    return Error{Code::invalid_argument,
                 "this is a pod of an indexed Job, but YOKE_RANKS is not set: give it the value of `completions` "
                 "(deploy/kubernetes has an example)"};
  if (auto set = set_ranks(place, "JOB_COMPLETION_INDEX", index, "YOKE_RANKS", ranks); !set) return set.error();
  place.first = value_of(lookup, "YOKE_FIRST");
  if (place.first.empty() && place.ranks > 1)
    return Error{
        Code::invalid_argument,
        "this is a pod of an indexed Job, but YOKE_FIRST is not set: give it HOST:PORT at which pod 0 is found "
        "through the headless service (deploy/kubernetes has an example)"};
  place.job = "kubernetes-" + place.first.substr(0, place.first.find(':'));
  return place;
}

Result<Place> under_mpirun(const Lookup& lookup, const Whereabouts& here) {
  Place place{.kind = Place::Kind::mpirun, .node = here.node};
  if (auto set = set_ranks(place, "OMPI_COMM_WORLD_RANK", value_of(lookup, "OMPI_COMM_WORLD_RANK"),
                           "OMPI_COMM_WORLD_SIZE", value_of(lookup, "OMPI_COMM_WORLD_SIZE"));
      !set)
    return set.error();
  place.job = "mpirun-" + value_of(lookup, "PMIX_NAMESPACE");
  place.pmix = !value_of(lookup, "PMIX_NAMESPACE").empty() && !value_of(lookup, "PMIX_RANK").empty();
  return place;
}

Result<Place> under_slurm(const Lookup& lookup, const Whereabouts& here) {
  Place place{.kind = Place::Kind::slurm};
  if (auto set = set_ranks(place, "SLURM_PROCID", value_of(lookup, "SLURM_PROCID"), "SLURM_NTASKS",
                           value_of(lookup, "SLURM_NTASKS"));
      !set)
    return set.error();
  // Several nodes of Slurm may be one host.
  const auto name = value_of(lookup, "SLURMD_NODENAME");
  place.node = name.empty() ? here.node : name + " " + here.node;
  // A job that was put back into the queue has its old number, and its steps too.
  const auto again = value_of(lookup, "SLURM_RESTART_COUNT");
  place.job = fmt::format("slurm-{}-{}.{}{}", value_of(lookup, "SLURM_CLUSTER_NAME"), value_of(lookup, "SLURM_JOB_ID"),
                          value_of(lookup, "SLURM_STEP_ID"), again.empty() ? "" : "-" + again);
  place.pmix = !value_of(lookup, "PMIX_NAMESPACE").empty() && !value_of(lookup, "PMIX_RANK").empty();
  return place;
}

// Slurm gives the batch script itself, and other steps that srun has not made, numbers near the end of the range.
bool in_a_step(const Lookup& lookup) {
  const auto step = value_of(lookup, "SLURM_STEP_ID");
  return !value_of(lookup, "SLURM_PROCID").empty() && !step.empty() && static_cast<bool>(number("", step, 0xfffffff0));
}

}  // namespace

Result<Place> find_place(const Lookup& lookup, const Whereabouts& here) {
  const auto set = [&](const char* name) { return !value_of(lookup, name).empty(); };
  if (here.rank.empty() && !here.folder.empty())
    return Error{Code::invalid_argument, "--meet goes with --rank I/N: say which of the ranks this is"};
  Result<Place> place = Place{};
  if (!here.rank.empty()) {
    place = by_hand(here);
  } else if (set("JOB_COMPLETION_INDEX") && set("KUBERNETES_SERVICE_HOST")) {
    place = in_kubernetes(lookup, here);
  } else if (set("OMPI_COMM_WORLD_RANK")) {
    place = under_mpirun(lookup, here);
  } else if (in_a_step(lookup)) {
    place = under_slurm(lookup, here);
  }
  if (place && place->ranks == 1) return Place{};
  return place;
}

std::string in_words(const Place& place) {
  const auto* where = "";
  switch (place.kind) {
    case Place::Kind::none:
      return "alone";
    case Place::Kind::mpirun:
      where = ", under mpirun";
      break;
    case Place::Kind::slurm:
      where = ", under Slurm";
      break;
    case Place::Kind::kubernetes:
      where = ", in Kubernetes";
      break;
    case Place::Kind::by_hand:
      break;
  }
  return fmt::format("rank {} of {}{} on {}", place.rank, place.ranks, where,
                     place.node.substr(0, place.node.find(' ')));
}

std::string this_host() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

std::string this_node() {
  const auto name = this_host();
  std::error_code unknown;
  const auto network = std::filesystem::read_symlink("/proc/self/ns/net", unknown).string();
  return network.empty() ? name : fmt::format("{} {}", name, network);
}

}  // namespace yoke::launch
