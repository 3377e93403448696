#include "report/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "strategy/strategy.h"

namespace yoke::report {
namespace {

using nlohmann::ordered_json;

// JSON has no NaN.
ordered_json number(double value) { return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr); }

ordered_json accuracy_of(const std::optional<double>& accuracy) { return accuracy ? number(*accuracy) : nullptr; }

ordered_json evaluation_of(const Evaluation& evaluation) {
  if (evaluation.samples == 0) return nullptr;
  ordered_json json{{"samples", evaluation.samples},
                    {"loss", number(evaluation.loss)},
                    {"accuracy", accuracy_of(evaluation.accuracy)}};
  for (const auto& metric : evaluation.metrics) json[metric.name] = number(metric.value);
  return json;
}

ordered_json staleness_of(const std::vector<std::uint64_t>& histogram) {
  double sum = 0, count = 0;
  std::size_t most = 0;
  for (std::size_t s = 0; s < histogram.size(); ++s) {
    sum += static_cast<double>(s * histogram[s]);
    count += static_cast<double>(histogram[s]);
    if (histogram[s]) most = s;
  }
  return {{"mean", count > 0 ? sum / count : 0}, {"max", most}, {"histogram", histogram}};
}

ordered_json replicas_of(const Summary& summary) {
  auto list = ordered_json::array();
  for (std::size_t id = 0; id < summary.replicas.size(); ++id) {
    const auto& replica = summary.replicas[id];
    list.push_back({{"id", id},
                    {"steps", replica.applied},
                    {"dropped", replica.dropped},
                    {"refused", replica.refused},
                    {"mean_step_ms", number(replica.mean_step_seconds * 1000)},
                    {"mean_staleness", number(replica.mean_staleness)}});
    if (!replica.lost.empty()) list.back()["lost"] = replica.lost;
    if (replica.lives > 1) list.back()["lives"] = replica.lives;
  }
  return list;
}

ordered_json curve_of(const std::vector<CurvePoint>& curve) {
  auto list = ordered_json::array();
  for (const auto& point : curve)
    list.push_back({{"seconds", number(point.seconds)},
                    {"step", point.step},
                    {"samples", point.samples},
                    {"loss", number(point.loss)},
                    {"accuracy", accuracy_of(point.accuracy)},
                    {"training_loss", number(point.training_loss)}});
  return list;
}

const char* name_of(Ended ended) {
  switch (ended) {
    case Ended::finished:
      return "finished";
    case Ended::target_reached:
      return "target reached";
    case Ended::out_of_patience:
      return "out of patience";
    case Ended::stopped:
      break;
  }
  return "stopped";
}

ordered_json job_of(const Job& job) {
  const auto& options = job.options;
  return {{"model", job.model},
          {"parameters", job.parameters},
          {"data", job.data},
          {"strategy", strategy::name_of(options.strategy)},
          {"replicas", options.replicas},
          {"spares", options.spares},
          {"shards", options.shards},
          {"batch", job.batch},
          {"seed", options.seed}};
}

ordered_json environment_of(const Environment& environment) {
  return {{"version", environment.version},
          {"libtorch", environment.libtorch},
          {"blas", environment.blas},
          {"kernels", environment.kernels},
          {"cores", environment.cores}};
}

ordered_json result_of(const Fitted& fitted) {
  const auto& summary = fitted.summary;
  ordered_json json{{"ended", name_of(fitted.ended)},
                    {"steps", summary.steps},
                    {"epochs", summary.epochs},
                    {"samples", summary.samples},
                    {"wall_seconds", number(summary.seconds)},
                    {"samples_per_second", number(static_cast<double>(summary.samples) / summary.seconds)},
                    {"validation_accuracy", accuracy_of(fitted.validation.accuracy)},
                    {"test_accuracy", accuracy_of(fitted.test.accuracy)},
                    {"final_loss", number(fitted.final_loss)},
                    {"version", fitted.version},
                    {"validation", evaluation_of(fitted.validation)},
                    {"test", evaluation_of(fitted.test)},
                    {"gradients",
                     {{"asked", summary.assigned},
                      {"applied", summary.applied},
                      {"dropped", summary.dropped},
                      {"refused", summary.refused}}},
                    {"staleness", staleness_of(summary.staleness)},
                    {"samples_counted_per_epoch", {{"min", summary.least_counted}, {"max", summary.most_counted}}},
                    {"replica", replicas_of(summary)},
                    {"curve", curve_of(fitted.curve)}};
  if (!summary.stopped.empty()) json["stopped"] = summary.stopped;
  if (summary.degraded > 0) json["degraded_steps"] = summary.degraded;
  if (!summary.checkpoint.empty()) json["checkpoint"] = summary.checkpoint;
  if (!summary.checkpoint_problem.empty()) json["checkpoint_problem"] = summary.checkpoint_problem;
  return json;
}

}  // namespace

std::string to_json(const Job& job, const Fitted& fitted) {
  auto json = job_of(job);
  json.update(result_of(fitted));
  if (job.baseline_perplexity) json["bigram_perplexity"] = number(*job.baseline_perplexity);
  for (const auto& metric : job.loader) json["batches"][metric.name] = number(metric.value);
  json["environment"] = environment_of(job.environment);
  return json.dump(2) + "\n";
}

std::string to_json(const Job& job, const std::vector<Fitted>& folds) {
  auto json = job_of(job);
  double sum = 0, squares = 0;
  auto list = ordered_json::array();
  for (const auto& fold : folds) {
    const double score = fold.validation.accuracy.value_or(fold.validation.loss);
    sum += score;
    squares += score * score;
    list.push_back(result_of(fold));
  }
  const auto count = static_cast<double>(folds.size());
  const double mean = sum / count;
  const bool has_accuracy = !folds.empty() && folds.front().validation.accuracy.has_value();
  const double spread = count > 1 ? std::sqrt(std::max(0.0, (squares - sum * mean) / (count - 1))) : 0;
  json[has_accuracy ? "validation_accuracy" : "validation_loss"] = {{"mean", number(mean)},
                                                                    {"deviation", number(spread)}};
  if (job.baseline_perplexity) json["bigram_perplexity"] = number(*job.baseline_perplexity);
  json["fold"] = std::move(list);
  json["environment"] = environment_of(job.environment);
  return json.dump(2) + "\n";
}

}  // namespace yoke::report
