#include "checkpoint/model_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/scratch_folder.h"
#include "checkpoint/model_file_fixture.h"

namespace yoke::checkpoint {
namespace {

State sample_state() {
  State state;
  state.tensors = {{"mask", DType::boolean, {3}, bytes_of(std::string("\1\0\1", 3))},
                   {"half", DType::f16, {1}, bytes_of(std::string("\0\x3c", 2))},
                   {"w.\"2\"", DType::f32, {2, 1}, bytes_of(std::string("\0\0\x80\x3f\0\0\0\xc0", 8))},
                   {"steps", DType::i64, {}, bytes_of(std::string("\x2a\0\0\0\0\0\0\0", 8))},
                   {"none", DType::f32, {0, 5}, {}}};
  state.about = {{"model", "mlp"}, {"data", "caf\xc3\xa9\n"}};
  return state;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ModelFile, ComesBackAsItWas) {
  ScratchFolder folder;
  const auto file = folder.path() + "/m.safetensors";
  const auto state = sample_state();
  ASSERT_TRUE(write_model(file, state).ok());
  const auto back = read_model(file);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->about, state.about);
  ASSERT_EQ(back->tensors.size(), state.tensors.size());
  for (const auto& tensor : state.tensors) {
    const auto* found = back->find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->type, tensor.type);
    EXPECT_EQ(found->shape, tensor.shape);
    EXPECT_EQ(found->bytes, tensor.bytes);
  }
  const auto header = read_model_header(file);
  const auto one = read_tensor(file, *header, header->tensors[0]);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->name, "steps");
  EXPECT_EQ(one->bytes, state.find("steps")->bytes);
  // Nothing is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(ModelFile, IsTheFormatByteForByte) {
  ScratchFolder folder;
  const auto file = folder.path() + "/m.safetensors";
  ASSERT_TRUE(write_model(file, sample_state()).ok());
  std::string header =
      R"({"__metadata__":{"data":"café\n","model":"mlp"},"steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("none":{"dtype":"F32","shape":[0,5],"data_offsets":[8,8]},)"
      R"("w.\"2\"":{"dtype":"F32","shape":[2,1],"data_offsets":[8,16]},)"
      R"("half":{"dtype":"F16","shape":[1],"data_offsets":[16,18]},)"
      R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[18,21]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(text_of(file),
            content(header, 0) + std::string("\x2a\0\0\0\0\0\0\0\0\0\x80\x3f\0\0\0\xc0\0\x3c\1\0\1", 21));
}

// A reader that knows the format and nothing of this library: finds a tensor's offsets by looking for its name.
TEST(ModelFile, AnotherReaderFindsTheValues) {
  ScratchFolder folder;
  const auto file = folder.path() + "/m.safetensors";
  ASSERT_TRUE(write_model(file, sample_state()).ok());
  const auto text = text_of(file);
  std::uint64_t length = 0;
  std::memcpy(&length, text.data(), 8);
  const auto header = text.substr(8, length);
  const auto entry = header.find(R"("w.\"2\"":)");
  ASSERT_NE(entry, std::string::npos);
  const auto offset = std::stoul(header.substr(header.find("data_offsets\":[", entry) + 15));
  EXPECT_EQ((8 + length + offset) % 8, 0U);
  float values[2];
  std::memcpy(values, text.data() + 8 + length + offset, 8);
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[1], -2.0f);
}

TEST(ModelFile, ReplacesAFileAndWritesTheSameTwice) {
  ScratchFolder folder;
  const auto file = folder.write("m.safetensors", "what was there");
  ASSERT_TRUE(write_model(file, sample_state()).ok());
  const auto first = text_of(file);
  auto turned = sample_state();
  std::reverse(turned.tensors.begin(), turned.tensors.end());
  ASSERT_TRUE(write_model(file, turned).ok());
  EXPECT_EQ(text_of(file), first);
  ASSERT_TRUE(write_model(file, State{}).ok());
  EXPECT_EQ(text_of(file), content("{}      ", 0));
  EXPECT_TRUE(read_model(file).ok());
}

