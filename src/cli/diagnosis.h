// What `yoke doctor` makes of what it finds.
#pragma once

#include <string>
#include <vector>

#include "torch_adapter/factory.h"
#include "train/machine.h"
#include "yoke/error.h"

namespace yoke::cli {

struct Finding {
  enum class Mark { ok, note, wrong };
  Mark mark = Mark::ok;
  std::string what;    // "BLAS"
  std::string fact;    // "OpenBLAS 0.3.21, kernels Prescott"
  std::string remedy;  // what to do; "" when all is well
};

// Speeds are 0 where they were not measured.
struct Examined {
  train::Machine machine;
  double copy_one = 0, copy_all = 0;    // bytes a second, on one thread and on all cores
  std::string better_kernels;           // of OpenBLAS, for this CPU; "": none are known
  Result<torch_adapter::Facts> torch;   // or why LibTorch cannot be had
  double flops_one = 0, flops_all = 0;  // operations a second, on one thread and on all cores
};

// Pure: every fact comes from `examined`.
std::vector<Finding> diagnose(const Examined& examined);

// A line a finding, and the remedy below it.
std::string as_table(const std::vector<Finding>& findings);
// The findings, and under "values" the numbers they were made from.
std::string as_json(const std::vector<Finding>& findings, const Examined& examined);

bool is_any_wrong(const std::vector<Finding>& findings);

}  // namespace yoke::cli
