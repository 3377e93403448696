// The library is loaded only where there is a server to talk to: no other process of a job pays for it, and the command
// runs on machines that do not have it.
#include "launch/meeting.h"

#ifdef YOKE_PMIX

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace yoke::launch {
namespace {

constexpr std::chrono::milliseconds kLookForRanks{5};

struct Library {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Error_string) words = nullptr;

  // It stays loaded: its thread may still be at work when the meeting is over. Global, because its plug-ins want it so.
  bool load() {
    void* const library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_GLOBAL);
    if (!library) return false;
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find(init, "PMIx_Init") && find(put, "PMIx_Put") && find(commit, "PMIx_Commit") &&
           find(fence, "PMIx_Fence_nb") && find(get, "PMIx_Get") && find(finalize, "PMIx_Finalize") &&
           find(words, "PMIx_Error_string");
  }
};

template <typename Key>
pmix_info_t flag(const Key& key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// What the library's thread says; it may do so after the wait was given up.
struct Fence {
  std::atomic<bool> over{false};
  std::atomic<pmix_status_t> status{PMIX_SUCCESS};
};

void on_fence(pmix_status_t status, void* fence) {
  const std::unique_ptr<std::shared_ptr<Fence>> own(static_cast<std::shared_ptr<Fence>*>(fence));
  (*own)->status = status;
  (*own)->over = true;
}

class PmixMeeting : public Meeting {
 public:
  PmixMeeting(const Library& library, const Place& place) : library_(library), ranks_(place.ranks) {}

  Status begin() {
    const auto status = library_.init(&self_, nullptr, 0);
    begun_ = status == PMIX_SUCCESS;
    return begun_ ? Status() : problem("PMIx_Init", status);
  }

  // A rank that begins and does not end this in good order is taken for one that has crashed.
  ~PmixMeeting() override {
    if (begun_ && !waits_) library_.finalize(nullptr, 0);
  }

  Result<std::vector<std::string>> exchange(const std::string& mine, const Waiting& waiting) override {
    const auto key = fmt::format("yoke.{}", round_++);
    pmix_value_t value{};
    value.type = PMIX_STRING;
    auto text = mine;
    value.data.string = text.data();
    if (auto status = library_.put(PMIX_GLOBAL, key.c_str(), &value); status != PMIX_SUCCESS)
      return problem("PMIx_Put", status);
    if (auto status = library_.commit(); status != PMIX_SUCCESS) return problem("PMIx_Commit", status);
    if (auto met = fence(waiting); !met) return met.error();
    std::vector<std::string> heard;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      pmix_proc_t who{};
      std::memcpy(who.nspace, self_.nspace, sizeof who.nspace);
      who.rank = rank;
      pmix_value_t* said = nullptr;
      if (auto status = library_.get(&who, key.c_str(), nullptr, 0, &said); status != PMIX_SUCCESS)
        return problem(fmt::format("PMIx_Get of rank {}", rank), status);
      if (said->type != PMIX_STRING)
        return Error{Code::corrupt, fmt::format("rank {} has said no text over PMIx", rank)};
      heard.emplace_back(said->data.string);
      std::free(said->data.string);
      std::free(said);
    }
    return heard;
  }

 private:
  // All are there, and what they have put is everywhere.
  Status fence(const Waiting& waiting) {
    const auto state = std::make_shared<Fence>();
    auto collect = flag(PMIX_COLLECT_DATA);
    auto handed = std::make_unique<std::shared_ptr<Fence>>(state);
    const auto begun = library_.fence(nullptr, 0, &collect, 1, on_fence, handed.get());
    if (begun != PMIX_SUCCESS) return problem("PMIx_Fence_nb", begun);
    static_cast<void>(handed.release());  // on_fence has it
    while (!state->over) {
      waits_ = true;
      if (Waiting::Clock::now() >= waiting.deadline)
        return Error{Code::timed_out,
                     fmt::format("rank {} has waited in vain over PMIx: not all {} ranks came", self_.rank, ranks_)};
      if (!waiting.pause(kLookForRanks))
        return Error{Code::cancelled, "told to stop while waiting for the other ranks"};
    }
    waits_ = false;
    return state->status == PMIX_SUCCESS ? Status() : problem("PMIx_Fence", state->status);
  }

  Error problem(const std::string& what, pmix_status_t status) const {
    return Error{Code::unsupported, fmt::format("{} failed: {}", what, library_.words(status))};
  }

  const Library library_;
  const std::uint32_t ranks_;
  pmix_proc_t self_{};
  unsigned round_ = 0;
  bool begun_ = false, waits_ = false;
};

}  // namespace

Result<std::unique_ptr<Meeting>> meet_over_pmix(const Place& place) {
  Library library;
  if (!library.load()) return Error{Code::unsupported, "libpmix.so.2 cannot be loaded"};
  auto meeting = std::make_unique<PmixMeeting>(library, place);
  if (auto begun = meeting->begin(); !begun) return begun.error();
  return std::unique_ptr<Meeting>(std::move(meeting));
}

}  // namespace yoke::launch

#else

namespace yoke::launch {

Result<std::unique_ptr<Meeting>> meet_over_pmix(const Place&) {
  return Error{Code::unsupported, "this Yoke was built without PMIx"};
}

}  // namespace yoke::launch

#endif
