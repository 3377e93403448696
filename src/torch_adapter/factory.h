// The door to the LibTorch adapter for those who must not include, nor link, LibTorch: the library is loaded at run
// time, after the environment for BLAS has been set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/dataset.h"
#include "data/loader.h"
#include "yoke/optimizer.h"
#include "yoke/options.h"
#include "yoke/state.h"
#include "yoke/trainable.h"

namespace yoke::torch_adapter {

enum class Loss { standard, cross_entropy, squared, absolute };  // standard: as the task has it

// A network on a data set: which, and how it is to be trained.
struct ModelRequest {
  std::string model;  // "cnn", "mlp:784-512-10", "resnet", "lstm:128", or a TorchScript file
  std::shared_ptr<const data::Split> data;
  std::shared_ptr<data::Loader> loader;  // of data->train; null: the model is not trained
  Loss loss = Loss::standard;
  std::uint32_t top = 5;  // the k of the top-k metric
  Optimizer optimizer;
  std::vector<std::string> freeze;                    // patterns of parameter names, as in "0.*"
  std::vector<std::pair<std::string, double>> rates;  // pattern -> learning rate
  std::shared_ptr<const State> init;                  // weights to start from
  std::vector<std::string> init_skip;                 // patterns of parameters that start afresh all the same
  std::string device = "cpu";                         // "cuda", "cuda:0"
  Options options;
  std::uint32_t replica = 0;
};

// What can be known before anything is built.
struct ModelFacts {
  std::string model;  // spelled out: "mlp:64-512-512-10"
  std::uint64_t parameters = 0;
  std::string words;  // "a convolutional network: 3 layers of 32, 64 and 128 filters"
};

// What the machine and this LibTorch have to offer.
struct Facts {
  std::string libtorch;              // "1.13.1"
  std::string blas;                  // "OpenBLAS 0.3.21"
  std::string kernels;               // "SkylakeX"
  std::vector<std::string> devices;  // "cpu", "cuda:0 (NVIDIA H200, 139 GiB)"
};

struct Adapter {
  Result<std::unique_ptr<Trainable>> (*make)(const ModelRequest&);
  // Of `model`, `data` and `device` alone; errors are those that `make` would give.
  Result<ModelFacts> (*describe)(const ModelRequest&);
  // The network itself with its present weights, for programs that read TorchScript. Only of TorchScript models.
  Status (*save_script)(const ModelRequest&, const State&, const std::string& file);
  Facts (*facts)();
  // Multiplies matrices for about so long, and says how many floating-point operations a second that made.
  double (*flops)(std::uint32_t threads, double seconds);
};

// The one symbol of the library that is looked up by name: returns const Adapter*.
inline constexpr char kAdapterSymbol[] = "yoke_torch_adapter";

}  // namespace yoke::torch_adapter
