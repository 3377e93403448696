// Folders are the architecture, and includes only point down: this reads every #include against one table.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

struct Layer {
  std::string name;
  Strings below;  // it may include these, and whatever they may
};

// The folders under src/, from the bottom up. All of them may include the public headers, but see kTorchHeader.
const std::vector<Layer> kLayers = {
    {"base", {}},
    {"wire", {"base"}},
    {"kernel", {"base"}},
    {"core", {"base", "wire"}},
    {"checkpoint", {"base", "wire", "core"}},
    {"history", {"base", "wire", "core"}},
    {"sim", {"core", "history", "checkpoint"}},
    {"security", {"base"}},
    {"transport", {"base", "wire", "security"}},
    {"collective", {"core", "kernel", "transport"}},
    {"cluster", {"core", "kernel", "transport", "history", "checkpoint"}},
    {"launch", {"cluster"}},
    {"strategy", {"collective", "cluster"}},
    {"data", {"base"}},
    {"train", {"strategy", "data"}},
    {"torch_adapter", {"train"}},
    {"report", {"train"}},
    {"dashboard", {"train"}},
    {"cli", {"sim", "launch", "torch_adapter", "report", "dashboard"}},  // and so all
};

// Folders that LibTorch puts on the include path, and our one public header that includes it.
const Strings kLibTorch = {"torch", "ATen", "c10", "caffe2"};
const std::string kTorchHeader = "yoke/torch.h";

// Layers that decide and compute, and leave threads, files, sockets and clocks to those above; their tests may use
// them.
const Strings kPure = {"core", "wire", "kernel"};
const std::regex kImpure(
    R"(#\s*include\s*[<"](thread|mutex|condition_variable|iostream|fstream|sys/socket|asio)|::now\s*\()");
const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
const std::regex kTestOrBench(R"(_(test|bench)\.cc$)");

bool contains(const Strings& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

const Layer* layer(const std::string& name) {
  const auto found = std::find_if(kLayers.begin(), kLayers.end(), [&](const Layer& l) { return l.name == name; });
  return found == kLayers.end() ? nullptr : &*found;
}

bool may_include(const std::string& from, const std::string& to) {
  const auto& below = layer(from)->below;
  return from == to || std::any_of(below.begin(), below.end(), [&](const auto& next) { return may_include(next, to); });
}

// What is wrong with a file, a line each. `path` is relative to the root of the project.
Strings complaints(const fs::path& path, const std::string& text) {
  const auto file = path.generic_string();
  const auto folder = path.begin()->string();
  const auto own = folder == "src" ? std::next(path.begin())->string() : "";
  if (folder == "src" && !layer(own)) return {file + ": src/" + own + " is not in the table of layers"};
  const bool example = folder == "examples";
  const bool may_libtorch =
      example || file == "include/" + kTorchHeader || (own == "torch_adapter" && file != "src/torch_adapter/factory.h");

  Strings found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(std::min(line.find("//"), line.size()));
    const auto complain = [&](const std::string& why) { found.push_back(file + ": " + line + ": " + why); };
    std::smatch match;
    if (contains(kPure, own) && !std::regex_search(file, kTestOrBench) && std::regex_search(line, match, kImpure)) {
      complain(own + " has no threads, files, sockets or clocks");
    }
    if (!std::regex_search(line, match, kInclude)) continue;
    const auto name = match[1].str();
    const auto first = name.substr(0, name.find('/'));
    if (name.find("..") != std::string::npos) complain("say it from src/ or include/");
    if (name.find('/') == std::string::npos) continue;
    if (contains(kLibTorch, first) && !may_libtorch) complain("LibTorch is for torch_adapter and yoke/torch.h");
    if (name == kTorchHeader && !example && own != "torch_adapter") complain("it brings LibTorch along");
    if (!layer(first)) continue;
    if (own.empty()) complain("public headers and examples include public headers only");
    if (!own.empty() && !may_include(own, first)) complain(own + " may not include " + first);
  }
  return found;
}

TEST(Layers, TheTableOnlyPointsDown) {
  for (auto upper = kLayers.begin(); upper != kLayers.end(); ++upper) {
    for (const auto& below : upper->below) {
      EXPECT_TRUE(std::any_of(kLayers.begin(), upper, [&](const Layer& l) { return l.name == below; }))
          << upper->name << " names " << below << ", which is not above it in the table";
    }
    EXPECT_TRUE(may_include("cli", upper->name));
  }
}

