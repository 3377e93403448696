#include "cli/job_flags.h"

#include <fmt/format.h>

#include <map>

#include "cli/checkpoint_flags.h"
#include "strategy/strategy.h"

namespace yoke::cli {
namespace {

template <class Enum>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Enum& value, const std::map<std::string, Enum>& names,
                        const std::string& help) {
  std::string all;
  std::string standard;
  for (const auto& [name, choice] : names) {
    all += (all.empty() ? "" : "|") + name;
    if (choice == value) standard = name;
  }
  return app
      .add_option_function<std::string>(
          flag,
          [&value, names, flag, all](const std::string& text) {
            const auto it = names.find(text);
            if (it == names.end()) throw CLI::ValidationError(flag, fmt::format("'{}' is none of {}", text, all));
            value = it->second;
          },
          help)
      ->type_name(all)
      ->default_str(standard);
}

// "0:10,3:2" -> {0: 10, 3: 2}
std::vector<std::pair<std::uint32_t, double>> pairs(const std::string& flag, const std::string& text) {
  std::vector<std::pair<std::uint32_t, double>> result;
  for (const auto& item : CLI::detail::split(text, ',')) {
    unsigned first = 0;
    double second = 0;
    char rest = 0;
    if (std::sscanf(item.c_str(), "%u:%lf%c", &first, &second, &rest) != 2)
      throw CLI::ValidationError(flag, fmt::format("'{}' is not of the form NUMBER:NUMBER", item));
    result.emplace_back(first, second);
  }
  return result;
}

void add_async_flags(CLI::App& app, Options& options) {
  auto& stale = options.stale;
  const std::string group = "Stale gradients (async)";
  add_choice<Stale>(app, "--stale", stale.policy,
                    {{"apply", Stale::apply},
                     {"drop", Stale::apply},
                     {"scale", Stale::scale_inverse},
                     {"scale-exp", Stale::scale_exponential},
                     {"scale-linear", Stale::scale_linear}},
                    "what to do with them; drop needs --max-staleness")
      ->default_str("apply")
      ->group(group);
  app.add_option("--stale-strength", stale.strength, "of scale-exp and scale-linear")
      ->capture_default_str()
      ->group(group);
  auto* bound =
      app.add_option("--max-staleness", stale.max_staleness, "drop gradients that are more versions old than this");
  bound->group(group);
  app.parse_complete_callback([&app, bound] {
    if (bound->count() == 0 && app.get_option("--stale")->count() > 0 &&
        app.get_option("--stale")->results()[0] == "drop")
      throw CLI::ValidationError("--stale drop", "needs --max-staleness K: from how many versions on to drop");
  });
  app.add_option("--max-lead", stale.max_lead, "a replica so many steps ahead of the slowest waits")->group(group);
  app.add_option("--delay-compensation", stale.delay_compensation, "lambda; 0: off")
      ->capture_default_str()
      ->group(group);
  app.add_flag_callback(
         "--state-per-replica", [&options] { options.optimizer_state = OptimizerState::per_replica; },
         "one optimizer state a replica instead of a shared one")
      ->group(group);
}

void add_schedule_flags(CLI::App& app, Options& options) {
  auto& schedule = options.schedule;
  const std::string group = "Learning rate and batch";
  add_choice<ScheduleOptions::Kind>(app, "--schedule", schedule.kind,
                                    {{"constant", ScheduleOptions::Kind::constant},
                                     {"step", ScheduleOptions::Kind::step},
                                     {"cosine", ScheduleOptions::Kind::cosine}},
                                    "of the learning rate")
      ->group(group);
  app.add_option("--step-epochs", schedule.step_epochs, "schedule step: every so many epochs")
      ->capture_default_str()
      ->group(group);
  app.add_option("--step-gamma", schedule.step_gamma, "schedule step: times this")->capture_default_str()->group(group);
  app.add_option("--lr-warmup-epochs", schedule.warmup_epochs, "raise the rate linearly at first")
      ->capture_default_str()
      ->group(group);
  app.add_option("--lr-reference-batch", schedule.reference_batch,
                 "linear scaling: the given rate is for so many samples an update; 0: off")
      ->capture_default_str()
      ->group(group);
  app.add_option("--clip-norm", options.clip_norm, "clip the gradient to this norm; 0: off")
      ->capture_default_str()
      ->group(group);
  app.add_option_function<std::string>(
         "--batch-schedule",
         [&options](const std::string& text) {
           for (const auto& [epoch, batch] : pairs("--batch-schedule", text)) {
             if (!(batch >= 1 && batch <= 1e9))
               throw CLI::ValidationError("--batch-schedule", "a batch has at least 1 sample");
             options.batch_schedule.push_back({epoch, static_cast<std::uint32_t>(batch)});
           }
         },
         "from epoch E on B samples a replica, as in 0:32,2:64 (epochs from 0)")
      ->type_name("E:B,...")
      ->group(group);
  app.add_option("--warmup-epochs", options.warmup_epochs, "only one replica works for so many epochs")
      ->capture_default_str()
      ->group(group);
  app.add_option("--warmup-steps", options.warmup_steps, "... or for so many updates")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_job_flags(CLI::App& app, Options& options) {
  const std::string group = "How the replicas pull together";
  add_choice<Strategy>(app, "--strategy", options.strategy,
                       {{"mirrored", Strategy::mirrored}, {"sync", Strategy::sync}, {"async", Strategy::async}},
                       "mirrored: all-reduce; sync: servers that wait; async: servers that do not")
      ->group(group);
  app.add_option("--replicas", options.replicas, "copies of the model, each a thread or a process")
      ->capture_default_str()
      ->group(group);
  app.add_option("--spares", options.spares, "sync: of the replicas, so many slowest are not waited for")
      ->capture_default_str()
      ->group(group);
  app.add_option("--shards", options.shards, "sync, async: servers the parameters are spread over")
      ->capture_default_str()
      ->group(group);
  app.add_option("--min-replicas", options.min_replicas,
                 "with fewer left training waits for others, at most as long as --deadline says")
      ->capture_default_str()
      ->group(group);
  app.add_option("--max-refusals", options.max_refusals,
                 "a replica whose gradients are refused (wrong, or not finite) so often in a row is struck off")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000u))
      ->group(group);
  app.add_option("--threads-per-replica", options.threads_per_replica, "inside LibTorch's operations")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1024u))
      ->group(group);
  add_choice<Buffers>(app, "--buffers", options.buffers,
                      {{"mean", Buffers::mean}, {"local", Buffers::local}, {"chief", Buffers::chief}},
                      "whose batch-norm statistics count")
      ->group(group);
  app.add_option("--seed", options.seed, "of the order of the samples and of the first weights")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--deterministic", options.deterministic, "the same bits in every run (sync without spares, mirrored)")
      ->group(group);
  app.add_option_function<double>(
         "--deadline",
         [&options](double seconds) {
           if (!(seconds >= 0.001 && seconds <= 1e6))
             throw CLI::ValidationError("--deadline", "must be between 0.001 and 1000000 seconds");
           options.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
         },
         "give up after so many seconds in which nothing happens")
      ->type_name("SECONDS")
      ->default_str("60")
      ->group(group);
  app.add_option_function<std::string>(
         "--slow",
         [&options](const std::string& text) {
           for (const auto& [replica, factor] : pairs("--slow", text)) options.slow[replica] = factor;
         },
         "make replica R so many times slower, as in 0:10")
      ->type_name("R:FACTOR,...")
      ->group(group);
  app.add_option_function<std::string>(
         "--straggle",
         [&options](const std::string& text) {
           char rest = 0;
           if (std::sscanf(text.c_str(), "%lf:%lf%c", &options.straggle_probability, &options.straggle_factor, &rest) !=
               2)
             throw CLI::ValidationError("--straggle", fmt::format("'{}' is not of the form PROBABILITY:FACTOR", text));
         },
         "with probability P a step takes FACTOR times as long, whichever replica's, as in 0.05:4")
      ->type_name("P:FACTOR")
      ->group(group);
  add_schedule_flags(app, options);
  add_async_flags(app, options);
  add_checkpoint_flags(app, options.checkpoints);
}

void add_program_flags(CLI::App& app, Options& options) {
  app.add_option("--epochs", options.epochs, "times through the data")->capture_default_str()->group("How long");
  app.add_option("--steps", options.steps, "stop after so many updates instead")->group("How long");
  add_job_flags(app, options);
}

Status check_job(const Options& options) {
  if (options.strategy == Strategy::mirrored && options.shards > 1)
    return Error{Code::invalid_argument,
                 "mirrored has no servers to spread over shards: each replica has a slice of the update; leave out "
                 "--shards, or use --strategy sync"};
  if (const auto plan = strategy::plan(options); !plan) return plan.error();
  return check_checkpoints(options.checkpoints, options.processes.container);
}

}  // namespace yoke::cli
