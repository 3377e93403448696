#include "cli/config_file.h"

#include <gtest/gtest.h>

#include "data/scratch_folder.h"

namespace yoke::cli {
namespace {

using Words = std::vector<std::string>;

// A command with every kind of option, and what it makes of the words.
struct Job {
  unsigned batch = 32;
  int offset = -1;
  double lr = 0.05;
  std::string model = "cnn", note, label = "x", seen;
  bool quiet = false, cache = true, fast = false, exact = false;
  int verbose = 0, level = 0;
  std::vector<std::string> images;
  std::vector<unsigned> sizes = {1, 2};
  std::pair<int, std::string> pair;
  std::string strategy = "sync", deadline, file;
  unsigned steps = 0, epochs = 3, secret = 0;
  std::string input;

  bool operator==(const Job&) const = default;
};

class Command {
 public:
  Command() {
    command_ = app_.add_subcommand("train", "");
    command_->add_option("--config", "a file of settings");
    command_->add_flag("--print-config");
    command_->add_option("INPUT", job_.input, "");
    command_->add_option("-b,--batch,--batch-size", job_.batch, "samples a step")->capture_default_str()->group("What");
    command_->add_option("--offset", job_.offset, "may be negative")->capture_default_str()->group("What");
    command_->add_option("--lr", job_.lr, "learning rate")->capture_default_str()->group("What");
    command_->add_option("--model", job_.model, "the network")->capture_default_str()->group("What");
    command_->add_option("--note", job_.note, "of\nseveral lines")->group("What");
    command_->add_option("-l", job_.label, "has no long name")->capture_default_str()->group("What");
    add_flags();
    command_->add_option("--image", job_.images, "files")->type_name("FILE")->group("Lists");
    command_->add_option("--sizes", job_.sizes, "numbers")->delimiter(',')->capture_default_str()->group("Lists");
    command_->add_option("--pair", job_.pair, "two words")->group("Lists");
    command_->add_option("--last", job_.seen, "the last one counts")->take_last()->group("Lists");
    command_
        ->add_option_function<std::string>(
            "--strategy", [this](const std::string& text) { job_.strategy = text; }, "")
        ->type_name("sync|async")
        ->default_str("sync")
        ->group("Callbacks");
    command_
        ->add_option_function<double>(
            "--deadline", [this](double seconds) { job_.deadline = std::to_string(seconds); }, "")
        ->type_name("SECONDS")
        ->group("Callbacks");
    auto* steps = command_->add_option("--steps", job_.steps, "instead of epochs")->group("Callbacks");
    command_->add_option("--epochs", job_.epochs, "")->capture_default_str()->excludes(steps)->group("Callbacks");
    command_->add_option("--report_file", job_.file, "where to")->group("Callbacks");
    command_->add_option("--threads", "")->type_name("UINT")->default_str("as many as cores")->group("Callbacks");
    command_->add_option("--rate", "")->type_name("RATE")->default_str("0.05 for sgd")->group("Callbacks");
    command_->add_option("--secret", job_.secret, "")->group("");
  }

  Result<Words> with(const Words& words) const { return with_config(*command_, words); }
  std::string config() const { return to_config(*command_); }

  // What the words make, after the file that they name.
  Job run(const Words& words) {
    auto all = with(words);
    EXPECT_TRUE(all.ok()) << all.error().message;
    if (!all) return job_;
    all->insert(all->begin(), "train");
    std::reverse(all->begin(), all->end());  // as App::parse wants it
    EXPECT_NO_THROW(app_.parse(*all));
    return job_;
  }

 private:
  void add_flags() {
    command_->add_flag("-q,--quiet", job_.quiet, "no progress")->group("Flags");
    command_->add_flag("--cache,!--no-cache", job_.cache, "keep things")->group("Flags");
    command_->add_flag("-v,--verbose", job_.verbose, "more and more")->group("Flags");
    command_->add_flag("--low{1},--high{9}", job_.level, "")->take_last()->group("Flags");
    command_
        ->add_flag_callback(
            "--fast", [this] { job_.fast = true; }, "")
        ->group("Flags");
    command_->add_option("--exact", job_.exact, "a boolean with a value")->capture_default_str()->group("Flags");
  }

  Job job_;
  CLI::App app_{"", "yoke"};
  CLI::App* command_;
};

class ConfigFile : public testing::Test {
 protected:
  std::string file(const std::string& text) { return folder_.plain("job.toml", text); }
  Words words(const std::string& text, Words typed = {}) {
    typed.insert(typed.end(), {"--config", file(text)});
    auto result = Command().with(typed);
    EXPECT_TRUE(result.ok()) << result.error().message;
    return result ? *result : Words{};
  }
  std::string error(const std::string& text) {
    const auto result = Command().with({"--config=" + file(text)});
    EXPECT_FALSE(result.ok()) << text;
    if (result) return "";
    EXPECT_EQ(result.error().code, Code::invalid_argument);
    return result.error().message;
  }

