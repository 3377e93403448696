// The door to the LibTorch adapter for those who must not include, nor link, LibTorch: the library is loaded at run
// time, after the environment for BLAS has been set.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/dataset.h"
#include "yoke/optimizer.h"
#include "yoke/options.h"
#include "yoke/trainable.h"

namespace yoke::torch_adapter {

// A built-in network on a data set.
struct ModelRequest {
  std::string model;  // "cnn", "mlp", "mlp:784-512-512-10"
  std::shared_ptr<const data::Split> data;
  Optimizer optimizer;
  Options options;
  std::uint32_t replica = 0;
};

// The one symbol of the library that is looked up by name.
inline constexpr char kFactorySymbol[] = "yoke_make_torch_trainable";
using Factory = Result<std::unique_ptr<Trainable>> (*)(const ModelRequest&);

}  // namespace yoke::torch_adapter
