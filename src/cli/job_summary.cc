#include "cli/job_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/display.h"

namespace yoke::cli {
namespace {

std::string counted(std::uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

// 105,866
std::string grouped(std::uint64_t number) {
  auto digits = std::to_string(number);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

std::string line(const char* what, const std::string& words) { return fmt::format("{:<11}{}\n", what, words); }

std::string stale_in_words(const StaleOptions& stale) {
  std::string words;
  if (stale.policy != Stale::apply) words += "; the staler a gradient, the less it weighs";
  if (stale.max_staleness) words += fmt::format("; more than {} versions old is dropped", *stale.max_staleness);
  if (stale.max_lead) words += fmt::format("; nobody runs more than {} steps ahead of the slowest", *stale.max_lead);
  if (stale.delay_compensation != 0) words += "; gradients are corrected for their delay";
  return words.empty() ? "; a stale gradient is applied as it is" : words;
}

std::string optimizer_in_words(const TrainFlags& flags) {
  auto words = fmt::format("{}, learning rate {}", flags.optimizer, *flags.lr);
  if (flags.optimizer == "sgd" || flags.optimizer == "nesterov") words += fmt::format(", momentum {}", *flags.momentum);
  if (flags.weight_decay != 0) words += fmt::format(", weight decay {}", flags.weight_decay);
  if (flags.options.schedule.kind == ScheduleOptions::Kind::cosine) words += ", falling to 0 as a cosine";
  if (flags.options.schedule.kind == ScheduleOptions::Kind::step)
    words += fmt::format(", times {} every {} epochs", flags.options.schedule.step_gamma,
                         flags.options.schedule.step_epochs);
  if (flags.options.clip_norm > 0) words += fmt::format(", gradients clipped to norm {}", flags.options.clip_norm);
  return words;
}

}  // namespace

std::string strategy_in_words(const Options& options) {
  const auto all = options.replicas;
  const auto servers = options.shards > 1 ? fmt::format(" (parameters spread over {} shards)", options.shards) : "";
  switch (options.strategy) {
    case Strategy::mirrored:
      return fmt::format("mirrored: {} compute, every update is the mean of all, and all stay bit-identical",
                         counted(all, "replica"));
    case Strategy::sync:
      if (options.spares == 0)
        return fmt::format("sync: every update waits for the gradients of {}{}",
                           all == 1 ? "the one replica" : fmt::format("all {} replicas", all), servers);
      return fmt::format("sync: every update is made of the fastest {} of {} replicas{}; {}", all - options.spares, all,
                         servers,
                         options.spares == 1 ? "one that is slow or lost holds nobody up"
                                             : fmt::format("{} that are slow or lost hold nobody up", options.spares));
    case Strategy::async:
      break;
  }
  auto words = fmt::format("async: every gradient of {} is applied when it arrives{}{}", counted(all, "replica"),
                           servers, stale_in_words(options.stale));
  if (options.warmup_epochs)
    words += fmt::format("; one replica alone for the first {}", counted(options.warmup_epochs, "epoch"));
  return words;
}

std::string data_in_words(const std::string& name, const data::Split& split) {
  const auto& schema = split.train.schema();
  auto words = fmt::format("{}: {} samples to train on", name, grouped(split.train.size()));
  if (split.validation.size()) words += fmt::format(", {} held out", grouped(split.validation.size()));
  if (split.test.size()) words += fmt::format(", {} for the test", grouped(split.test.size()));
  switch (schema.task) {
    case data::Task::classes:
      return words + (schema.tokens
                          ? fmt::format("; {} characters each, {} different ones", schema.width(), schema.outputs)
                          : fmt::format("; {} classes", schema.outputs));
    case data::Task::values:
      return words + (schema.labels.empty() ? fmt::format("; {} to predict", counted(schema.outputs, "value"))
                                            : fmt::format("; {} to predict", fmt::join(schema.labels, ", ")));
    case data::Task::binary:
      return words + "; yes or no";
    case data::Task::flags:
      break;
  }
  return words + fmt::format("; {} flags", schema.outputs);
}

std::string evaluation_in_words(const Evaluation& evaluation) {
  auto words = evaluation.accuracy ? fmt::format("accuracy {:.4f}, loss {:.4f}", *evaluation.accuracy, evaluation.loss)
                                   : fmt::format("loss {:.4f}", evaluation.loss);
  for (const auto& metric : evaluation.metrics) words += fmt::format(", {} {:.4g}", metric.name, metric.value);
  return words;
}

std::string plan_in_words(const TrainFlags& flags, const torch_adapter::ModelFacts& model, const std::string& data,
                          const train::MemoryPlan& memory, std::uint64_t available, std::uint32_t cores) {
  const auto& options = flags.options;
  std::string text;
  if (!data.empty()) text += line("data", data);
  text += line("model", fmt::format("{}, {} parameters: {}", model.model, grouped(model.parameters), model.words));
  text += line("strategy", strategy_in_words(options));
  const auto together = options.strategy == Strategy::async ? 1 : options.replicas - options.spares;
  const auto length = options.steps ? counted(options.steps, "update") : counted(options.epochs, "epoch");
  text += line("training", fmt::format("{} of {} samples ({} a replica), seed {}", length, together * flags.fit.batch,
                                       flags.fit.batch, options.seed));
  text += line("optimizer", optimizer_in_words(flags));
  std::string parts;
  for (const auto& item : memory.items) {
    parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", train::in_bytes(item.bytes), item.what);
  }
  text += line("memory", fmt::format("{} of {}, beside activations: {}", train::in_bytes(memory.total()),
                                     available ? train::in_bytes(available) + " available" : "what there is", parts));
  const auto at_once =
      options.deterministic ? 1 : std::min(options.replicas, options.compute_at_once ? options.compute_at_once : cores);
  text += line("threads", fmt::format("{} replicas on {}, {} at a time, {} each{}", options.replicas,
                                      counted(cores, "core"), at_once, counted(options.threads_per_replica, "thread"),
                                      flags.device == "cpu" ? "" : "; on " + flags.device));
  return text;
}

std::string result_in_words(const TrainFlags& flags, const Fitted& fitted, std::optional<double> bigram) {
  const auto& summary = fitted.summary;
  const auto& options = flags.options;
  std::string text = fmt::format("{} in {}: {:.1f} steps/s, {:.0f} samples/s\n", counted(summary.steps, "update"),
                                 in_time(summary.seconds), static_cast<double>(summary.steps) / summary.seconds,
                                 static_cast<double>(summary.samples) / summary.seconds);
  if (!summary.stopped.empty()) text += fmt::format("ended early: {}\n", summary.stopped);
  text += fmt::format("gradients: {} = {} applied + {} dropped + {} refused\n", summary.assigned, summary.applied,
                      summary.dropped, summary.refused);
  std::uint64_t most = 0, count = 0, sum = 0;
  for (std::size_t s = 0; s < summary.staleness.size(); ++s) {
    count += summary.staleness[s];
    sum += s * summary.staleness[s];
    if (summary.staleness[s]) most = s;
  }
  if (options.strategy == Strategy::async && count)
    text += fmt::format("staleness: mean {:.2f}, at most {}\n", static_cast<double>(sum) / static_cast<double>(count),
                        most);
  for (std::size_t i = 0; i < summary.replicas.size(); ++i) {
    const auto& replica = summary.replicas[i];
    text += fmt::format("replica {}: {} applied, {} dropped, {} refused, {:.1f} ms a step", i, replica.applied,
                        replica.dropped, replica.refused, replica.mean_step_seconds * 1000);
    if (options.strategy == Strategy::async) text += fmt::format(", mean staleness {:.2f}", replica.mean_staleness);
    text += replica.lost.empty() ? "\n" : fmt::format(", LOST: {}\n", replica.lost);
  }
  if (fitted.validation.samples)
    text += fmt::format("held out  (version {}): {}\n", fitted.version, evaluation_in_words(fitted.validation));
  if (fitted.test.samples) text += fmt::format("test      {}\n", evaluation_in_words(fitted.test));
  if (bigram)
    text += fmt::format("          (a model that knows only the last character has perplexity {:.4g})\n", *bigram);
  return text;
}

}  // namespace yoke::cli
