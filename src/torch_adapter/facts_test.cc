#include "torch_adapter/facts.h"

#include <gtest/gtest.h>

namespace yoke::torch_adapter {
namespace {

TEST(BlasName, IsOfTheFileThatMultiplies) {
  const std::string config = "OpenBLAS 0.3.21 NO_AFFINITY USE64BITINT Haswell MAX_THREADS=64";
  EXPECT_EQ(blas_name("/usr/lib/x/openblas-pthread/libblas.so.3", config, ""), "OpenBLAS 0.3.21");
  EXPECT_EQ(blas_name("/usr/lib/x/libopenblasp-r0.3.21.so", "", ""), "OpenBLAS");
  // OpenBLAS is loaded by somebody else, but the multiplication is not its.
  EXPECT_EQ(blas_name("/usr/lib/x/blas/libblas.so.3.11.0", config, ""),
            "reference BLAS (/usr/lib/x/blas/libblas.so.3.11.0)");
  EXPECT_EQ(blas_name("/opt/libatlas.so.3", "", ""), "/opt/libatlas.so.3");
  EXPECT_EQ(blas_name("", "", ""), "none");
  EXPECT_EQ(blas_name("/x/libtorch_cpu.so", "", "Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build 1"),
            "Intel(R) oneAPI Math Kernel Library Version 2024.2");
}

TEST(Facts, OfThisLibTorch) {
  const auto here = facts();
  EXPECT_GE(std::stoi(here.libtorch), 1);
  EXPECT_FALSE(here.blas.empty());
  ASSERT_FALSE(here.devices.empty());
  EXPECT_EQ(here.devices.front(), "cpu");
}

TEST(Flops, MultipliesAtLeastOnce) { EXPECT_GT(flops(1, 0), 0); }

}  // namespace
}  // namespace yoke::torch_adapter
