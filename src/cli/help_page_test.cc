#include "cli/help_page.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>

namespace yoke::cli {
namespace {

class HelpPageTest : public testing::Test {
 protected:
  HelpPageTest() {
    app_.formatter(std::make_shared<HelpPage>());
    app_.require_subcommand(1);
    train_ = app_.add_subcommand("train", "Train a network.\nThe rest of the description:\n  kept  as it is");
    app_.add_subcommand("bench", "Measure.");
    app_.add_subcommand("extra", "Something else.")->group("More");
    app_.add_subcommand("late", "Of the first group.");
  }
  std::string page() const { return train_->help("yoke"); }

  CLI::App app_{"Trains.", "yoke"};
  CLI::App* train_;
  unsigned batch_ = 32;
  std::string text_;
  std::vector<std::string> list_;
};

TEST_F(HelpPageTest, TheRootListsTheCommands) {
  app_.footer("The end.");
  EXPECT_EQ(app_.help(),
            "Trains.\n"
            "\n"
            "Usage: yoke [OPTIONS] COMMAND\n"
            "\n"
            "Options:\n"
            "  -h, --help                  Print this help message and exit\n"
            "\n"
            "Commands:\n"
            "  train                       Train a network\n"
            "  bench                       Measure\n"
            "  late                        Of the first group\n"
            "\n"
            "More:\n"
            "  extra                       Something else\n"
            "\n"
            "The end.\n");
}

TEST_F(HelpPageTest, ACommandShowsItsGroupsInOrder) {
  train_->add_option("INPUT", text_, "what to read")->required();
  train_->add_option("-b,--batch", batch_, "samples a step")->capture_default_str()->group("What to train");
  train_->add_flag("--quiet")->description("no progress")->group("Output");
  train_->add_option("--model", text_, "which")->type_name("cnn|mlp")->required()->group("What to train");
  train_->add_option("--image", list_, "one or more")->type_name("FILE")->envname("IMAGE")->group("Output");
  train_->footer("Examples:\n  yoke train      all of it");
  EXPECT_EQ(page(),
            "Train a network.\n"
            "The rest of the description:\n"
            "  kept  as it is\n"
            "\n"
            "Usage: yoke train [OPTIONS] INPUT\n"
            "\n"
            "Arguments:\n"
            "  INPUT                       what to read\n"
            "\n"
            "What to train:\n"
            "  -b, --batch N               samples a step [32]\n"
            "  --model cnn|mlp             which (required)\n"
            "\n"
            "Output:\n"
            "  --quiet                     no progress\n"
            "  --image FILE ...            one or more (or set IMAGE in the environment)\n"
            "\n"
            "Options:\n"
            "  -h, --help                  Print this help message and exit\n"
            "\n"
            "Examples:\n"
            "  yoke train      all of it\n");
}

TEST_F(HelpPageTest, WrapsAtAHundredColumns) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word" + std::to_string(i) + " ";
  train_->description(words);
  train_->add_option("--a-flag-with-a-rather-long-name", text_, words);
  train_->add_option("--short", text_, words)->default_str("the default");
  train_->add_option("--x", text_, std::string(90, 'x'));  // nothing to wrap at
  std::istringstream lines(page());
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("xxx") == std::string::npos) longest = std::max(longest, line.size());
    EXPECT_FALSE(line.ends_with(' ')) << line;
  }
  EXPECT_LE(longest, 100u);
  EXPECT_GT(longest, 92u);
  EXPECT_NE(page().find("\n  --a-flag-with-a-rather-long-name TEXT\n" + std::string(30, ' ') + "word0 word1 "),
            std::string::npos);
  EXPECT_NE(page().find("\n  --short TEXT" + std::string(16, ' ') + "word0 word1 "), std::string::npos);
  EXPECT_NE(page().find(" default]\n"), std::string::npos);
}

TEST_F(HelpPageTest, HelpAllHasEveryCommandsFlags) {
  app_.set_help_all_flag("--help-all", "Everything");
  train_->add_option("--batch", batch_, "samples a step")->capture_default_str();
  const auto page = app_.help("", CLI::AppFormatMode::All);
  EXPECT_NE(page.find("--batch N"), std::string::npos) << page;
  EXPECT_NE(page.find("samples a step [32]"), std::string::npos) << page;
}

}  // namespace
}  // namespace yoke::cli
