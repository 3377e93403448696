// The public headers stand alone, and the library runs a job, without LibTorch.
#include <yoke/run.h>

#include <atomic>
#include <cstdio>

int main() {
  yoke::Options options;
  options.replicas = 2;
  options.steps = 1;
  std::atomic<int> bodies = 0;
  const auto summary = yoke::run_job(options, [&](yoke::Replica&) { ++bodies; });
  if (!summary.ok()) std::fprintf(stderr, "%s\n", summary.error().message.c_str());
  return summary.ok() && bodies == 2 ? 0 : 1;
}
