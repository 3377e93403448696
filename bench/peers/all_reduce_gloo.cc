// An all-reduce of floats over Gloo and loopback TCP, one process a rank; rank 0 prints the time of a call, of the
// fastest of Gloo's algorithms.
// usage: all_reduce_gloo --rank R --size N --folder DIR --bytes B --iterations K [--warm-ups W]
#include <gloo/allreduce.h>
#include <gloo/allreduce_bcube.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <functional>
#include <memory>
#include <thread>

#include "figures.h"

namespace {

using Context = std::shared_ptr<gloo::rendezvous::Context>;
using Algorithm = gloo::AllreduceOptions::Algorithm;

struct Bench {
  int rank, size;
  std::size_t count;
  long warm_ups, iterations;
  gloo::rendezvous::FileStore store;
  std::shared_ptr<gloo::transport::Device> device;
  std::vector<float> values;
  std::vector<peers::Way> ways;
  std::vector<Context> contexts;  // open to the end: nobody hangs up while another is still at it

  // Each way has connections of its own, as they cannot be switched back from waiting in the calling thread.
  Context connect(const std::string& name) {
    gloo::rendezvous::PrefixStore prefixed(name, store);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
    context->connectFullMesh(prefixed, device);
    contexts.push_back(context);
    return context;
  }

  void run(const std::string& name, const std::function<void()>& work) {
    peers::fill(values.data(), count, rank);
    work();
    peers::check_sum(values.data(), count, size, name);
    std::fill(values.begin(), values.end(), 0.0F);
    ways.push_back({name, peers::measure(warm_ups, iterations, work)});
  }

  void options(const std::string& name, Algorithm algorithm) {
    const auto context = connect(name);
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(algorithm);
    options.setOutput(values.data(), count);
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, std::size_t)>(&gloo::sum<float>));
    run(name, [&] { gloo::allreduce(options); });
  }

  enum class Waiting { loop, caller, spinning };

  template <class Class>
  void old(std::string name, Waiting waiting) {
    if (waiting != Waiting::loop) name += waiting == Waiting::caller ? ", sync" : ", spinning";
    const auto context = connect(name);
    if (waiting != Waiting::loop)
      for (int other = 0; other < size; ++other)
        if (other != rank) context->getPair(other)->setSync(true, waiting == Waiting::spinning);
    Class algorithm(context, std::vector<float*>{values.data()}, static_cast<int>(count));
    run(name, [&] { algorithm.run(); });
  }

  void meet_at_the_end() {
    gloo::BarrierOptions options(connect("end"));
    gloo::barrier(options);
  }

  void old_ones(Waiting waiting) {
    old<gloo::AllreduceRing<float>>("ring class", waiting);
    old<gloo::AllreduceRingChunked<float>>("ring chunked", waiting);
    old<gloo::AllreduceHalvingDoubling<float>>("halving-doubling", waiting);
    old<gloo::AllreduceBcube<float>>("bcube class", waiting);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](const char* name, const char* otherwise = nullptr) {
    return peers::number(argc, argv, name, otherwise);
  };
  const auto count = static_cast<std::size_t>(number("--bytes")) / sizeof(float);
  Bench bench{static_cast<int>(number("--rank")),
              static_cast<int>(number("--size")),
              count,
              number("--warm-ups", "3"),
              number("--iterations"),
              gloo::rendezvous::FileStore(peers::argument(argc, argv, "--folder")),
              gloo::transport::tcp::CreateDevice("127.0.0.1"),
              std::vector<float>(count),
              {},
              {}};
  bench.options("ring", Algorithm::RING);
  bench.options("bcube", Algorithm::BCUBE);
  bench.old_ones(Bench::Waiting::loop);
  // Without Gloo's own thread both sides of a large exchange send, and neither receives: it never ends.
  constexpr std::size_t kFitsInASocket = 64 << 10;
  const bool cores_for_all = bench.size <= static_cast<int>(std::thread::hardware_concurrency());
  if (count * sizeof(float) <= kFitsInASocket) {
    bench.old_ones(Bench::Waiting::caller);
    if (cores_for_all) bench.old_ones(Bench::Waiting::spinning);
  }
  bench.meet_at_the_end();
  if (bench.rank == 0) peers::print_fastest(bench.ways, bench.iterations);
}
