// Brings LibTorch in, when it is needed and not before.
#pragma once

#include "torch_adapter/factory.h"
#include "yoke/error.h"

namespace yoke::cli {

// Loads the adapter's library. Call prepare_process() first: BLAS reads the environment when it is loaded.
Result<const torch_adapter::Adapter*> load_adapter();

}  // namespace yoke::cli
