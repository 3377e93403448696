#include "cli/train_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/job_flags.h"
#include "cli/load_adapter.h"
#include "data/open.h"
#include "history/checker.h"
#include "history/recorder.h"
#include "strategy/strategy.h"
#include "torch_adapter/factory.h"
#include "train/synthetic.h"
#include "yoke/fit.h"
#include "yoke/process.h"

namespace yoke::cli {
namespace {

struct TrainFlags {
  Options options;
  FitOptions fit;
  std::string data = "fashion-mnist";
  std::string model = "cnn";
  std::string optimizer = "sgd";
  double lr = 0.05, momentum = 0.9, weight_decay = 0;
  bool check = false;
  bool quiet = false;
};

Result<Optimizer> optimizer_of(const TrainFlags& flags) {
  const auto lr = flags.lr, decay = flags.weight_decay;
  if (flags.optimizer == "sgd") return Optimizer(SGD{.lr = lr, .momentum = flags.momentum, .weight_decay = decay});
  if (flags.optimizer == "nesterov")
    return Optimizer(SGD{.lr = lr, .momentum = flags.momentum, .weight_decay = decay, .nesterov = true});
  if (flags.optimizer == "adagrad") return Optimizer(Adagrad{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "rmsprop") return Optimizer(RMSProp{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "adam") return Optimizer(Adam{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "adamw") return Optimizer(AdamW{.lr = lr, .weight_decay = decay});
  return Error{Code::invalid_argument,
               fmt::format("there is no optimizer '{}'; there are sgd, nesterov, adagrad, rmsprop, "
                           "adam and adamw",
                           flags.optimizer)};
}

Result<MakeTrainable> maker_of(const TrainFlags& flags) {
  auto optimizer = optimizer_of(flags);
  if (!optimizer) return optimizer.error();
  if (flags.model.starts_with("synthetic")) {
    auto synthetic = train::parse_synthetic(flags.model);
    if (!synthetic) return synthetic.error();
    synthetic->optimizer = *optimizer;
    return MakeTrainable([options = *synthetic](std::uint32_t) -> Result<std::unique_ptr<Trainable>> {
      return train::make_synthetic(options);
    });
  }
  auto data = data::open(flags.data);
  if (!data) return data.error();
  prepare_process();
  const auto factory = load_adapter();
  if (!factory) return factory.error();
  torch_adapter::ModelRequest request{flags.model, std::make_shared<data::Split>(std::move(*data)), *optimizer,
                                      flags.options};
  return MakeTrainable([request, make = *factory](std::uint32_t replica) {
    auto mine = request;
    mine.replica = replica;
    return make(mine);
  });
}

void show(const FitProgress& progress, const Options& options, bool terminal) {
  std::string line =
      fmt::format("epoch {}  step {:>6}  loss {:.4f}  accuracy {:.3f}  {:>6.0f} samples/s", progress.epoch + 1,
                  progress.step, progress.loss, progress.accuracy, progress.samples_per_second);
  if (options.strategy == Strategy::async) line += fmt::format("  staleness {:.1f}", progress.mean_staleness);
  if (progress.dropped) line += fmt::format("  dropped {}", progress.dropped);
  if (progress.refused) line += fmt::format("  refused {}", progress.refused);
  if (!progress.slowest_dropped.empty()) line += "  dropped most: " + progress.slowest_dropped;
  std::fprintf(stdout, terminal ? "\r\033[K%s" : "%s\n", line.c_str());
  std::fflush(stdout);
}

void show(const Fitted& fitted, const Options& options, bool has_test) {
  const auto& summary = fitted.summary;
  fmt::print("{} updates in {:.1f} s: {:.1f} steps/s, {:.0f} samples/s\n", summary.steps, summary.seconds,
             static_cast<double>(summary.steps) / summary.seconds,
             static_cast<double>(summary.samples) / summary.seconds);
  fmt::print("gradients: {} = {} applied + {} dropped + {} refused\n", summary.assigned, summary.applied,
             summary.dropped, summary.refused);
  std::uint64_t most = 0, count = 0, sum = 0;
  for (std::size_t s = 0; s < summary.staleness.size(); ++s) {
    count += summary.staleness[s];
    sum += s * summary.staleness[s];
    if (summary.staleness[s]) most = s;
  }
  if (options.strategy == Strategy::async && count)
    fmt::print("staleness: mean {:.2f}, at most {}\n", static_cast<double>(sum) / static_cast<double>(count), most);
  for (std::size_t i = 0; i < summary.replicas.size(); ++i) {
    const auto& replica = summary.replicas[i];
    fmt::print("replica {}: {} applied, {} dropped, {} refused", i, replica.applied, replica.dropped, replica.refused);
    if (options.strategy == Strategy::async) fmt::print(", mean staleness {:.2f}", replica.mean_staleness);
    fmt::print("{}\n", replica.lost.empty() ? "" : ", lost: " + replica.lost);
  }
  for (std::size_t i = 0; i < summary.replicas.size(); ++i) {
    const auto& replica = summary.replicas[i];
    const auto all = replica.applied + replica.dropped + replica.refused;
    if (options.spares > 0 && all >= 4 && replica.dropped * 2 > all)
      fmt::print(
          "replica {} is the slow one: {} of its {} gradients came too late and were dropped; with {} spare{} it held "
          "nobody up\n",
          i, replica.dropped, all, options.spares, options.spares == 1 ? "" : "s");
  }
  if (has_test) fmt::print("test accuracy {:.4f}, loss {:.4f}\n", fitted.test.accuracy, fitted.test.loss);
}

int fail(const Error& error) {
  std::fprintf(stderr, "error: %s\n", error.message.c_str());
  return error.code == Code::invalid_argument ? 2 : 1;
}

int check_history(const history::Recorder& recorder) {
  const auto violations = history::check(recorder.events());
  for (const auto& violation : violations) fmt::print("BROKEN PROMISE: {}\n", violation);
  if (violations.empty()) fmt::print("every promise held over the recorded history\n");
  return violations.empty() ? 0 : 1;
}

int train(TrainFlags flags) {
  auto& options = flags.options;
  const bool synthetic = flags.model.starts_with("synthetic");
  if (synthetic && options.steps == 0)
    return fail({Code::invalid_argument, "a synthetic model has no data and so no epochs: say --steps N"});
  if (const auto plan = strategy::plan(options); !plan) return fail(plan.error());
  const auto make = maker_of(flags);
  if (!make) return fail(make.error());
  if (flags.check) options.recorder = std::make_shared<history::Recorder>();

  fmt::print("{}{}: {}, {} replicas{}, batch {} each, seed {}\n", flags.model, synthetic ? "" : " on " + flags.data,
             strategy::name_of(options.strategy), options.replicas,
             options.spares ? fmt::format(" of which {} spare", options.spares) : "", flags.fit.batch, options.seed);
  const bool terminal = isatty(STDOUT_FILENO);
  if (!terminal) flags.fit.every *= 5;  // a log, not a display
  if (!flags.quiet) flags.fit.progress = [&](const FitProgress& progress) { show(progress, options, terminal); };
  const auto fitted = fit(options, flags.fit, *make);
  if (terminal && !flags.quiet) fmt::print("\n");
  if (!fitted) return fail(fitted.error());
  show(*fitted, options, !synthetic);
  return options.recorder ? check_history(*options.recorder) : 0;
}

}  // namespace

void add_train(CLI::App& app, int& status) {
  auto flags = std::make_shared<TrainFlags>();
  flags->options.replicas = 4;
  flags->options.spares = 0;
  flags->options.epochs = 3;
  auto* command = app.add_subcommand("train", "Train a network on many replicas in this process.");
  command->footer(
      "Examples:\n"
      "  yoke train                                    Fashion-MNIST, a CNN, 4 replicas, sync with 1 spare\n"
      "  yoke train --data digits --model mlp --strategy async --max-staleness 4\n"
      "  yoke train --model synthetic:1M:20ms --steps 200 --replicas 8 --spares 1 --slow 0:10");
  command->add_option("--data", flags->data, "fashion-mnist, digits")->capture_default_str()->group("What to train");
  command->add_option("--model", flags->model, "cnn, mlp, mlp:784-512-10, synthetic:PARAMETERS:STEP")
      ->capture_default_str()
      ->group("What to train");
  command->add_option("--batch", flags->fit.batch, "samples a replica and step")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->group("What to train");
  command->add_option("--optimizer", flags->optimizer, "sgd, nesterov, adagrad, rmsprop, adam, adamw")
      ->capture_default_str()
      ->group("What to train");
  command->add_option("--lr", flags->lr, "learning rate")->capture_default_str()->group("What to train");
  command->add_option("--momentum", flags->momentum, "of sgd and nesterov")
      ->capture_default_str()
      ->group("What to train");
  command->add_option("--weight-decay", flags->weight_decay, "")->capture_default_str()->group("What to train");
  command->add_flag("--check", flags->check, "record what happens and check the promises at the end")->group("Output");
  command->add_flag("--quiet", flags->quiet, "no progress")->group("Output");
  add_job_flags(*command, flags->options);
  auto* spares = command->get_option("--spares");
  auto* strategy = command->get_option("--strategy");
  spares->default_str("1 when neither this nor --strategy is given");
  command->callback([flags, spares, strategy, &status] {
    auto& options = flags->options;
    // The default job has a spare; a strategy chosen by name starts without.
    if (spares->count() == 0 && strategy->count() == 0 && options.replicas > 1 && !options.deterministic)
      options.spares = 1;
    status = train(*flags);
  });
}

}  // namespace yoke::cli
