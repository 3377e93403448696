#include "launch/place.h"

#include <gtest/gtest.h>

#include <map>

namespace yoke::launch {
namespace {

using Variables = std::map<std::string, std::string>;

Result<Place> find(const Variables& variables, const Whereabouts& here = {.node = "host"}) {
  return find_place(
      [&](const char* name) -> const char* {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      here);
}

Place place(const Variables& variables, const Whereabouts& here = {.node = "host"}) {
  const auto found = find(variables, here);
  EXPECT_TRUE(found) << found.error().message;
  return found ? *found : Place{};
}

void expect_refused(const Variables& variables, const std::string& words, const Whereabouts& here = {.node = "host"}) {
  const auto found = find(variables, here);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, Code::invalid_argument);
  EXPECT_NE(found.error().message.find(words), std::string::npos) << found.error().message;
}

const Variables kMpirun = {
    {"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "6"}, {"PMIX_NAMESPACE", "1234"}, {"PMIX_RANK", "2"}};
const Variables kSlurm = {{"SLURM_PROCID", "1"},  {"SLURM_NTASKS", "3"},       {"SLURM_JOB_ID", "17"},
                          {"SLURM_STEP_ID", "0"}, {"SLURM_CLUSTER_NAME", "c"}, {"SLURMD_NODENAME", "node2"}};
const Variables kPod = {{"JOB_COMPLETION_INDEX", "3"},
                        {"KUBERNETES_SERVICE_HOST", "10.0.0.1"},
                        {"YOKE_RANKS", "4"},
                        {"YOKE_FIRST", "yoke-0.yoke:7000"}};

Variables with(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}

TEST(Place, NoneByDefault) {
  EXPECT_EQ(place({}), Place{});
  // A network plugin of a cluster, and no Job.
  EXPECT_EQ(place({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}}), Place{});
}

TEST(Place, UnderMpirun) {
  const Place expected{
      .kind = Place::Kind::mpirun, .rank = 2, .ranks = 6, .node = "host", .job = "mpirun-1234", .pmix = true};
  EXPECT_EQ(place(kMpirun), expected);
  EXPECT_EQ(in_words(expected), "rank 2 of 6, under mpirun on host");
  EXPECT_FALSE(place(with(kMpirun, {{"PMIX_RANK", ""}})).pmix);
  // Inside of a step of Slurm, mpirun is the nearer one.
  EXPECT_EQ(place(with(kSlurm, kMpirun)).kind, Place::Kind::mpirun);
}

TEST(Place, UnderSlurm) {
  const Place expected{
      .kind = Place::Kind::slurm, .rank = 1, .ranks = 3, .node = "node2 host", .job = "slurm-c-17.0", .pmix = false};
  EXPECT_EQ(place(kSlurm), expected);
  EXPECT_TRUE(place(with(kSlurm, {{"PMIX_NAMESPACE", "slurm.pmix.17.0"}, {"PMIX_RANK", "1"}})).pmix);
}

// It has its old numbers.
TEST(Place, AJobThatWasPutBackIntoTheQueueIsAnother) {
  EXPECT_NE(place(with(kSlurm, {{"SLURM_RESTART_COUNT", "1"}})).job, place(kSlurm).job);
}

TEST(Place, ABatchScriptIsNoRank) {
  EXPECT_EQ(place(with(kSlurm, {{"SLURM_STEP_ID", ""}})), Place{});
  EXPECT_EQ(place(with(kSlurm, {{"SLURM_STEP_ID", "4294967291"}})), Place{});
}

TEST(Place, InAnIndexedJob) {
  const auto found = place(kPod);
  EXPECT_EQ(found.kind, Place::Kind::kubernetes);
  EXPECT_EQ(found.rank, 3u);
  EXPECT_EQ(found.ranks, 4u);
  EXPECT_EQ(found.first, "yoke-0.yoke:7000");
  expect_refused(with(kPod, {{"YOKE_RANKS", ""}}), "YOKE_RANKS");
  expect_refused(with(kPod, {{"YOKE_FIRST", ""}}), "YOKE_FIRST");
}

TEST(Place, ByHand) {
  const auto found = place(kMpirun, {.node = "host", .rank = "1/2", .folder = "/shared"});
  EXPECT_EQ(found.kind, Place::Kind::by_hand);
  EXPECT_EQ(found.rank, 1u);
  EXPECT_EQ(found.ranks, 2u);
  EXPECT_FALSE(found.pmix);
  expect_refused({}, "--meet DIR", {.node = "host", .rank = "1/2"});
  expect_refused({}, "--rank I/N", {.node = "host", .folder = "/shared"});
  for (const auto* rank : {"1", "a/2", "1/b", "-1/2", "2/2", "0/0", "1/2/3", "/", "0/99999999"})
    expect_refused({}, "", {.node = "host", .rank = rank, .folder = "/shared"});
}

TEST(Place, ASingleRankIsAJobOfThisMachine) {
  EXPECT_EQ(place(with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}})), Place{});
  EXPECT_EQ(place(with(kSlurm, {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})), Place{});
  EXPECT_EQ(place(with(kPod, {{"JOB_COMPLETION_INDEX", "0"}, {"YOKE_RANKS", "1"}, {"YOKE_FIRST", ""}})), Place{});
}

TEST(Place, NumbersThatAreNoneAreNamed) {
  expect_refused(with(kMpirun, {{"OMPI_COMM_WORLD_SIZE", ""}}), "OMPI_COMM_WORLD_SIZE");
  expect_refused(with(kMpirun, {{"OMPI_COMM_WORLD_RANK", "6"}}), "OMPI_COMM_WORLD_RANK=6");
  expect_refused(with(kSlurm, {{"SLURM_NTASKS", "many"}}), "SLURM_NTASKS=many");
  expect_refused(with(kPod, {{"JOB_COMPLETION_INDEX", "4"}}), "JOB_COMPLETION_INDEX=4");
}

TEST(Place, ThisNodeHasANameAndANetwork) { EXPECT_NE(this_node().find(" net:["), std::string::npos) << this_node(); }

}  // namespace
}  // namespace yoke::launch