TEST(Layers, EveryIncludePointsDown) {
  const fs::path root = YOKE_SOURCE_DIR;
  std::size_t files = 0;
  for (const auto* folder : {"src", "include", "examples"}) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      ++files;
      std::ifstream in(entry.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      for (const auto& complaint : complaints(entry.path().lexically_relative(root), text)) ADD_FAILURE() << complaint;
    }
  }
  EXPECT_GT(files, 0U);
}

TEST(Layers, EveryFolderIsInTheTable) {
  for (const auto& entry : fs::directory_iterator(fs::path(YOKE_SOURCE_DIR) / "src")) {
    EXPECT_TRUE(layer(entry.path().filename().string())) << entry.path() << " is no layer of the table";
  }
}

// The checker itself, on files that do not exist.
void expect_fine(const std::string& path, const std::string& text) {
  for (const auto& complaint : complaints(path, text)) ADD_FAILURE() << complaint;
}

void expect_refused(const std::string& path, const std::string& text) {
  EXPECT_EQ(complaints(path, text).size(), 1U) << path << ": " << text;
}

TEST(LayersChecker, IncludesPointDown) {
  expect_fine("src/core/shard.cc",
              "#include \"core/shard.h\"\n#include \"wire/messages.h\"\n#include \"yoke/error.h\"\n");
  expect_fine("src/strategy/sync.cc",
              "#include <history/recorder.h>\n#include \"wire/messages.h\"\n#include <vector>\n");
  expect_fine("src/cli/train.cc", "#include \"sim/world.h\"\n#include \"torch_adapter/factory.h\"\n");
  expect_fine("src/base/log.cc", "// #include \"core/shard.h\" would be wrong\n");
  expect_refused("src/base/log.cc", "#include \"core/shard.h\"\n");
  expect_refused("src/core/shard_test.cc", "  #  include <cluster/server.h>\n");
  expect_refused("src/sim/world.cc", "#include \"kernel/pass.h\"\n");
  expect_refused("src/data/open.cc", "#include \"wire/messages.h\"\n");
  expect_refused("src/core/shard.cc", "#include \"../cluster/server.h\"\n");
  expect_refused("src/novel/file.cc", "");
  expect_refused("examples/digits.cc", "#include \"core/shard.h\"\n");
  expect_refused("include/yoke/run.h", "#include \"train/job.h\"\n");
}

TEST(LayersChecker, LibTorchStaysInItsPlaces) {
  for (const auto* path : {"src/torch_adapter/module.cc", "include/yoke/torch.h", "examples/digits.cc"}) {
    expect_fine(path, "#include <torch/torch.h>\n#include <ATen/ATen.h>\n");
  }
  for (const auto* header : {"torch/torch.h", "ATen/core/Tensor.h", "c10/core/Allocator.h", "caffe2/x.h"}) {
    const auto line = std::string("#include <") + header + ">\n";
    for (const auto* path :
         {"src/torch_adapter/factory.h", "src/train/fit.cc", "src/cli/train.cc", "include/yoke/run.h"}) {
      expect_refused(path, line);
    }
  }
  expect_fine("examples/digits.cc", "#include <yoke/torch.h>\n");
  expect_fine("src/torch_adapter/module.cc", "#include \"yoke/torch.h\"\n");
  expect_refused("src/train/fit.cc", "#include \"yoke/torch.h\"\n");
  expect_refused("include/yoke/run.h", "#include \"yoke/torch.h\"\n");
}

TEST(LayersChecker, PureLayersStayPure) {
  for (const auto* line : {"#include <thread>", "#include <mutex>", "#include <condition_variable>",
                           "#include <iostream>", "#include <fstream>", "#include <sys/socket.h>",
                           "#include <asio.hpp>", "auto t = std::chrono::steady_clock::now();"}) {
    for (const auto* layer : {"core", "wire", "kernel"}) {
      expect_refused(std::string("src/") + layer + "/x.cc", line);
      expect_refused(std::string("src/") + layer + "/x.h", line);
      expect_fine(std::string("src/") + layer + "/x_test.cc", line);
      expect_fine(std::string("src/") + layer + "/x_bench.cc", line);
    }
    expect_fine("src/cluster/x.cc", line);
  }
  expect_fine("src/core/x.cc", "void on(const Event& event, Time now);  // never steady_clock::now()\n");
}

}  // namespace
