// Views in etcd, which keeps them on a majority of its members' disks: the key /yoke/NAME/view, over etcd's JSON
// gateway (POST /v3/kv/range and /v3/kv/txn). A view's revision is the key's mod_revision. It is plain HTTP without a
// user's name: whoever reaches etcd, or sits between, can change what is there.
//
// The value is the line "yoke-view 1 WRITER REVISION" and the view behind it: 32 random hexadecimal digits that each
// store draws for itself, and the revision that the view was saved from. By them a store knows its own again when it
// has not heard the answer and asks once more, and never takes another's for its own, even of the same bytes.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cluster/view_store.h"
#include "transport/address.h"

namespace yoke::cluster {

struct EtcdPatience {
  std::chrono::milliseconds each{1000};  // with one member: connecting, asking, and the whole answer
  // With all of them, while at least one is there but has no leader or does not answer: an election takes a second or
  // two. All are asked once in any case.
  std::chrono::milliseconds all{5000};
};

// `endpoints`: at least one, tcp. `name`: a job's (wire::is_job_name). What load and save answer when nobody does:
// Code::peer_down or, where all are there but silent, Code::timed_out; Code::unsupported where etcd says that it does
// not take the request, Code::corrupt for answers that are none. The message names every member and its reason.
Result<std::unique_ptr<ViewStore>> open_etcd_store(std::vector<transport::Address> endpoints, const std::string& name,
                                                   EtcdPatience patience = {});

}  // namespace yoke::cluster
