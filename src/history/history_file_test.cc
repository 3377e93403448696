#include "history/history_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/scratch_folder.h"
#include "history/random_event.h"

namespace yoke::history {
namespace {

// A line that was just written, and once more.
Event read_back(const Event& event) {
  const auto line = to_json_line(event);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_EQ(line.back(), '\n');
  auto read = from_json_line(line);
  if (!read) {
    ADD_FAILURE() << read.error().message << ": " << line;
    return {};
  }
  EXPECT_EQ(to_json_line(*read), line);
  return *read;
}

template <std::size_t... kKinds>
std::vector<Event> one_of_each(RandomEvents& random, std::index_sequence<kKinds...>) {
  return {random.make<kKinds>()...};
}

std::vector<Event> one_of_each(RandomEvents& random) {
  return one_of_each(random, std::make_index_sequence<std::variant_size_v<What>>());
}

void expect_corrupt(const std::string& line, const std::string& text) {
  const auto event = from_json_line(line);
  ASSERT_FALSE(event) << line;
  EXPECT_EQ(event.error().code, Code::corrupt);
  EXPECT_NE(event.error().message.find(text), std::string::npos) << event.error().message;
}

TEST(HistoryFileTest, EveryEventIsReadBackExactly) {
  RandomEvents random(1);
  for (int round = 0; round < 500; ++round)
    for (const auto& event : one_of_each(random))
      ASSERT_TRUE(Same::events(event, read_back(event))) << to_json_line(event);
}

TEST(HistoryFileTest, IsALineOfJsonAnEvent) {
  wire::Record record{.step = 3, .reason = "all\nthere"};
  record.applied.push_back({.gradient = {{1, 1}, 9}, .samples = 4, .range = wire::Range{0, 8, 12}});
  const std::vector<Event> events{{Time(0), Joined{{1, 1}}}, {std::chrono::seconds(2), Decided{record}}};
  const auto text = to_json_lines(events);
  ASSERT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.substr(0, text.find('\n')), R"({"at":0,"event":"joined","life":{"replica":1,"incarnation":1}})");
  const auto second = nlohmann::json::parse(text.substr(text.find('\n') + 1));
  EXPECT_EQ(second["at"], 2'000'000'000);
  EXPECT_EQ(second["event"], "decided");
  EXPECT_EQ(second["record"]["applied"][0]["gradient"]["sequence"], 9);
  EXPECT_EQ(second["record"]["applied"][0]["range"]["end"], 12);
  EXPECT_EQ(second["record"]["reason"], "all\nthere");
}

TEST(HistoryFileTest, WhatIsAbsentIsNull) {
  const auto line = to_json_line({Time(0), Assigned{}});
  EXPECT_TRUE(nlohmann::json::parse(line)["range"].is_null());
}

TEST(HistoryFileTest, AReasonMayBeAnyBytes) {
  const Event event{Time(0), Stopped{"caf\xe9 \xff"}};
  EXPECT_EQ(std::get<Stopped>(from_json_line(to_json_line(event))->what).reason, "caf\xef\xbf\xbd \xef\xbf\xbd");
}

TEST(HistoryFileTest, SaysWhatIsWrongWithALine) {
  expect_corrupt("", "not a JSON object");
  expect_corrupt("[]", "not a JSON object");
  expect_corrupt(R"({"at":1})", "\"event\" is missing");
  expect_corrupt(R"({"at":0.5,"event":"committed","version":1})", "\"at\" cannot be 0.5");
  expect_corrupt(R"({"at":1,"event":"party"})", "there is no event \"party\"");
  expect_corrupt(R"({"at":1,"event":"committed"})", "\"version\" is missing");
  expect_corrupt(R"({"at":1,"event":"committed","version":-1})", "\"version\" cannot be -1");
  expect_corrupt(R"({"at":1,"event":"committed","version":18446744073709551616})", "\"version\" cannot be");
  expect_corrupt(R"({"at":1,"event":"published","shard":4294967296,"version":1})", "\"shard\" cannot be 4294967296");
  expect_corrupt(R"({"at":1,"event":"joined","life":{"replica":"x","incarnation":1}})", "\"replica\" cannot be");
  expect_corrupt(R"({"at":1,"event":"made","shard":0,"block":0,"version":1,"used":[7],"rate":1.0,"scale":1.0})",
                 "\"used\" cannot be [7]");
  expect_corrupt(
      R"({"at":1,"event":"told","verdict":{"gradient":{"replica":0,"incarnation":0,"sequence":0},"fate":"lost"}})",
      "\"fate\" cannot be \"lost\"");
}

// Whatever happened to a line, reading it is an event or an error.
TEST(HistoryFileTest, DamagedLinesDoNoHarm) {
  RandomEvents random(2);
  std::mt19937_64 damage(3);
  std::size_t errors = 0;
  for (int round = 0; round < 100; ++round)
    for (const auto& event : one_of_each(random)) {
      auto line = to_json_line(event);
      for (std::uint64_t i = 0, n = 1 + damage() % 3; i < n; ++i)
        line[damage() % line.size()] = static_cast<char>(damage());
      errors += from_json_line(line) ? 0 : 1;
      line.resize(damage() % line.size());
      errors += from_json_line(line) ? 0 : 1;
    }
  EXPECT_GT(errors, 1300u);
}

TEST(HistoryFileTest, IsReadInItsOrder) {
  const ScratchFolder folder;
  RandomEvents random(4);
  std::vector<Event> events;
  while (to_json_lines(events).size() < 300'000)  // more than is read at once
    for (auto& event : one_of_each(random)) events.push_back(std::move(event));
  const auto read = read_history(folder.write("history", to_json_lines(events)));
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) ASSERT_TRUE(Same::events(events[i], (*read)[i])) << i;
}

TEST(HistoryFileTest, ALastLineThatIsCutShortIsPassedOver) {
  const ScratchFolder folder;
  const std::vector<Event> events{{Time(1), Committed{1}}, {Time(2), Committed{2}}};
  const auto text = to_json_lines(events);
  const auto first = text.find('\n') + 1;
  for (auto size = first; size <= text.size(); ++size) {
    const auto read = read_history(folder.write("history", text.substr(0, size)));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->size(), size + 1 < text.size() ? 1u : 2u);  // without the end of the line it is whole
  }
  const auto empty = read_history(folder.write("history", ""));
  EXPECT_TRUE(empty && empty->empty());
}

TEST(HistoryFileTest, ABrokenLineElsewhereIsAnError) {
  const ScratchFolder folder;
  const auto line = to_json_line({Time(1), Committed{1}});
  for (const auto& broken : {line.substr(0, 20) + "\n", std::string("\n"), std::string(5, '\0') + "\n"}) {
    const auto file = folder.write("history", line + broken + line);
    const auto read = read_history(file);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::corrupt);
    EXPECT_NE(read.error().message.find(file + ", line 2: "), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(read_history(folder.write("history", line + line.substr(0, 20) + "\n")));  // last, and not cut short
}

TEST(HistoryFileTest, AFileThatCannotBeReadSaysWhy) {
  const ScratchFolder folder;
  for (const auto& [file, why] :
       {std::pair{folder.file("nothing"), "No such file"}, std::pair{folder.path(), "Is a directory"}}) {
    const auto read = read_history(file);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Code::missing);
    EXPECT_NE(read.error().message.find(file), std::string::npos);
    EXPECT_NE(read.error().message.find(why), std::string::npos) << read.error().message;
  }
}

}  // namespace
}  // namespace yoke::history
