#include "cli/completion.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <algorithm>
#include <sstream>

#include "data/scratch_folder.h"

namespace yoke::cli {
namespace {

using Strings = std::vector<std::string>;

class Completion : public testing::Test {
 protected:
  Completion() {
    auto* train = app_.add_subcommand("train", "Train a network.\nMore of it.");
    train->add_option("-s,--strategy", text_, "how: [one] of 'three'")->type_name("async|mirrored|sync");
    train->add_option("-b,--batch", text_, "samples");
    train->add_option("--out", text_, "where to")->type_name("FILE");
    train->add_option("--folder", text_, "where to")->type_name("DIR");
    train->add_flag("-q,--quiet")->description("no progress");
    train->add_option("--secret", text_)->group("");
    auto* manual = app_.add_subcommand("manual", "Show a page.");
    manual->add_option("COMMAND", text_, "whose")->type_name("COMMAND");
    app_.add_subcommand("predict", "Use it.")->add_option("MODEL", text_, "which")->type_name("FILE");
    script_ = folder_.plain("yoke.bash", *completion(app_, "bash"));
    folder_.plain("model one.bin", "");
    folder_.plain("model.txt", "");
    EXPECT_TRUE(std::filesystem::create_directory(folder_.path() + "/models"));
  }

  // What bash offers, sorted, for the last of these words, in a folder with two files and a folder.
  Strings offered(const Strings& words) {
    std::string line;
    for (const auto& word : words) line += " '" + word + "'";
    folder_.plain("ask", "set -u\ncd " + folder_.path() + "\nsource yoke.bash\nCOMP_WORDS=(" + line +
                             ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) +
                             "\n_yoke\n[ ${#COMPREPLY[@]} = 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    FILE* pipe = popen(("bash --norc " + folder_.path() + "/ask 2>&1").c_str(), "r");
    std::string output;
    for (int c; (c = fgetc(pipe)) != EOF;) output += static_cast<char>(c);
    EXPECT_EQ(pclose(pipe), 0) << output;
    std::istringstream lines(output);
    Strings result;
    for (std::string one; std::getline(lines, one);) result.push_back(one);
    std::sort(result.begin(), result.end());
    return result;
  }

  CLI::App app_{"Trains.", "yoke"};
  std::string text_, script_;
  data::ScratchFolder folder_;
};

TEST_F(Completion, BashCompletesCommandsAndFlags) {
  EXPECT_EQ(offered({"yoke", ""}), (Strings{"manual", "predict", "train"}));
  EXPECT_EQ(offered({"yoke", "tr"}), Strings{"train"});
  EXPECT_EQ(offered({"yoke", "-"}), (Strings{"--help", "-h"}));
  EXPECT_EQ(offered({"yoke", "train", "--"}),
            (Strings{"--batch", "--folder", "--help", "--out", "--quiet", "--strategy"}));
  EXPECT_EQ(offered({"yoke", "train", "--quiet", "--st"}), Strings{"--strategy"});
  EXPECT_EQ(offered({"yoke", "train", ""}).size(), 10u);  // no positional: the flags
  EXPECT_EQ(offered({"yoke", "manual", "--"}), Strings{"--help"});
}

TEST_F(Completion, BashCompletesValues) {
  const Strings strategies = {"async", "mirrored", "sync"};
  EXPECT_EQ(offered({"yoke", "train", "--strategy", ""}), strategies);
  EXPECT_EQ(offered({"yoke", "train", "-s", "m"}), Strings{"mirrored"});
  EXPECT_EQ(offered({"yoke", "train", "--strategy", "="}), strategies);  // as bash splits --strategy=
  EXPECT_EQ(offered({"yoke", "train", "--strategy", "=", "as"}), Strings{"async"});
  EXPECT_EQ(offered({"yoke", "train", "--batch", ""}), Strings{});
  EXPECT_EQ(offered({"yoke", "manual", "--strategy", ""}), (Strings{"manual", "predict", "train"}));  // not its flag
  EXPECT_EQ(offered({"yoke", "manual", "p"}), Strings{"predict"});
}

TEST_F(Completion, BashCompletesFilesAndFolders) {
  EXPECT_EQ(offered({"yoke", "train", "--out", "mod"}), (Strings{"model one.bin", "model.txt", "models"}));
  EXPECT_EQ(offered({"yoke", "train", "--out", "=", "model."}), Strings{"model.txt"});
  EXPECT_EQ(offered({"yoke", "train", "--folder", "mod"}), Strings{"models"});
  EXPECT_EQ(offered({"yoke", "predict", "model "}), Strings{"model one.bin"});
}

TEST_F(Completion, BashRegistersIt) {
  EXPECT_NE(completion(app_, "bash")->find("\ncomplete -F _yoke yoke\n"), std::string::npos);
}

TEST_F(Completion, ZshDescribesThem) {
  const auto text = *completion(app_, "zsh");
  for (const std::string part : {
           "#compdef yoke\n",
           "        'train:Train a network'\n",
           "'(-s --strategy)--strategy=[how\\: \\[one\\] of '\\''three'\\'']:async|mirrored|sync:(async mirrored "
           "sync)'",
           "'(-b --batch)-b+[samples]:TEXT: '",
           "'(--out)--out=[where to]:FILE:_files'",
           "'(--folder)--folder=[where to]:DIR:_files -/'",
           "'(-q --quiet)-q[no progress]'",
           "':COMMAND:(train manual predict)'",
           "':MODEL:_files'",
       })
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

TEST_F(Completion, FishDescribesThem) {
  const auto text = *completion(app_, "fish");
  const std::string of_train = "complete -c yoke -n '__fish_seen_subcommand_from train'";
  for (const auto& part : {
           std::string("complete -c yoke -n __fish_use_subcommand -a train -d 'Train a network'\n"),
           of_train + " -s s -l strategy -x -a 'async mirrored sync' -d 'how: [one] of \\'three\\''\n",
           of_train + " -s b -l batch -x -d 'samples'\n",
           of_train + " -l out -r -F -d 'where to'\n",
           of_train + " -l folder -x -a '(__fish_complete_directories)' -d 'where to'\n",
           of_train + " -s q -l quiet -d 'no progress'\n",
           std::string("-n '__fish_seen_subcommand_from predict' -F\n"),
       })
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

TEST_F(Completion, OtherShellsAreAnError) {
  const auto none = completion(app_, "tcsh");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::invalid_argument);
  EXPECT_EQ(none.error().message, "there is no completion for 'tcsh': take bash, zsh or fish");
}

}  // namespace
}  // namespace yoke::cli
