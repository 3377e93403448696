#include "cli/early_end.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/scratch_folder.h"

namespace yoke::cli {
namespace {

class EarlyEndTest : public testing::Test {
 protected:
  void checkpoint(const std::string& name, bool finished = true) {
    std::filesystem::create_directories(folder_.file(name));
    if (finished) folder_.write(name + "/manifest.json", "{}");
  }
  Checkpoints kept(const std::string& resume = "") const {
    return {.folder = folder_.file("."), .every_steps = 0, .every = {}, .keep = 3, .resume = resume, .command = {}};
  }

  ScratchFolder folder_;
};

TEST_F(EarlyEndTest, TheNewestIsTheGreatestThatWasFinished) {
  EXPECT_FALSE(newest_checkpoint(folder_.file(".")));
  EXPECT_FALSE(newest_checkpoint(folder_.file("nowhere")));
  checkpoint("checkpoint-000000000090");
  checkpoint("checkpoint-000000000500");
  checkpoint("checkpoint-000000000600", false);
  checkpoint("making-000000000700-12");
  checkpoint("checkpoint-000000000800-old");
  checkpoint("checkpoint-9");
  checkpoint("best");
  const auto newest = newest_checkpoint(folder_.file("."));
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->version, 500u);
  EXPECT_EQ(newest->folder, folder_.file("./checkpoint-000000000500"));
  checkpoint("checkpoint-1000000000000");  // has outgrown its digits
  EXPECT_EQ(newest_checkpoint(folder_.file("."))->version, 1'000'000'000'000u);
}

TEST_F(EarlyEndTest, TheCommandIsTheSameWithResume) {
  const Checkpoints checkpoints{.folder = "my runs/a"};
  EXPECT_EQ(resume_command({"train", "--data", "digits", "--checkpoint", "my runs/a"}, checkpoints),
            "yoke train --data digits --checkpoint 'my runs/a' --resume 'my runs/a'");
  EXPECT_EQ(resume_command({"launch", "--checkpoint=b", "--", "./program", "--resume", "it's mine"}, {.folder = "b"}),
            "yoke launch --checkpoint=b --resume b -- ./program --resume 'it'\\''s mine'");
}

TEST_F(EarlyEndTest, AnOlderResumeIsReplaced) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"train", "--resume", "a", "--epochs", "3"}, {"train", "--resume=a", "--epochs", "3"}})
    EXPECT_EQ(resume_command(words, {.folder = "a", .resume = "a"}), "yoke train --epochs 3 --resume a");
}

TEST_F(EarlyEndTest, WhereNothingNewIsThereItGoesOnFromTheFormerAgain) {
  EXPECT_EQ(resume_command({"train"}, kept("former")), "yoke train --resume former");
  checkpoint("checkpoint-000000000001");
  EXPECT_EQ(resume_command({"train"}, kept("former")), "yoke train --resume " + folder_.file("."));
}

TEST_F(EarlyEndTest, SaysWhatFailedWhatWasSavedAndHowToGoOn) {
  checkpoint("checkpoint-000000000500");
  checkpoint("best");
  folder_.write("best/model.safetensors", "");
  const auto at = folder_.file(".");
  EXPECT_EQ(in_words({{"replica 1 was ended by SIGKILL", "server 0 ended with status 1"},
                      "m.safetensors",
                      kept(),
                      "",
                      {"launch"}}),
            "the job ended early\n"
            "what failed:\n"
            "  replica 1 was ended by SIGKILL\n"
            "  server 0 ended with status 1\n"
            "what was saved:\n"
            "  " +
                at +
                "/checkpoint-000000000500: version 500\n"
                "  " +
                at +
                "/best/model.safetensors: the best model on held-out data\n"
                "  m.safetensors: the model as it was then\n"
                "to go on:\n"
                "  yoke launch --resume " +
                at + "\n");
}

TEST_F(EarlyEndTest, WithoutCheckpointsItSaysHowToHaveThem) {
  EXPECT_EQ(in_words({{"it fell over"}, "", {}, "", {"launch", "--replicas", "2", "--", "./program"}}),
            "the job ended early\n"
            "what failed:\n"
            "  it fell over\n"
            "what was saved:\n"
            "  nothing: no --checkpoint DIR was given\n"
            "to go on:\n"
            "  yoke launch --replicas 2 --checkpoint DIR -- ./program\n"
            "  begins anew, and can be gone on with the next time\n");
  EXPECT_NE(in_words({{}, "", {}, "box", {"train", "--container", "box"}})
                .find("  container box has what came of it so far\nto go on:\n  yoke train --container box\n"),
            std::string::npos);
  EXPECT_NE(in_words({{}, "", kept(), "", {"train"}}).find("no checkpoint yet in"), std::string::npos);
}

}  // namespace
}  // namespace yoke::cli
