#include "cluster/container_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/write_whole.h"
#include "cluster/silent_outlet.h"
#include "wire/checksum.h"
#include "wire/codec.h"
#include "wire/limits.h"

namespace yoke::cluster {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little endian");

constexpr std::string_view kMagic = "YOKECONT";
constexpr std::uint64_t kFormat = 1;

Error damaged(const std::string& what) { return {Code::corrupt, what}; }

// The bytes of a file, one behind the other; past the end there is nothing.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : left_(bytes) {}

  std::size_t left() const { return left_.size(); }
  Result<std::span<const std::byte>> take(std::uint64_t bytes) {
    if (bytes > left_.size()) return damaged("it is cut off");
    const auto taken = left_.first(bytes);
    left_ = left_.subspan(bytes);
    return taken;
  }
  Result<std::uint64_t> number() {
    const auto bytes = take(sizeof(std::uint64_t));
    if (!bytes) return bytes.error();
    std::uint64_t value = 0;
    std::memcpy(&value, bytes->data(), sizeof value);
    return value;
  }
  Result<std::vector<float>> floats(std::uint64_t count) {
    if (count > left_.size() / sizeof(float)) return damaged("it is cut off");
    std::vector<float> values(count);
    const auto bytes = take(count * sizeof(float)).or_throw();
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }

 private:
  std::span<const std::byte> left_;
};

// A file, mapped to be read.
class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> open(const std::string& file) {
    const auto unreadable = [&] { return Error{Code::missing, std::strerror(errno)}; };
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return unreadable();
    struct stat about {};
    void* at = MAP_FAILED;
    if (::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0)
      at = ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (at == MAP_FAILED) return damaged("it is empty, or no file");
    return std::unique_ptr<MappedFile>(new MappedFile(at, static_cast<std::size_t>(about.st_size)));
  }
  ~MappedFile() { ::munmap(at_, size_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(at_), size_}; }

 private:
  MappedFile(void* at, std::size_t size) : at_(at), size_(size) {}
  void* at_;
  std::size_t size_;
};

std::uint64_t floats_in(const wire::Open& open, const core::BlockPlan& plan, wire::ShardId shard) {
  std::uint64_t floats = 0;
  if (shard < plan.shards())
    for (const auto id : plan.of_shard[shard]) floats += plan.blocks[id].size;
  if (shard == 0)
    for (const auto& slot : open.layout.slots) floats += slot.frozen ? slot.size() : 0;
  return floats;
}

Status read_values(Reader& in, HostedNetwork& network) {
  if (network.hosts())
    for (const auto id : network.plan().of_shard[network.shard()]) {
      const auto values = in.floats(network.plan().blocks[id].size);
      if (!values) return values.error();
      if (auto brought = network.bring({0, id, false, 0}, *values); !brought) return brought;
    }
  if (network.shard() != 0) return {};
  for (SlotId slot = 0; slot < network.layout().slots.size(); ++slot) {
    if (!network.layout().slots[slot].frozen) continue;
    const auto values = in.floats(network.layout().slots[slot].size());
    if (!values) return values.error();
    if (auto brought = network.bring({0, slot, true, 0}, *values); !brought) return brought;
  }
  return {};
}

Status read_state(Reader& in, HostedNetwork& network) {
  const auto memories = in.number();
  if (!memories) return memories.error();
  for (std::uint64_t i = 0; i < *memories; ++i) {
    const auto replica = in.number();
    if (!replica) return replica.error();
    if (*replica >= wire::kMaxMembers || !network.hosts()) return damaged("it has an optimizer's state of nobody");
    auto& memory = network.store()->updates().memory_of(static_cast<wire::ReplicaId>(*replica));
    for (const auto id : network.plan().of_shard[network.shard()]) {
      const auto updates = in.number();
      if (!updates) return updates.error();
      std::vector<std::vector<float>> arrays;
      for (std::size_t a = 0; a < memory.present(id).size(); ++a) {
        auto values = in.floats(network.plan().blocks[id].size);
        if (!values) return values.error();
        arrays.push_back(std::move(*values));
      }
      memory.restore(id, *updates, arrays);
    }
  }
  return {};
}

Result<std::shared_ptr<HostedNetwork>> read_network(Reader& in, wire::ShardId shard, std::uint32_t shards,
                                                    Workers& workers, const std::shared_ptr<transport::Arena>& arena) {
  static SilentOutlet nobody;
  const auto version = in.number();
  if (!version) return version.error();
  const auto length = in.number();
  if (!length) return length.error();
  const auto bytes = in.take(*length);
  if (!bytes) return bytes.error();
  auto decoded = wire::decode({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!decoded) return decoded.error();
  auto* open = std::get_if<wire::Open>(&*decoded);
  if (!open || open->terms.shards != shards) return damaged("it does not say what it has");
  std::uint64_t trained = 0;
  for (const auto& slot : open->layout.slots) trained += slot.frozen ? 0 : slot.size();
  if (trained == 0) return damaged("it has nothing to train");
  // Before memory is taken for it.
  if (trained / shards / 2 > in.left()) return damaged("it is cut off");
  if (floats_in(*open, core::plan_blocks(open->layout, shards), shard) > in.left() / sizeof(float))
    return damaged("it is cut off");
  auto network = std::make_shared<HostedNetwork>(open->network, shard, std::move(open->terms), std::move(open->layout),
                                                 std::move(open->about), nobody, workers, arena, nullptr);
  if (!network->ready()) return Error{Code::unsupported, "there is no memory for it"};
  if (auto values = read_values(in, *network); !values) return values.error();
  if (auto state = read_state(in, *network); !state) return state.error();
  network->restored(*version);
  return network;
}

}  // namespace

