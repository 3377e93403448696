#include "cli/load_adapter.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace yoke::cli {

Result<const torch_adapter::Adapter*> load_adapter() {
  void* library = dlopen("libyoke_torch.so", RTLD_NOW | RTLD_GLOBAL);  // beside libyoke, by its run path
  if (!library)
    return Error{Code::unsupported, fmt::format("the LibTorch adapter cannot be loaded: {}; was Yoke built with "
                                                "-DYOKE_TORCH=ON?",
                                                dlerror())};
  void* symbol = dlsym(library, torch_adapter::kAdapterSymbol);
  if (!symbol)
    return Error{Code::unsupported, fmt::format("the LibTorch adapter is of another version: {}", dlerror())};
  using Door = const torch_adapter::Adapter* (*)();
  return reinterpret_cast<Door>(symbol)();
}

}  // namespace yoke::cli