  data::ScratchFolder folder_;
};

TEST_F(ConfigFile, WithoutOneTheWordsStay) {
  const Words typed = {"--batch", "3", "input", "--", "--config", "x"};
  EXPECT_EQ(*Command().with(typed), typed);
  EXPECT_EQ(*Command().with({"--note", "--config"}), (Words{"--note", "--config"}));  // a value, if an odd one
}

TEST_F(ConfigFile, SettingsComeFirstAsFlags) {
  EXPECT_EQ(words("batch = 8\n[how]\nlr = 1e-3\nmodel = \"a b\"\nquiet = true\nfast = false\nimage = ['x', 'y']",
                  {"input", "--exact=true"}),
            (Words{"--batch=8", "--lr=1e-3", "--model=a b", "--quiet", "--image=x", "--image=y", "--", "input",
                   "--exact=true"}));
  EXPECT_EQ(words("report-file = 'r'\nbatch_size = 1\nno_cache = true\nl = 'short'"),
            (Words{"--report_file=r", "--batch=1", "--no-cache", "-lshort"}));
  EXPECT_EQ(words("cache = false"), Words{"--no-cache"});
  EXPECT_EQ(words("no-cache = false"), Words{"--cache"});
  EXPECT_EQ(words("quiet = false\nimage = []"), Words{});
  EXPECT_EQ(words("verbose = 3"), Words{"--verbose=3"});
  EXPECT_EQ(words("note = \"\"\nlr = 1"), (Words{"--note", "", "--lr=1"}));
  EXPECT_EQ(words("pair = [-1, \"-x\"]"), (Words{"--pair=-1", "-x"}));
  EXPECT_EQ(words(""), Words{});
}

TEST_F(ConfigFile, WhatIsTypedWins) {
  const std::string text = "batch = 8\nquiet = true\nimage = ['x', 'y']\nno-cache = true\nlr = 1";
  for (const Words& typed : {Words{"--batch", "1"}, {"--batch=1"}, {"--batch-size", "1"}, {"-b", "1"}, {"-b1"}}) {
    auto expected = Words{"--quiet", "--image=x", "--image=y", "--no-cache", "--lr=1"};
    expected.insert(expected.end(), typed.begin(), typed.end());
    EXPECT_EQ(words(text, typed), expected);
  }
  EXPECT_EQ(words(text, {"-vqb", "1"}),
            (Words{"--image=x", "--image=y", "--no-cache", "--lr=1", "-vqb", "1"}));  // a row of flags
  EXPECT_EQ(words("lr = 1\nimage = ['x']\nno-cache = true", {"--image", "z", "--cache"}),
            (Words{"--lr=1", "--image", "z", "--cache"}));
  // A value that looks like a flag is none, nor is anything after "--".
  EXPECT_EQ(words("batch = 8", {"--note", "--batch"}), (Words{"--batch=8", "--note", "--batch"}));
  EXPECT_EQ(words("batch = 8", {"--pair", "1", "--batch"}), (Words{"--batch=8", "--pair", "1", "--batch"}));
  const auto after = Command().with({"--config", file("batch = 8"), "--", "--batch"});
  EXPECT_EQ(*after, (Words{"--batch=8", "--", "--batch"}));
}

TEST_F(ConfigFile, ParsesToTheSameJob) {
  const auto job = Command().run({"in.txt", "--lr=2", "--config",
                                  file("image = ['a', 'b']\nnote = ''\nlr = 3\noffset = -5\nverbose = 2\n"
                                       "no-cache = true\nfast = true\nexact = true\npair = [4, '--note']\n"
                                       "sizes = [7, 8]\nhigh = true\ndeadline = 5\nlast = [1, 2]")});
  Job expected;
  expected.input = "in.txt";
  expected.images = {"a", "b"};
  expected.lr = 2;
  expected.offset = -5;
  expected.verbose = 2;
  expected.cache = false;
  expected.fast = expected.exact = true;
  expected.pair = {4, "--note"};
  expected.sizes = {7, 8};
  expected.level = 9;
  expected.deadline = "5.000000";
  expected.seen = "2";
  EXPECT_TRUE(job == expected);
}

TEST_F(ConfigFile, PositionalsAreNotTakenForValuesOfTheLastSetting) {
  const auto job = Command().run({"in.txt", "--config", file("image = ['a']")});
  EXPECT_EQ(job.input, "in.txt");
  EXPECT_EQ(job.images, Words{"a"});
}

TEST_F(ConfigFile, ErrorsNameTheLineAndTheRemedy) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"lr = 1\nbach = 3", "job.toml:2: `yoke train` has no setting 'bach': did you mean 'batch'?"},
      {"report_fil = 3", "'report_fil': did you mean 'report_file'?"},
      {"zzzzzzzzzzzz = 3", "`yoke train --help` lists them"},
      {"\nconfig = 'x'", "job.toml:2: 'config' cannot be set in a file: type it after `yoke train`"},
      {"print_config = true", "'print_config' cannot be set"},
      {"help = true", "'help' cannot be set"},
      {"INPUT = 'x'", "'INPUT' cannot be set"},
      {"batch = 1\n[again]\nbatch-size = 2", "job.toml:3: 'batch-size' is already set on line 1"},
      {"batch = 'many'", "'batch' needs a whole number of 0 or more, not 'many'"},
      {"batch = -1", "'batch' needs a whole number of 0 or more, not '-1'"},
      {"offset = 1.5", "'offset' needs a whole number, not '1.5'"},
      {"lr = true", "'lr' needs a number, not 'true'"},
      {"sizes = [1, 'x']", "'sizes' needs a whole number of 0 or more, not 'x'"},
      {"batch = [1]", "'batch' takes one value, not a list"},
      {"quiet = 1", "'quiet' is a flag: write true or false"},
      {"fast = 'yes'", "'fast' is a flag: write true or false"},
      {"lr = 1\nbatch", "job.toml:2: '=' is missing after 'batch'"},
      {"[a.b]\nlr = 1", "job.toml:1: a table inside table 'a'"},
  };
  for (const auto& [text, expected] : cases) {
    const auto message = error(text);
    EXPECT_NE(message.find(expected), std::string::npos) << text << "\n" << message;
  }
}