std::string container_file_name(const std::string& name, wire::ShardId shard, std::uint32_t shards) {
  return fmt::format("{}.{}of{}.container", name, shard, shards);
}

std::string container_named(const std::string& file_name, wire::ShardId shard, std::uint32_t shards) {
  const auto ending = container_file_name("", shard, shards);
  if (!file_name.ends_with(ending)) return "";
  auto name = file_name.substr(0, file_name.size() - ending.size());
  return wire::is_job_name(name) ? name : "";
}

// --- writing ---

ContainerCopy::ContainerCopy(std::string name, wire::ShardId shard, std::uint32_t shards, const Networks& networks) {
  add_copy(std::as_bytes(std::span(kMagic)));
  add(kFormat);
  add(name.size());
  add_copy(std::as_bytes(std::span(name)));
  add(shard);
  add(shards);
  add(networks.size());
  for (const auto& [index, network] : networks) add(network);
  version_ = version_of(networks);
}

void ContainerCopy::add_copy(std::span<const std::byte> bytes) {
  const auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  parts_.emplace_back(*copy);
  keep_.push_back(copy);
}

void ContainerCopy::add(std::uint64_t number) { add_copy(std::as_bytes(std::span(&number, 1))); }

void ContainerCopy::add(std::shared_ptr<HostedNetwork> network) {
  add(network->version());
  const auto open = wire::encode(wire::Open{network->number(), network->terms(), network->layout(), network->about()});
  add(open.size());
  add_copy(std::as_bytes(std::span(open)));
  if (network->hosts())
    for (const auto id : network->plan().of_shard[network->shard()]) {
      auto values = network->first(id);
      parts_.push_back(std::as_bytes(values.values));
      keep_.push_back(std::move(values.keep));
    }
  for (const auto& slot : network->frozen()) parts_.push_back(std::as_bytes(std::span(slot)));
  if (!network->hosts()) {
    add(0);
  } else {
    const auto& memories = network->store()->updates().memories();
    add(memories.size());
    for (const auto& [replica, memory] : memories) {
      add(replica);
      for (const auto id : network->plan().of_shard[network->shard()]) {
        add(memory.updates(id));
        for (const auto& array : memory.present(id)) add_copy(std::as_bytes(array));
      }
    }
  }
  keep_.push_back(std::move(network));
}

Status ContainerCopy::write(const std::string& file) const {
  wire::Checksum sum;
  for (const auto& part : parts_) sum.add(part);
  const auto value = sum.value();
  auto parts = parts_;
  parts.push_back(std::as_bytes(std::span(&value, 1)));
  return write_whole(file, parts);
}

// --- reading ---

Result<Networks> read_container(const std::string& file, const std::string& name, wire::ShardId shard,
                                std::uint32_t shards, Workers& workers,
                                const std::shared_ptr<transport::Arena>& arena) {
  const auto mapped = MappedFile::open(file);
  if (!mapped) return mapped.error();
  const auto all = (*mapped)->bytes();
  std::uint64_t value = 0;
  if (all.size() < sizeof value) return damaged("it is cut off");
  const auto body = all.first(all.size() - sizeof value);
  std::memcpy(&value, all.data() + body.size(), sizeof value);
  wire::Checksum sum;
  sum.add(body);
  if (sum.value() != value) return damaged("its checksum does not fit: it is cut off or damaged");
  Reader in(body);
  const auto magic = in.take(kMagic.size());
  if (!magic || std::memcmp(magic->data(), kMagic.data(), kMagic.size()) != 0) return damaged("it is no container");
  std::uint64_t header[3];
  for (auto* number : {&header[0], &header[1]}) {
    const auto read = in.number();
    if (!read) return read.error();
    *number = *read;
  }
  if (header[0] != kFormat) return damaged(fmt::format("its format is {}, this program reads {}", header[0], kFormat));
  const auto text = in.take(header[1]);
  if (!text || name != std::string_view(reinterpret_cast<const char*>(text->data()), text->size()))
    return damaged("it is of another container than its name says");
  for (auto& number : header) {
    const auto read = in.number();
    if (!read) return read.error();
    number = *read;
  }
  if (header[0] != shard || header[1] != shards) return damaged("it is of another server than its name says");
  Networks networks;
  for (std::uint64_t count = 0; count < header[2]; ++count) {
    auto network = read_network(in, shard, shards, workers, arena);
    if (!network) return network.error();
    const auto index = (*network)->number();
    if (!networks.empty() && index <= networks.rbegin()->first) return damaged("its networks are in disorder");
    networks.emplace(index, std::move(*network));
  }
  if (in.left() != 0) return damaged("something follows its end");
  return networks;
}

}  // namespace yoke::cluster
