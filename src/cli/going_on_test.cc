#include "cli/going_on.h"

#include <gtest/gtest.h>

namespace yoke::cli {
namespace {

TEST(GoingOn, the_same_words_from_the_saved_weights_for_what_is_left) {
  TrainFlags flags;
  flags.options.epochs = 5;
  Summary summary;
  summary.samples = 230;
  EXPECT_EQ(go_on_words({"train", "--data", "digits", "--epochs", "5", "--save", "my model.safetensors"}, flags,
                        "my model.safetensors", summary, 100),
            "yoke train --data digits --save 'my model.safetensors' --init 'my model.safetensors' --epochs 3");
}

TEST(GoingOn, what_is_said_anew_is_left_out_however_it_was_spelled) {
  TrainFlags flags;
  flags.options.steps = 1000;
  Summary summary;
  summary.steps = 400;
  EXPECT_EQ(
      go_on_words({"train", "--init=old.safetensors", "--steps=1000", "--init-skip", "6.*", "7.*", "--freeze", "0.*"},
                  flags, "s.safetensors", summary, 0),
      "yoke train --freeze '0.*' --init s.safetensors --steps 600");
}

TEST(GoingOn, at_least_one_epoch_is_left) {
  TrainFlags flags;
  flags.options.epochs = 1;
  Summary summary;
  summary.samples = 99;
  EXPECT_EQ(go_on_words({"train"}, flags, "s", summary, 100), "yoke train --init s --epochs 1");
}

}  // namespace
}  // namespace yoke::cli