TEST_F(ConfigFile, FilesThatCannotBeRead) {
  for (const auto& name : {folder_.path() + "/none.toml", folder_.path()}) {
    const auto result = Command().with({"--config", name});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, Code::missing);
    EXPECT_NE(result.error().message.find(name), std::string::npos) << result.error().message;
  }
  EXPECT_NE(error(std::string((1 << 20) + 1, '#')).find("job.toml has 1048577 bytes"), std::string::npos);
  const auto twice = Command().with({"--config", "a", "--config=b"});
  EXPECT_NE(twice.error().message.find("--config is given twice"), std::string::npos);
  const auto nameless = Command().with({"--config"});
  EXPECT_NE(nameless.error().message.find("--config needs the name of a file"), std::string::npos);
}

TEST_F(ConfigFile, WritesWhatIsInForce) {
  Command command;
  command.run({"--lr", "0.1", "--steps=5", "-vv"});
  const auto text = command.config();
  for (const std::string part : {
           "# Settings of `yoke train`: `yoke train --config FILE` reads them",
           "## What\n\n# samples a step\nbatch = 32\n",
           "# learning rate\nlr = 0.1\n",
           "model = \"cnn\"\n",
           "# of several lines\n# note = \n",
           "quiet = false\n",
           "# cache = \n",  // its default is not shown, and it has a negative
           "verbose = 2\n",
           "# image = \n",
           "sizes = [1, 2]\n",
           "strategy = \"sync\"\n",
           "\nsteps = 5\n",
           "# epochs = 3\n",  // excluded by steps
           "# threads = \n",
           "# rate = \n",
       })
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  for (const std::string word : {"config =", "help =", "secret", "INPUT"})
    EXPECT_EQ(text.find(word), std::string::npos) << word;
}

TEST_F(ConfigFile, ReadsBackToTheSameJob) {
  const std::vector<Words> cases = {
      {},
      {"-b", "7", "--offset=-3", "--lr", "1e-9", "--model", "mlp:1-2", "--note", "say \"no\" \\ # = [x]\n\ttab"},
      {"--note", "", "-l", "'q'", "-q", "--no-cache", "-vvv", "--high", "--fast", "--exact", "true"},
      {"--cache", "--verbose", "--model", "123", "--note", "true", "--deadline", "2.5", "--report_file", "/tmp/a b"},
      {"--image", "a", "b c", "--image", "d,e", "--sizes", "3,4,5", "--pair", "-1", "-x", "--last", "a", "--last", "b"},
      {"--strategy", "async", "--steps", "9", "--secret", "4"},
      {"--epochs", "9", "--low"},
  };
  for (const auto& typed : cases) {
    Command first, second;
    const auto job = first.run(typed);
    const auto text = first.config();
    EXPECT_TRUE(second.run({"--config", file(text)}) == job) << text;
    // The second time nothing is a default any more, and the text may only gain what that makes certain.
    EXPECT_EQ(second.config(), text);
  }
}

}  // namespace
}  // namespace yoke::cli
