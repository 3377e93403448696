#include "cli/command_tree.h"

#include <gtest/gtest.h>

namespace yoke::cli {
namespace {

using Strings = std::vector<std::string>;

TEST(CommandTree, SpeaksOfValuesInPlainWords) {
  CLI::App app("", "yoke");
  app.add_subcommand("train", "");
  app.add_subcommand("hidden", "")->group("");
  unsigned count = 0;
  double rate = 0;
  bool on = false;
  std::string text;
  std::vector<int> list;
  const auto word = [](const CLI::Option* option) { return placeholder(*option); };
  EXPECT_EQ(word(app.add_option("--count", count)->check(CLI::Range(1, 5))), "N");
  EXPECT_EQ(word(app.add_option("--rate", rate)->check(CLI::PositiveNumber)), "NUMBER");
  EXPECT_EQ(word(app.add_option("--on", on)), "true|false");
  EXPECT_EQ(word(app.add_option("--text", text)), "TEXT");
  EXPECT_EQ(word(app.add_option("--list", list)), "N");
  EXPECT_EQ(word(app.add_option("--file", text)->check(CLI::ExistingFile)), "FILE");
  EXPECT_EQ(word(app.add_option("--folder", text)->type_name("DIR")->check(CLI::ExistingDirectory)), "DIR");
  EXPECT_EQ(word(app.add_option("--path", text)->check(CLI::NonexistentPath)), "PATH");
  EXPECT_EQ(word(app.add_option("--member", text)->check(CLI::IsMember({"a", "b"}))), "a|b");
  EXPECT_EQ(word(app.add_option("--slow", text)->type_name("R:FACTOR,...")), "R:FACTOR,...");
  EXPECT_EQ(word(app.add_option("--many", text)->type_name("auto|N")), "auto|N");
  EXPECT_EQ(word(app.add_option("--share", text)->type_name("SHARE|kfold:K")), "SHARE|kfold:K");
  EXPECT_EQ(word(app.add_option("--page", text)->type_name("COMMAND")), "COMMAND");
  EXPECT_EQ(word(app.add_flag("--flag")), "");

  const auto all = [&](const char* name) { return choices(*app.get_option(name), app); };
  EXPECT_EQ(all("--member"), (Strings{"a", "b"}));
  EXPECT_EQ(all("--on"), (Strings{"true", "false"}));
  EXPECT_EQ(all("--many"), Strings{"auto"});
  EXPECT_EQ(all("--share"), Strings{});
  EXPECT_EQ(all("--page"), Strings{"train"});
  EXPECT_EQ(all("--slow"), Strings{});
  EXPECT_EQ(names_of(*app.get_option("--file")), Names::files);
  EXPECT_EQ(names_of(*app.get_option("--path")), Names::files);
  EXPECT_EQ(names_of(*app.get_option("--folder")), Names::folders);
  EXPECT_EQ(names_of(*app.get_option("--text")), Names::none);
}

TEST(CommandTree, KeepsTheOrderOfDeclarationWithHelpLast) {
  CLI::App app("", "yoke");
  auto* train = app.add_subcommand("train", "");
  train->add_flag("-b,--big")->group("Zebras");
  train->add_flag("--small")->group("Ants");
  train->add_flag("--huge")->group("Zebras");
  train->add_flag("--secret")->group("");
  const auto groups = option_groups(*train);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].heading, "Zebras");
  EXPECT_EQ(groups[0].options.size(), 2u);
  EXPECT_EQ(spellings(*groups[0].options[0]), (Strings{"-b", "--big"}));
  EXPECT_EQ(groups[1].heading, "Ants");
  EXPECT_EQ(groups[2].options[0], train->get_help_ptr());
  train->add_flag("--plain");  // in the same group as help
  EXPECT_EQ(option_groups(*train)[0].heading, "Options");
}

TEST(CommandTree, Usage) {
  CLI::App app("", "yoke");
  app.require_subcommand(1);
  auto* predict = app.add_subcommand("predict", "");
  std::string model;
  std::vector<std::string> files;
  predict->add_option("MODEL", model)->required();
  predict->add_option("FILE", files);
  EXPECT_EQ(full_name(*predict), "yoke predict");
  EXPECT_EQ(usage_of(*predict), "[OPTIONS] MODEL [FILE...]");
  EXPECT_EQ(usage_of(app), "[OPTIONS] COMMAND");
}

TEST(CommandTree, SumsUpInASentence) {
  CLI::App app("Train a network, e.g. a CNN. Each replica computes. It takes time.");
  EXPECT_EQ(summary(app), "Train a network, e.g. a CNN");
  app.description("Measure.");
  EXPECT_EQ(summary(app), "Measure");
  app.description("No full stop\nSecond line. Third.");
  EXPECT_EQ(summary(app), "No full stop");
  app.description("");
  EXPECT_EQ(summary(app), "");
}

TEST(CommandTree, ShowsDefaults) {
  CLI::App app;
  std::vector<int> list = {1, 2}, none;
  double rate = 0.5;
  EXPECT_EQ(shown_default(*app.add_option("--list", list)->capture_default_str()), "1,2");
  EXPECT_EQ(shown_default(*app.add_option("--none", none)->capture_default_str()), "");
  EXPECT_EQ(shown_default(*app.add_option("--rate", rate)->capture_default_str()), "0.5");
  EXPECT_EQ(shown_default(*app.add_flag("--flag")), "");
}

TEST(CommandTree, SplitsTheFooter) {
  CLI::App app;
  EXPECT_TRUE(footer_sections(app).empty());
  app.footer("More is in the manual.\n\nExamples:\n  yoke train  all of it:\n\nExit status:\n  0    done\n\nEmpty:\n");
  const auto sections = footer_sections(app);
  ASSERT_EQ(sections.size(), 3u);
  EXPECT_EQ(sections[0].heading, "");
  EXPECT_EQ(sections[0].lines, Strings{"More is in the manual."});
  EXPECT_EQ(sections[1].heading, "Examples");
  EXPECT_EQ(sections[1].lines, Strings{"  yoke train  all of it:"});
  EXPECT_EQ(sections[2].heading, "Exit status");
  EXPECT_EQ(sections[2].lines, Strings{"  0    done"});
}

}  // namespace
}  // namespace yoke::cli
