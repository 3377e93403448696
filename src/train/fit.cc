#include "yoke/fit.h"

#include "train/fit_one.h"

namespace yoke {

Result<Fitted> fit(const Options& options, const FitOptions& fit_options, const MakeTrainable& make) {
  train::FitShared shared{options, fit_options, make, {options, fit_options}};
  auto summary = run_job(options, [&](Replica& replica) { train::fit_one(replica, shared); });
  return train::conclusion(shared, std::move(summary));
}

}  // namespace yoke
