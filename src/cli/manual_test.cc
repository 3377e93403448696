#include "cli/manual.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>

#include "data/scratch_folder.h"

namespace yoke::cli {
namespace {

class Manual : public testing::Test {
 protected:
  Manual() {
    app_.footer("`yoke COMMAND --help` tells more.");
    train_ =
        app_.add_subcommand("train", "Train a network.\nIt may take a while.\n\nSecond paragraph:\n  kept 1\n  kept 2");
    train_->add_option("DATA", text_, "what to read");
    train_->add_option("-b,--batch", batch_, "samples a step")->capture_default_str()->group("What to train");
    train_->add_option("--model", text_, ".dotted 'quoted' \"text\" \\n ~ ^")->type_name("cnn|mlp");
    train_->add_option("--bare", text_)->group("What to train");
    train_->footer(
        "Examples:\n"
        "  yoke train                  the default job\n"
        "  yoke train --batch 8\n"
        "  two replicas, over two lines:\n"
        "  yoke train --replicas 2 \\\n"
        "      --strategy sync  in step\n"
        "  man yoke  the page\n"
        "\n"
        "Exit status:\n"
        "  0    done\n"
        "  2    a flag is wrong\n"
        "       in some way\n"
        "\n"
        "Files:\n"
        "A folder.");
    app_.add_subcommand("bench", "Measure.");
    app_.add_subcommand("hidden", "Nothing.")->group("");
  }
  std::string page() const { return man_page(app_, train_, "yoke 1.2-3"); }
  void expect(const std::string& part) const {
    EXPECT_NE(page().find(part), std::string::npos) << part << "\n" << page();
  }

  CLI::App app_{"Trains networks.", "yoke"};
  CLI::App* train_;
  unsigned batch_ = 32;
  std::string text_;
};

TEST_F(Manual, HasTheUsualSections) {
  EXPECT_EQ(page().find(".TH \"YOKE\\-TRAIN\" \"1\" \"\" \"yoke 1.2\\-3\" \"User Commands\"\n"), 0u) << page();
  expect(".SH \"NAME\"\nyoke\\-train \\- Train a network\n");
  expect(".SH \"SYNOPSIS\"\n\\fByoke train\\fR [OPTIONS] [DATA]\n");
  expect(
      ".SH \"DESCRIPTION\"\nTrain a network.\nIt may take a while.\n.PP\nSecond paragraph:\n"
      ".PP\n.RS 4\n.EX\nkept 1\nkept 2\n.EE\n.RE\n");
  expect(".SS \"Arguments\"\n.TP\n\\fIDATA\\fR\nwhat to read\n");
  expect(".SS \"What to train\"\n.TP\n\\fB\\-b\\fR, \\fB\\-\\-batch\\fR \\fIN\\fR\nsamples a step [32]\n");
  expect(".SH \"SEE ALSO\"\n.BR yoke (1),\n.BR yoke\\-bench (1)\n");
  expect(".SH \"FILES\"\nA folder.\n");
  EXPECT_EQ(page().find("hidden"), std::string::npos);
}

TEST_F(Manual, EscapesWhatRoffWouldTakeForItself) {
  expect("\n\\&.dotted \\(aqquoted\\(aq \\(dqtext\\(dq \\(rsn \\(ti \\(ha\n");
}

TEST_F(Manual, TakesExamplesAndExitStatusFromTheFooter) {
  expect(
      ".SH \"EXAMPLES\"\n"
      "the default job\n.PP\n.RS 4\n.EX\nyoke train\n.EE\n.RE\n"
      ".PP\n.RS 4\n.EX\nyoke train \\-\\-batch 8\n.EE\n.RE\n"
      ".PP\ntwo replicas, over two lines:\n"
      ".PP\nin step\n.PP\n.RS 4\n.EX\nyoke train \\-\\-replicas 2 \\(rs\n    \\-\\-strategy sync\n.EE\n.RE\n"
      ".PP\nthe page\n.PP\n.RS 4\n.EX\nman yoke\n.EE\n.RE\n");
  expect(".SH \"EXIT STATUS\"\n.TP\n\\fB0\\fR\ndone\n.TP\n\\fB2\\fR\na flag is wrong\nin some way\n");
}

TEST_F(Manual, TheRootListsTheCommands) {
  const auto root = man_page(app_, nullptr, "yoke 1.2");
  for (const std::string part : {
           ".SH \"NAME\"\nyoke \\- Trains networks\n",
           "\\(gayoke COMMAND \\-\\-help\\(ga tells more.\n",
           ".SH \"COMMANDS\"\n.TP\n\\fByoke train\\fR\nTrain a network\n.TP\n\\fByoke bench\\fR\nMeasure\n",
           ".SH \"SEE ALSO\"\n.BR yoke\\-train (1),\n.BR yoke\\-bench (1)\n",
       })
    EXPECT_NE(root.find(part), std::string::npos) << part << "\n" << root;
}

TEST_F(Manual, WritesAllPages) {
  data::ScratchFolder scratch;
  const auto folder = scratch.path() + "/share/man1";
  const auto names = write_man_pages(app_, folder, "yoke 1.2-3");
  ASSERT_TRUE(names.ok()) << names.error().message;
  EXPECT_EQ(*names, (std::vector<std::string>{folder + "/yoke.1", folder + "/yoke-train.1", folder + "/yoke-bench.1"}));
  std::ifstream file(folder + "/yoke-train.1");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), page());

  const auto blocked = scratch.plain("file", "");
  const auto failed = write_man_pages(app_, blocked + "/below", "");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, Code::missing);
  EXPECT_NE(failed.error().message.find(blocked + "/below"), std::string::npos) << failed.error().message;
}

// groff (of packages.txt) warns of nothing, and shows what was written.
TEST_F(Manual, IsGoodRoff) {
  data::ScratchFolder scratch;
  const auto source = scratch.plain("page.1", page());
  const auto shown = scratch.path() + "/shown";
  const auto command = "groff -man -Tascii -P-cbou -ww -rLL=200n " + source + " > " + shown + " 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::ifstream file(shown);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(text.find("warning"), std::string::npos) << text;
  EXPECT_EQ(text.find("error"), std::string::npos) << text;
  for (const std::string part : {".dotted 'quoted' \"text\" \\n ~ ^", "-b, --batch N", "yoke train --replicas 2 \\\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

}  // namespace
}  // namespace yoke::cli
