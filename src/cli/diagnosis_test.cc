#include "cli/diagnosis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "train/blas_kernels.h"

namespace yoke::cli {
namespace {

using Mark = Finding::Mark;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// A machine with nothing wrong.
Examined healthy() {
  Examined examined{.torch = torch_adapter::Facts{"1.13.1", "OpenBLAS 0.3.21", "SkylakeX", {"cpu", "cuda:0 (A card)"}}};
  auto& machine = examined.machine;
  machine.cpu = {"A CPU", {"avx2", "fma", "avx512f"}};
  machine.cores = machine.cores_there = 4;
  machine.memory = 16 * kGiB;
  machine.memory_available = machine.shared_memory = machine.shared_memory_free = 8 * kGiB;
  machine.open_files = 1024;
  machine.huge_pages = "madvise";
  examined.copy_one = 10e9;
  examined.copy_all = 30e9;
  examined.flops_one = 100e9;
  examined.flops_all = 380e9;
  examined.better_kernels = "SkylakeX";
  return examined;
}

Finding finding_of(const Examined& examined, const std::string& what) {
  for (const auto& finding : diagnose(examined))
    if (finding.what == what) return finding;
  ADD_FAILURE() << "nothing is said of " << what;
  return {};
}

void expect_finding(const Examined& examined, const std::string& what, Mark mark, const std::string& fact,
                    const std::string& remedy) {
  const auto finding = finding_of(examined, what);
  EXPECT_EQ(finding.mark, mark) << what;
  EXPECT_NE(finding.fact.find(fact), std::string::npos) << what << ": " << finding.fact;
  EXPECT_NE(finding.remedy.find(remedy), std::string::npos) << what << ": " << finding.remedy;
  EXPECT_EQ(is_any_wrong(diagnose(examined)), mark == Mark::wrong) << what;
}

TEST(Diagnosis, NothingIsWrong) {
  const auto findings = diagnose(healthy());
  for (const auto& finding : findings) {
    EXPECT_EQ(finding.mark, Mark::ok) << finding.what << ": " << finding.fact;
    EXPECT_EQ(finding.remedy, "") << finding.what;
  }
  EXPECT_FALSE(is_any_wrong(findings));
  expect_finding(healthy(), "devices", Mark::ok, "cpu, cuda:0 (A card)", "");
  expect_finding(healthy(), "multiplying", Mark::ok, "100 GFLOP/s on one thread (78 % of 128", "");
  expect_finding(healthy(), "copying", Mark::ok, "10.0 GB/s on one thread, 30.0 on 4", "");
}

TEST(Diagnosis, OldKernels) {
  auto examined = healthy();
  examined.torch->kernels = "Prescott";
  expect_finding(examined, "BLAS", Mark::wrong, "kernels Prescott", "OPENBLAS_CORETYPE=SkylakeX");
  examined.better_kernels = "";  // a CPU that really is old
  expect_finding(examined, "BLAS", Mark::ok, "kernels Prescott", "");
  EXPECT_TRUE(train::are_old_kernels("Prescott"));
  EXPECT_FALSE(train::are_old_kernels("Zen"));
}

TEST(Diagnosis, ReferenceBlas) {
  auto examined = healthy();
  examined.torch->blas = "reference BLAS (/x/blas/libblas.so.3)";
  examined.torch->kernels = "";
  expect_finding(examined, "BLAS", Mark::wrong, "/x/blas/libblas.so.3", "apt-get install libopenblas0-pthread");
}

TEST(Diagnosis, SlowMultiplication) {
  auto examined = healthy();
  examined.flops_one = 20e9;
  expect_finding(examined, "multiplying", Mark::wrong, "20 GFLOP/s on one thread (16 %", "OPENBLAS_CORETYPE=SkylakeX");
  examined.machine.load = 4.5;
  expect_finding(examined, "multiplying", Mark::note, "(16 %", "other programs compute too (load 4.5)");
  examined.machine.cpu.instructions = {"avx2", "fma"};
  expect_finding(examined, "multiplying", Mark::ok, "(31 % of 64", "");
}

TEST(Diagnosis, WithoutTheAdapterTheRestIsStillSaid) {
  auto examined = healthy();
  examined.torch = Error{Code::unsupported, "the LibTorch adapter cannot be loaded: libyoke_torch.so"};
  expect_finding(examined, "LibTorch", Mark::wrong, "libyoke_torch.so", "apt-get install libtorch-dev");
  EXPECT_EQ(finding_of(examined, "memory").mark, Mark::ok);
  for (const auto& finding : diagnose(examined)) EXPECT_NE(finding.what, "BLAS");
}

TEST(Diagnosis, TightLimitsAreNotes) {
  auto examined = healthy();
  auto& machine = examined.machine;
  machine.cores = 1;
  machine.quota = 1.5;
  machine.memory_available = kGiB / 2;
  machine.shared_memory_free = kGiB / 16;
  machine.locked_memory = 8 << 20;
  machine.open_files = 256;
  machine.huge_pages = "never";
  machine.malloc_settings = {"MALLOC_ARENA_MAX=2", "MALLOC_TRIM_THRESHOLD_=1"};
  examined.copy_one = examined.copy_all = 0;
  expect_finding(examined, "cores", Mark::note, "1 of 4, by a control group's quota of 1.5", "--cpus");
  expect_finding(examined, "memory", Mark::note, "512 MiB available", "--memory");
  expect_finding(examined, "copying", Mark::note, "not measured", "memory");
  expect_finding(examined, "shared memory", Mark::note, "64 MiB free", "--shm-size");
  expect_finding(examined, "locked memory", Mark::note, "8.0 MiB", "ulimit -l");
  expect_finding(examined, "open files", Mark::note, "256", "ulimit -n");
  expect_finding(examined, "huge pages", Mark::note, "never", "transparent_hugepage");
  expect_finding(examined, "malloc", Mark::note, "MALLOC_TRIM_THRESHOLD_=1", "unset");
}

TEST(Diagnosis, WhatCannotBeToldIsNotMadeUp) {
  auto examined = healthy();
  examined.machine = {};
  examined.flops_one = 100e9;
  expect_finding(examined, "CPU", Mark::ok, "unknown", "");
  expect_finding(examined, "memory", Mark::note, "cannot be told", "");
  expect_finding(examined, "shared memory", Mark::note, "no /dev/shm", "");
  expect_finding(examined, "huge pages", Mark::note, "cannot be told", "");
  expect_finding(examined, "open files", Mark::ok, "unlimited", "");
}

TEST(Diagnosis, TableAndJson) {
  const std::vector<Finding> findings{{Mark::ok, "CPU", "fast", ""}, {Mark::wrong, "BLAS", "slow", "change \"it\""}};
  EXPECT_EQ(as_table(findings),
            "ok     CPU   fast\n"
            "WRONG  BLAS  slow\n"
            "             -> change \"it\"\n");
  auto examined = healthy();
  examined.copy_all = 0;
  const auto json = nlohmann::json::parse(as_json(findings, examined));
  EXPECT_EQ(json["wrong"], true);
  EXPECT_EQ(json["findings"][1]["mark"], "WRONG");
  EXPECT_EQ(json["findings"][1]["remedy"], "change \"it\"");
  EXPECT_FALSE(json["findings"][0].contains("remedy"));
  EXPECT_EQ(json["values"]["cores"], 4);
  EXPECT_EQ(json["values"]["kernels"], "SkylakeX");
  EXPECT_TRUE(json["values"]["copy_bytes_per_second_all_cores"].is_null());
  EXPECT_TRUE(json["values"]["locked_memory_limit_bytes"].is_null());
  examined.torch = Error{};
  EXPECT_FALSE(nlohmann::json::parse(as_json(findings, examined))["values"].contains("blas"));
}

}  // namespace
}  // namespace yoke::cli
