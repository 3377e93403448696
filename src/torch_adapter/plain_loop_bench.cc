// A plain LibTorch loop on one thread that exchanges nothing: samples a second, as a line of JSON. Several of them at
// once show what the machine's cores can give at all.
//
//   plain_loop_bench [--model mlp:784-512-512-10] [--batch 128] [--steps 300]
#include <fmt/format.h>

#include <cstring>

#include "torch_adapter/plain_loop.h"
#include "torch_adapter/threads.h"

int main(int argc, char** argv) {
  yoke::prepare_process();
  yoke::torch_adapter::use_threads(1);
  yoke::torch_adapter::Work work{"mlp:784-512-512-10", 128, 300};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--model") == 0) work.model = argv[i + 1];
    if (std::strcmp(argv[i], "--batch") == 0) work.batch = static_cast<std::uint32_t>(std::stoul(argv[i + 1]));
    if (std::strcmp(argv[i], "--steps") == 0) work.steps = std::stoull(argv[i + 1]);
  }
  work.warm_ups = work.steps / 4 + 2;
  try {
    const auto pace = yoke::torch_adapter::plain(work, yoke::load_data("fashion-mnist").train);
    fmt::print("{{\"samples_per_second\":{:.1f}}}\n", pace);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return 1;
  }
  return 0;
}
