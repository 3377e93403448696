#include <yoke/torch.h>

namespace F = torch::nn::functional;

int main(int argc, char** argv) {
  yoke::prepare_process();  // fast BLAS kernels and malloc
  const auto digits = yoke::load_data("digits");
  return yoke::run(yoke::options_from(argc, argv), [&](yoke::Replica& replica) {
    using namespace torch::nn;
    Sequential net(Flatten(), Linear(64, 128), ReLU(), Linear(128, 10));  // any torch::nn::Module
    auto train = replica.attach(net, yoke::Adam{.lr = 3e-3});
    for (const auto& batch : replica.samples(digits.train.size(), 32)) {  // each sample counts once an epoch
      auto [x, y] = digits.train.get(batch);
      train.backward(F::cross_entropy(net->forward(x), y));
      train.step();
    }
    if (!replica.chief()) return;
    auto right = net->forward(digits.test.inputs).argmax(1).eq(digits.test.labels);
    std::printf("test accuracy %.3f\n", right.to(torch::kFloat).mean().item<double>());
  });
}
