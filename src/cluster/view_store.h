// Where a coordinator keeps the view that it decided last, so that it comes back from there, and so that two of them
// never rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "yoke/error.h"

namespace yoke::cluster {

inline constexpr std::size_t kMaxViewBytes = 8u << 20;

// One thread at a time. Both calls block: on a folder for as long as the disk takes, on etcd up to a few seconds.
class ViewStore {
 public:
  struct Stored {
    std::string bytes;
    std::uint64_t revision = 0;  // 0: nothing was ever stored
  };

  virtual ~ViewStore() = default;
  // What it answers has reached the disk (a majority of disks).
  virtual Result<Stored> load() = 0;
  // Stored only if nobody else has stored anything since `revision`; the new revision. It has reached the disk (a
  // majority of disks) when this returns.
  //
  // Code::refused: somebody else has, and theirs is what is there. Code::invalid_argument: more than kMaxViewBytes.
  // After any other error nobody knows whether it was stored, or still will be: save again from the same revision, or
  // load and see.
  virtual Result<std::uint64_t> save(const std::string& bytes, std::uint64_t revision) = 0;
};

// `where`: a folder, which is made if needed and is this process's alone until the store is destroyed, or
// etcd://HOST:PORT[,HOST:PORT...]/NAME, where NAME is the job's ("yoke" where none is given). etcd is not asked yet.
Result<std::unique_ptr<ViewStore>> open_view_store(const std::string& where);

}  // namespace yoke::cluster