TEST(ModelFile, ReadingErrorsNameTheFile) {
  ScratchFolder folder;
  const auto absent = folder.path() + "/absent.safetensors";
  expect_error(read_model(absent), Code::missing, {absent, "No such file"});
  expect_error(read_model_header(absent), Code::missing, {absent, "No such file"});
  expect_error(read_tensor(absent, {}, {}), Code::missing, {absent, "No such file"});
  expect_error(read_model(folder.path()), Code::missing, {folder.path(), "not a file"});
  for (std::size_t length = 0; length < content(kTwo, 11).size(); ++length) {
    const auto cut = folder.write("cut.safetensors", content(kTwo, 11).substr(0, length));
    expect_error(read_model(cut), Code::corrupt, {cut});
    expect_error(read_model_header(cut), Code::corrupt, {cut});
  }
  const auto eighth = folder.write("f8.safetensors", content(tensor("\"F8_E5M2\"", "[2]", "[0,2]"), 2));
  EXPECT_TRUE(read_model_header(eighth).ok());
  expect_error(read_model(eighth), Code::unsupported, {eighth, "tensor 'w'", "F8_E5M2"});
}

TEST(ModelFile, AFileThatShrinksMeanwhileIsAnError) {
  ScratchFolder folder;
  const auto file = folder.write("m.safetensors", content(kTwo, 11));
  const auto header = read_model_header(file);
  ASSERT_TRUE(header.ok());
  std::filesystem::resize_file(file, header->header_bytes + 5);
  expect_error(read_tensor(file, *header, header->tensors[0]), Code::corrupt, {file, "shorter"});
}

TEST(ModelFile, RefusesStatesThatDoNotFitThemselves) {
  ScratchFolder folder;
  const auto file = folder.path() + "/m.safetensors";
  const auto expect_refused = [&](const State& state, std::initializer_list<std::string> words) {
    expect_error(write_model(file, state), Code::invalid_argument, words);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  };
  const auto four = bytes_of("1234");
  expect_refused({{{"w", DType::f32, {2}, four}}, {}}, {file, "tensor 'w'", "shape [2]"});
  expect_refused({{{"w", DType::f32, {-1}, four}}, {}}, {file, "tensor 'w'", "shape"});
  expect_refused({{{"w", DType::f32, {1}, four}, {"w", DType::f32, {1}, four}}, {}}, {file, "'w'", "twice"});
  expect_refused({{{"__metadata__", DType::f32, {1}, four}}, {}}, {file, "__metadata__"});
  expect_refused({{{"w\xff", DType::f32, {1}, four}}, {}}, {file, "'w", "UTF-8"});
  expect_refused({{}, {{"a", "\xff"}}}, {file, "__metadata__", "UTF-8"});
}

TEST(ModelFile, WritingErrorsNameFileAndReasonAndLeaveNothing) {
  ScratchFolder folder;
  const auto nowhere = folder.path() + "/no/such/m.safetensors";
  expect_error(write_model(nowhere, sample_state()), Code::missing, {nowhere, "No such file or directory"});
  const auto below = folder.write("plain", "") + "/m.safetensors";
  expect_error(write_model(below, sample_state()), Code::missing, {below, "Not a directory"});
  const auto taken = folder.path() + "/taken";
  std::filesystem::create_directory(taken);
  expect_error(write_model(taken, sample_state()), Code::missing, {taken, "directory"});
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

// A limit on the size of files stands in for a disk that is full.
TEST(ModelFile, AFullDiskLeavesWhatWasThere) {
  ScratchFolder folder;
  const auto file = folder.write("m.safetensors", "what was there");
  State large;
  large.tensors = {{"w", DType::u8, {1 << 20}, std::vector<std::byte>(1 << 20)}};
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 1 << 16;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto status = write_model(file, large);
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, before);
  expect_error(status, Code::missing, {file, "cannot be written", "File too large"});
  EXPECT_EQ(text_of(file), "what was there");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

}  // namespace
}  // namespace yoke::checkpoint
