#include "torch_adapter/facts.h"

#include <ATen/ATen.h>
#include <ATen/Version.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/cuda.h>
#include <torch/version.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "torch_adapter/threads.h"

namespace yoke::torch_adapter {
namespace {

template <class Function>
Function find(const char* name, void* library = RTLD_DEFAULT) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string text_of(const char* name) {
  const auto function = find<const char* (*)()>(name);
  return function ? function() : "";
}

// The library's own word: the headers' may be another's.
std::string libtorch_version() {
  const auto settings = at::show_config();
  constexpr std::string_view kKey = "TORCH_VERSION=";
  const auto begin = settings.find(kKey);
  if (begin == std::string::npos) return TORCH_VERSION;
  const auto version = settings.substr(begin + kKey.size());
  return version.substr(0, version.find_first_of(", \n"));
}

std::string file_of_sgemm() {
  Dl_info found{};
  const auto sgemm = dlsym(RTLD_DEFAULT, "sgemm_");
  if (!sgemm || dladdr(sgemm, &found) == 0 || !found.dli_fname) return "";
  std::error_code unresolved;
  const auto file = std::filesystem::canonical(found.dli_fname, unresolved);
  return unresolved ? found.dli_fname : file.string();
}

// A card's name and memory come from the driver, which LibTorch has loaded already where it counts cards: CUDA's own
// headers and libraries are not needed to build this. "": the driver does not say.
std::string describe_card(int index) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);  // stays: LibTorch needs it
  if (!driver) return "";
  const auto init = find<int (*)(unsigned)>("cuInit", driver);
  const auto get = find<int (*)(int*, int)>("cuDeviceGet", driver);
  const auto name_of = find<int (*)(char*, int, int)>("cuDeviceGetName", driver);
  const auto memory_of = find<int (*)(std::size_t*, int)>("cuDeviceTotalMem_v2", driver);
  int card = 0;
  char name[256] = {};
  std::size_t memory = 0;
  if (!init || !get || !name_of || !memory_of || init(0) != 0 || get(&card, index) != 0 ||
      name_of(name, sizeof name, card) != 0 || memory_of(&memory, card) != 0)
    return "";
  return fmt::format(" ({}, {} GiB)", name, memory >> 30);
}

std::vector<std::string> devices() {
  std::vector<std::string> devices{"cpu"};
  const auto cards = static_cast<int>(torch::cuda::device_count());
  for (int card = 0; card < cards; ++card) devices.push_back(fmt::format("cuda:{}{}", card, describe_card(card)));
  return devices;
}

}  // namespace

std::string blas_name(const std::string& sgemm_file, const std::string& openblas_config, const std::string& mkl) {
  if (!mkl.empty()) return mkl.substr(0, mkl.find("-Product"));
  if (sgemm_file.find("openblas") != std::string::npos) {
    const auto version = openblas_config.find(' ');  // "OpenBLAS 0.3.21 NO_AFFINITY ..."
    return version == std::string::npos ? "OpenBLAS"
                                        : openblas_config.substr(0, openblas_config.find(' ', version + 1));
  }
  if (sgemm_file.find("/blas/") != std::string::npos) return fmt::format("reference BLAS ({})", sgemm_file);
  return sgemm_file.empty() ? "none" : sgemm_file;
}

Facts facts() {
  Facts facts;
  facts.libtorch = libtorch_version();
  facts.blas = blas_name(file_of_sgemm(), text_of("openblas_get_config"), at::hasMKL() ? at::get_mkl_version() : "");
  if (facts.blas.starts_with("OpenBLAS")) facts.kernels = text_of("openblas_get_corename");
  facts.devices = devices();
  return facts;
}

double flops(std::uint32_t threads, double seconds) {
  constexpr std::int64_t kSide = 1024;
  constexpr double kOperations = 2.0 * kSide * kSide * kSide;
  using Clock = std::chrono::steady_clock;
  use_threads(threads);
  const auto a = at::ones({kSide, kSide}), b = at::ones({kSide, kSide});
  auto c = at::empty({kSide, kSide});
  at::mm_out(c, a, b);  // threads are started and pages faulted in before the clock is looked at
  double best = 0;
  const auto begin = Clock::now();
  for (auto now = begin; best == 0 || now - begin < std::chrono::duration<double>(seconds);) {
    at::mm_out(c, a, b);
    const auto after = Clock::now();
    best = std::max(best, kOperations / std::max(std::chrono::duration<double>(after - now).count(), 1e-9));
    now = after;
  }
  return best;
}

}  // namespace yoke::torch_adapter
