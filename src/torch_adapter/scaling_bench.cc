// Two replicas, one thread each, against a plain LibTorch loop of one: samples a second, both sides in one run,
// interleaved, medians. The same kernels, malloc, data and network for all; the loops are what a user would write.
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "torch_adapter/plain_loop.h"
#include "torch_adapter/threads.h"
#include "yoke/torch.h"

namespace {

namespace F = torch::nn::functional;

using yoke::torch_adapter::network;
using yoke::torch_adapter::plain;
using yoke::torch_adapter::seconds_since;
using yoke::torch_adapter::Work;

// Two plain loops side by side that exchange nothing: what the machine's two cores can give at all.
double apart(const Work& work, const yoke::Examples& data) {
  double first = 0, second = 0;
  {
    const auto loop = [&](double& pace) {
      yoke::torch_adapter::use_threads(1);
      pace = plain(work, data);
    };
    std::jthread one([&] { loop(first); }), two([&] { loop(second); });
  }
  return first + second;
}

double replicated(const Work& work, const yoke::Examples& data, yoke::Options options) {
  options.steps = work.steps;
  auto start = std::chrono::steady_clock::now();
  const auto summary = yoke::run_job(options, [&](yoke::Replica& replica) {
                         auto net = network(work);
                         auto train = replica.attach(net, yoke::SGD{.lr = 0.01, .momentum = 0.9});
                         auto samples = replica.samples(data.size(), work.batch);
                         if (replica.chief()) start = std::chrono::steady_clock::now();  // all have joined
                         for (const auto& batch : samples) {
                           auto [x, y] = data.get(batch);
                           train.backward(F::cross_entropy(net->forward(x), y));
                           train.step();
                         }
                       }).or_throw();
  return static_cast<double>(summary.samples) / seconds_since(start);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const Work& work, const yoke::Examples& data, int rounds) {
  yoke::Options mirrored, sync;
  mirrored.replicas = sync.replicas = 2;
  mirrored.strategy = yoke::Strategy::mirrored;
  sync.strategy = yoke::Strategy::sync;
  std::vector<double> one, mirror, central, mirror_ratio, central_ratio, apart_ratio;
  for (int round = 0; round < rounds; ++round) {
    one.push_back(plain(work, data));
    mirror.push_back(replicated(work, data, mirrored));
    central.push_back(replicated(work, data, sync));
    const double two = apart(work, data);
    one.push_back(plain(work, data));  // before and after: the machine's pace drifts
    const double pace = (one[one.size() - 2] + one.back()) / 2;
    mirror_ratio.push_back(mirror.back() / pace);
    central_ratio.push_back(central.back() / pace);
    apart_ratio.push_back(two / pace);
  }
  fmt::print(
      "{} batch {}: plain {:.0f}/s; mirrored x2 {:.0f}/s = {:.2f}x; sync x2 {:.0f}/s = {:.2f}x; two plain loops that "
      "exchange nothing: {:.2f}x\n",
      work.model, work.batch, median(one), median(mirror), median(mirror_ratio), median(central), median(central_ratio),
      median(apart_ratio));
}

}  // namespace

int main(int argc, char** argv) {
  yoke::prepare_process();
  yoke::torch_adapter::use_threads(1);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const auto data = yoke::load_data("fashion-mnist");
  compare({"mlp:784-512-512-10", 128, 200}, data.train, rounds);
  compare({"cnn", 64, 30}, data.train, rounds);
  return 0;
}
