// A container's part on one server as a file, so that it outlives the process: layout, values, what the optimizer
// remembers, words about the model. docs/containers.md has the format.
#pragma once

#include <string>

#include "cluster/container.h"

namespace yoke::cluster {

// What is to be written, taken at one moment: values are held as they are, the optimizer's state is copied.
class ContainerCopy {
 public:
  // In the loop's thread.
  ContainerCopy(std::string name, wire::ShardId shard, std::uint32_t shards, const Networks& networks);
  wire::Version version() const { return version_; }
  // From any thread. Whole or not at all.
  Status write(const std::string& file) const;

 private:
  void add(std::shared_ptr<HostedNetwork> network);
  void add(std::uint64_t number);
  void add_copy(std::span<const std::byte> bytes);

  wire::Version version_ = 0;
  std::vector<std::shared_ptr<const void>> keep_;
  std::vector<std::span<const std::byte>> parts_;
};

// "NAME.0of2.container", for shard 0 of 2.
std::string container_file_name(const std::string& name, wire::ShardId shard, std::uint32_t shards);
// The name in it; empty: it is no such file.
std::string container_named(const std::string& file_name, wire::ShardId shard, std::uint32_t shards);

// Its networks, frozen, with their values in `arena`. Nothing in the file is trusted: Code::corrupt says what is wrong,
// Code::missing that it cannot be read.
Result<Networks> read_container(const std::string& file, const std::string& name, wire::ShardId shard,
                                std::uint32_t shards, Workers& workers, const std::shared_ptr<transport::Arena>& arena);

}  // namespace yoke::cluster
