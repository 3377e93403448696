#include "launch/cores.h"

#include <gtest/gtest.h>

#include "launch/launch_fixture.h"

namespace yoke::launch {
namespace {

using Cores = std::vector<unsigned>;

TEST(Cores, OneEachWhereThereAreJustAsMany) {
  EXPECT_EQ(a_core_each(3, {0, 2, 5}), (Cores{0, 2, 5}));
  EXPECT_EQ(a_core_each(2, {0, 2, 5}), Cores{}) << "who else runs here may want the ones that are left, or these";
  EXPECT_EQ(a_core_each(4, {0, 2, 5}), Cores{});
  EXPECT_EQ(a_core_each(1, {}), Cores{});
}

TEST(Cores, AChildRunsOnItsCoreAlone) {
  const auto cores = cores_here();
  ASSERT_FALSE(cores.empty());
  for (const auto core : cores) {
    auto spec = shell("a", "grep Cpus_allowed_list /proc/self/status");
    spec.core = core;
    EXPECT_EQ(said_by(spec), Strings{"a> Cpus_allowed_list:\t" + std::to_string(core)});
  }
}

}  // namespace
}  // namespace yoke::launch
