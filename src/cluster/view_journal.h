// Views in a folder of a disk: FOLDER/views.journal, held with FOLDER/lock.
//
// The journal is a row of entries, little endian, with nothing between them:
//
//   8 bytes   "YOKEVIEW"
//   8 bytes   revision: the first entry's is at least 1, each further one's is one more
//   8 bytes   length of the view, at most kMaxViewBytes
//   ...       the view
//   8 bytes   XXH3-64 of all of the above
//
// Only further entries are appended. The first one comes into place whole, with the file, by a rename: when there was
// none, when an append would take the file past 1 MiB, and whenever it is opened, with the last entry that is whole. So
// an end that is torn off is what a crash left of an append and was never reported as stored; it is dropped. A first
// entry that is not whole, or one with whole ones behind it, is damage.
#pragma once

#include <memory>
#include <string>

#include "cluster/view_store.h"

namespace yoke::cluster {

// Code::refused names the process that has the folder already; Code::corrupt names the damaged file; Code::missing:
// the folder cannot be made, read or written.
Result<std::unique_ptr<ViewStore>> open_view_journal(const std::string& folder);

}  // namespace yoke::cluster
