// What one launcher does in a job that several launchers run: it meets the others, and they agree on who starts what,
// where the first process listens, and by which keys they know each other.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "launch/meeting.h"
#include "launch/place.h"
#include "launch/roles.h"
#include "transport/address.h"
#include "yoke/error.h"

namespace yoke::launch {

struct PostAsked {
  RolesAsked roles;
  std::string folder;     // where to meet; "": see meet()
  std::string host;       // the address of this host at which others reach it; "": reachable_host()
  std::string transport;  // of ranks on one node: shm, unix or tcp
  std::string scratch;    // a private folder of this process, for sockets and keys
};

class Post {
 public:
  // Waits for all ranks of the place; at none there is nobody to wait for. Code::invalid_argument: the roles do not go
  // together, or the ranks were asked for different ones.
  static Result<std::unique_ptr<Post>> take(const Lookup& lookup, const Place& place, const PostAsked& asked,
                                            const Waiting& waiting);

  const Place& place() const { return place_; }
  const Roles& roles() const { return roles_; }
  const Part& part() const { return roles_.parts[place_.rank]; }
  bool alone() const { return place_.kind == Place::Kind::none; }
  // The first process of the job is started here: the server of shard 0, under mirrored replica 0.
  bool has_first() const;
  // What the processes of this part find in their environment.
  const std::vector<std::string>& environment() const { return environment_; }

  // Where a server of this name ("s1") is to listen; `join`: where the first one does, "" for the first itself.
  Result<std::string> listen(const std::string& name, const std::string& join) const;
  // Where the replicas of this part are to listen under mirrored, in their order: places that the others can be told
  // beforehand. `join`: where replica 0 does, "" where that is one of them.
  Result<std::vector<std::string>> listen_replicas(const std::string& join) const;
  // Tells the others where the first process listens, with which the meeting is over.
  Status announce(const std::string& join, const Waiting& waiting);
  // Hears it from them instead.
  Result<std::string> hear(const Waiting& waiting);

 private:
  Post(const Place& place, const PostAsked& asked) : place_(place), asked_(asked) {}
  Status meet_others(const Lookup& lookup, const Waiting& waiting);
  Status settle(const std::vector<std::string>& nodes);
  Result<std::string> await_first_pod(const Waiting& waiting) const;
  std::string host() const;  // of this rank, for the others
  transport::Address in_pod(bool first) const;

  const Place place_;
  const PostAsked asked_;
  Roles roles_;
  std::string sockets_;  // a folder that all ranks of one node see; "": they talk over TCP
  std::vector<std::string> environment_;
  std::unique_ptr<Meeting> meeting_;
};

}  // namespace yoke::launch
