#include "cli/inspect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/scratch_folder.h"

namespace yoke::cli {
namespace {

using data::ScratchFolder;

constexpr double kInf = std::numeric_limits<double>::infinity();

template <class T>
StateTensor tensor(const std::string& name, DType type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {name, type, std::move(shape), {bytes.begin(), bytes.end()}};
}

std::string write_sample(const ScratchFolder& folder) {
  State state;
  state.tensors = {tensor<double>("scale", DType::f64, {2}, {1e300, NAN}),
                   tensor<float>("layer.weight", DType::f32, {2, 3}, {1, -2, 3, 0, -INFINITY, NAN}),
                   tensor<std::uint16_t>("half", DType::f16, {1}, {0x3c00}), tensor<float>("none", DType::f32, {0}, {}),
                   tensor<std::int64_t>("steps", DType::i64, {}, {7})};
  state.about = {{"model", "mlp"}, {"words", std::string(200, 'w') + "\n"}, {"\x1b[2J", "x"}};
  const auto file = folder.path() + "/m.safetensors";
  EXPECT_TRUE(checkpoint::write_model(file, state).ok());
  return file;
}

TEST(Inspect, CountsWhatIsFinite) {
  const auto stats = stats_of({3, -4, NAN, kInf, -kInf, 0});
  EXPECT_EQ(stats.nan, 1U);
  EXPECT_EQ(stats.infinite, 2U);
  EXPECT_EQ(stats.min, -4.0);
  EXPECT_EQ(stats.max, 3.0);
  EXPECT_DOUBLE_EQ(*stats.mean, -1.0 / 3);
  EXPECT_EQ(stats.norm, 5.0);
  EXPECT_EQ(stats_of({}).mean, std::nullopt);
  EXPECT_EQ(stats_of({NAN}).min, std::nullopt);
}

TEST(Inspect, ShowsATable) {
  ScratchFolder folder;
  const auto file = write_sample(folder);
  const auto inspection = inspect(file, false);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  const auto size = std::filesystem::file_size(file);
  EXPECT_EQ(as_text(*inspection), file + ": " + std::to_string(size) + " bytes, safetensors\n" +
                                      "  ?[2J: x\n"
                                      "  model: mlp\n"
                                      "  words: " +
                                      std::string(76, 'w') +
                                      "...\n"
                                      "\n"
                                      "tensor        type  shape   elements  bytes\n"
                                      "scale         F64   [2]            2     16\n"
                                      "steps         I64   []             1      8\n"
                                      "layer.weight  F32   [2, 3]         6     24\n"
                                      "none          F32   [0]            0      0\n"
                                      "half          F16   [1]            1      2\n"
                                      "\n"
                                      "5 tensors, 10 elements, 50 bytes\n");
}

TEST(Inspect, ShowsStatsOfFloatingTensors) {
  ScratchFolder folder;
  const auto inspection = inspect(write_sample(folder), true);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  const auto text = as_text(*inspection);
  const std::string table =
      "tensor        type  shape   elements  bytes     min    mean     max   norm  NaN  Inf\n"
      "scale         F64   [2]            2     16  1e+300  1e+300  1e+300    inf    1    0\n"
      "steps         I64   []             1      8       -       -       -      -    -    -\n"
      "layer.weight  F32   [2, 3]         6     24      -2     0.5       3  3.742    1    1\n"
      "none          F32   [0]            0      0       -       -       -      0    0    0\n"
      "half          F16   [1]            1      2       1       1       1      1    0    0\n";
  EXPECT_NE(text.find(table), std::string::npos) << text;
}

TEST(Inspect, SaysTheSameAsJson) {
  ScratchFolder folder;
  const auto file = write_sample(folder);
  const auto plain = nlohmann::json::parse(as_json(*inspect(file, false)));
  EXPECT_EQ(plain["file"], file);
  EXPECT_EQ(plain["file_bytes"], std::filesystem::file_size(file));
  EXPECT_EQ(plain["about"]["words"], std::string(200, 'w') + "\n");
  ASSERT_EQ(plain["tensors"].size(), 5U);
  EXPECT_EQ(plain["tensors"][2], nlohmann::json::parse(R"({"name": "layer.weight", "type": "F32", "shape": [2, 3],
                                                           "elements": 6, "bytes": 24})"));
  EXPECT_EQ(plain["total"], nlohmann::json::parse(R"({"tensors": 5, "elements": 10, "bytes": 50})"));

  const auto with_stats = nlohmann::json::parse(as_json(*inspect(file, true)));
  EXPECT_FALSE(with_stats["tensors"][1].contains("stats"));  // integers
  const auto& stats = with_stats["tensors"][2]["stats"];
  EXPECT_EQ(stats["min"], -2);
  EXPECT_EQ(stats["mean"], 0.5);
  EXPECT_EQ(stats["nan"], 1);
  EXPECT_EQ(stats["infinite"], 1);
  EXPECT_TRUE(with_stats["tensors"][3]["stats"]["min"].is_null());
}

TEST(Inspect, AFileWithoutTensorsIsFine) {
  ScratchFolder folder;
  const auto file = folder.path() + "/m.safetensors";
  ASSERT_TRUE(checkpoint::write_model(file, {}).ok());
  for (const bool stats : {false, true}) {
    EXPECT_EQ(as_text(*inspect(file, stats)), file + ": 16 bytes, safetensors\n0 tensors, 0 elements, 0 bytes\n");
    EXPECT_TRUE(nlohmann::json::parse(as_json(*inspect(file, stats)))["tensors"].empty());
  }
}

TEST(Inspect, TypesItCannotComputeWithAreListed) {
  ScratchFolder folder;
  std::string header = R"({"e":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}})";
  const std::string length = {static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0};
  const auto inspection = inspect(folder.plain("m.safetensors", length + header + "xy"), true);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_NE(as_text(*inspection).find("F8_E4M3"), std::string::npos);
  EXPECT_FALSE(inspection->stats[0].has_value());
}

TEST(Inspect, SaysWhatAnotherFileSeemsToBe) {
  ScratchFolder folder;
  const auto expect_error = [](const std::string& file, Code code, const std::string& words) {
    const auto inspection = inspect(file, false);
    ASSERT_FALSE(inspection.ok());
    EXPECT_EQ(inspection.error().code, code);
    EXPECT_EQ(inspection.error().message.find(file), 0U) << inspection.error().message;
    EXPECT_NE(inspection.error().message.find(words), std::string::npos) << inspection.error().message;
  };
  expect_error(folder.plain("a.pt", std::string("PK\3\4\0\0\10\10", 8) + "archive"), Code::corrupt, "TorchScript");
  expect_error(folder.plain("images", data::idx_content({0x803, 2, 3, 4}, 24)), Code::corrupt,
               "an idx file of 3 dimensions");
  expect_error(folder.plain("labels", data::idx_content({0x801, 2}, 2)), Code::corrupt, "an idx file of 1 dimension,");
  expect_error(folder.gzip("images.gz", "x"), Code::corrupt, "gzip");
  expect_error(folder.plain("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:4d\n"), Code::corrupt,
               "LFS");
  expect_error(folder.plain("other", "some words, and more"), Code::corrupt, "not a model file");
  expect_error(folder.plain("empty", ""), Code::corrupt, "too short");
  expect_error(folder.path() + "/absent", Code::missing, "No such file");
}

}  // namespace
}  // namespace yoke::cli
