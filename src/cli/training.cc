#include "cli/training.h"

#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "checkpoint/model_file.h"
#include "checkpoint/weights.h"
#include "cli/checkpoint_flags.h"
#include "cli/display.h"
#include "cli/early_end.h"
#include "cli/exit_status.h"
#include "cli/going_on.h"
#include "cli/interrupt.h"
#include "cli/job_summary.h"
#include "cli/load_adapter.h"
#include "cli/outputs.h"
#include "cli/passed_over.h"
#include "cli/processes.h"
#include "data/text.h"
#include "history/checker.h"
#include "history/history_file.h"
#include "history/recorder.h"
#include "history/timeline.h"
#include "launch/child.h"
#include "launch/surroundings.h"
#include "report/chrome_trace.h"
#include "report/report.h"
#include "train/machine.h"
#include "train/model_card.h"
#include "train/synthetic.h"
#include "yoke/process.h"
#include "yoke/version.h"

namespace yoke::cli {
namespace {

using torch_adapter::Adapter;
using torch_adapter::ModelRequest;

class Training {
 public:
  Training(TrainFlags flags, const std::vector<std::string>& words) : flags_(std::move(flags)), words_(words) {}

  // To the end of it, and what a person can do where that came early.
  int run() {
    const auto status = train();
    if (status) return *status;
    const int failed = fail(status.error());
    if (failed == kFailed && !one_of_many() && validation_.folds == 0) say_early_end(status.error().message, "");
    return failed;
  }

 private:
  // An error, or the exit status.
  Result<int> train() {
    if (auto ready = prepare(); !ready) return ready.error();
    if (validation_.folds > 0) return run_folds();
    auto fitted = fit_fold(0, true);
    if (!fitted) return fitted.error();
    if (fitted->drained) return static_cast<int>(kDrained);
    if (!fitted->concluded) return static_cast<int>(kDone);  // another process has the result, and says so
    auto status = conclude(*fitted, {});
    // A launcher goes by this: the result is there, with all its files.
    if (const char* file = std::getenv(kResultVariable); file && status && one_of_many())
      if (auto written = write_file(file, fmt::format("{}\n", *status)); !written) return written.error();
    return status;
  }

  // A launcher has started this process, and says for all of them what there is to say.
  static bool launched() { return std::getenv(kCommandVariable) != nullptr; }

  void say_early_end(const std::string& why, const std::string& result) const {
    std::fflush(stdout);
    const auto& options = flags_.options;
    std::fputs(in_words({{why}, result, options.checkpoints, options.processes.container, words_}).c_str(), stderr);
  }

  // This process is one replica of a job, not the whole of it.
  bool one_of_many() const { return !flags_.options.processes.join.empty(); }

  Status prepare() {
    for (const auto& [flag, file] : {std::pair{"--save", flags_.save},
                                     {"--report", flags_.report},
                                     {"--timeline", flags_.timeline},
                                     {"--history", flags_.history}})
      if (auto writable = can_write(flag, file); !writable) return writable;
    if (flags_.check || !flags_.history.empty()) flags_.options.recorder = std::make_shared<history::Recorder>();
    if (one_of_many() && flags_.options.recorder)
      if (auto streams = flags_.options.recorder->stream_to(flags_.history); !streams) return streams;
    if (!flags_.timeline.empty()) flags_.options.timeline = std::make_shared<history::Timeline>();
    auto optimizer = optimizer_of(flags_);
    if (!optimizer) return optimizer.error();
    optimizer_ = *optimizer;
    flags_.options.checkpoints.command = whole_command(words_);
    job_.environment.version = kVersion;
    job_.environment.cores = train::read_machine().cores;
    return flags_.synthetic() ? prepare_synthetic() : prepare_network();
  }

  Status prepare_synthetic() {
    auto synthetic = train::parse_synthetic(flags_.model);
    if (!synthetic) return synthetic.error();
    synthetic_ = *synthetic;
    synthetic_.optimizer = optimizer_;
    model_ = {flags_.model, synthetic_.parameters, "no model at all: it only passes time"};
    flags_.options.processes.about = {{"yoke.model", flags_.model}};
    return announce("");
  }

  Status prepare_network() {
    auto opened = data::open(flags_.data);
    if (!opened) return opened.error();
    opened_ = std::move(*opened);
    validation_ = *data::parse_validation(flags_.validation);
    if (flags_.model.empty()) {
      const auto& schema = opened_.source->schema();
      flags_.model = schema.tokens ? "lstm" : schema.shape.size() == 3 ? "cnn" : "mlp";
    }
    if (auto checked = check_data_flags(); !checked) return checked;
    if (flags_.fit.target_accuracy && opened_.source->schema().task == data::Task::values)
      return Error{Code::invalid_argument,
                   "--target-accuracy: numbers are not right or wrong, so this data has no accuracy; use --patience to "
                   "stop when the error no longer falls"};
    if (flags_.save.ends_with(".pt") && !flags_.model.ends_with(".pt"))
      return Error{Code::invalid_argument,
                   fmt::format("--save {}: only a model that came as TorchScript goes back into "
                               "such a file; name it FILE.safetensors",
                               flags_.save)};
    if (!flags_.init.empty()) {
      auto weights = checkpoint::read_weights(flags_.init);
      if (!weights) return weights.error();
      say_passed_over(weights->passed_over);
      init_ = std::make_shared<State>(std::move(weights->state));
    }
    prepare_process();
    auto adapter = load_adapter();
    if (!adapter) return adapter.error();
    adapter_ = *adapter;
    auto request = request_for(0);
    if (!request) return request.error();
    auto model = adapter_->describe(*request);
    if (!model) return model.error();
    model_ = std::move(*model);
    State words;
    write_card(*request->data, words);
    flags_.options.processes.about = std::move(words.about);
    const auto facts = adapter_->facts();
    job_.environment.libtorch = facts.libtorch;
    job_.environment.blas = facts.blas;
    job_.environment.kernels = facts.kernels;
    return announce(data_in_words(opened_.name, *request->data));
  }

  // Settings that this kind of data would pass over in silence.
  Status check_data_flags() const {
    const auto& schema = opened_.source->schema();
    if (!schema.tokens && flags_.data.sequence != data::OpenOptions().sequence)
      return Error{Code::invalid_argument, "--sequence is of text, and this data is none: leave it out"};
    if (!flags_.image_size.empty() && schema.shape.size() != 3)
      return Error{Code::invalid_argument, "--image-size is of images, and this data has none: leave it out"};
    return {};
  }

  // Says what will happen; too little memory is an error before any of it does.
  Status announce(const std::string& data) {
    job_.model = model_.model;
    job_.data = opened_.name;
    job_.parameters = model_.parameters;
    job_.options = flags_.options;
    job_.batch = flags_.fit.batch;
    const bool keeps_best = flags_.fit.keep_best && !flags_.synthetic();
    auto here = flags_.options;
    if (one_of_many()) here.replicas = 1;  // the others have memory of their own
    const auto memory = train::plan_memory(here, optimizer_, model_.parameters, 0, keeps_best);
    const auto available = train::available_memory();
    if (available && memory.total() > available)
      return Error{Code::unsupported,
                   fmt::format("this job needs about {} and {} are available: take fewer replicas or a smaller model{}",
                               train::in_bytes(memory.total()), train::in_bytes(available),
                               flags_.options.strategy == Strategy::mirrored
                                   ? ""
                                   : ", or --strategy mirrored, which keeps no parameters on servers")};
    // What the first life of a replica has said of the job is not said once more.
    const char* again = std::getenv(launch::kAgainVariable);
    if (one_of_many() && (flags_.options.processes.replica != 0u || (again && *again)))
      return {};  // the chief says it for all, once
    if (!flags_.quiet) fmt::print("{}", plan_in_words(flags_, model_, data, memory, available, job_.environment.cores));
    std::fflush(stdout);
    return {};
  }

  Result<ModelRequest> request_for(std::uint32_t fold) {
    auto split = data::split(opened_, validation_, fold, flags_.options.seed, flags_.data.normalise);
    if (!split) return split.error();
    ModelRequest request;
    request.model = flags_.model;
    request.data = std::make_shared<data::Split>(std::move(*split));
    request.loss = *loss_of(flags_.loss);
    request.top = flags_.top;
    request.optimizer = optimizer_;
    request.freeze = flags_.freeze;
    request.rates = flags_.rates;
    request.init = init_;
    request.init_skip = flags_.init_skip;
    request.device = flags_.device;
    request.options = flags_.options;
    return request;
  }

  Result<MakeTrainable> maker_for(std::uint32_t fold) {
    if (flags_.synthetic())
      return MakeTrainable([options = synthetic_](std::uint32_t) -> Result<std::unique_ptr<Trainable>> {
        return train::make_synthetic(options);
      });
    auto request = request_for(fold);
    if (!request) return request.error();
    request_ = *request;
    loader_ =
        std::make_shared<data::Loader>(request->data->train, 2 * (one_of_many() ? 1 : flags_.options.replicas) + 2);
    request->loader = loader_;
    return MakeTrainable([request = *request, make = adapter_->make](std::uint32_t replica) {
      auto mine = request;
      mine.replica = replica;
      return make(mine);
    });
  }

  Result<Fitted> fit_fold(std::uint32_t fold, bool test) {
    auto make = maker_for(fold);
    if (!make) return make.error();
    const auto columns = terminal_columns();
    auto options = flags_.fit;
    options.test = test && !flags_.synthetic();
    if (columns == 0) options.every *= 5;  // a log, not a display
    options.stop = [] { return Interrupt::asked(); };
    const auto& schema = opened_.source ? opened_.source->schema() : data::Schema{};
    const Display display({.strategy = flags_.options.strategy,
                           .epochs = flags_.options.epochs,
                           .steps = flags_.options.steps,
                           .has_accuracy = !flags_.synthetic() && schema.task != data::Task::values,
                           .has_perplexity = schema.tokens},
                          columns);
    const auto print = [](const std::string& text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
    if (!flags_.quiet) options.progress = [&](const FitProgress& progress) { print(display.show(progress)); };
    auto job = flags_.options;
    job.checkpoints.asked =
        std::shared_ptr<const std::atomic<std::uint32_t>>(&Interrupt::checkpoints(), [](const auto*) {});
    if (!flags_.quiet) job.say = [&](const std::string& text) { print(fmt::format("{}{}\n", display.clear(), text)); };
    auto fitted = fit(job, options, *make);
    if (!flags_.quiet) print(display.clear());
    if (fitted && loader_) {
      const auto counts = loader_->counts();
      job_.loader = {{"ready", static_cast<double>(counts.ready)}, {"late", static_cast<double>(counts.late)}};
    }
    return fitted;
  }

  static std::string who_stopped() {
    return Interrupt::signal() ? launch::signal_name(Interrupt::signal()) + " stopped it" : "it was told to stop";
  }

  // Trains once for every fold; the one that did best on its own held-out samples meets the test part.
  Result<int> run_folds() {
    std::vector<Fitted> folds;
    std::size_t best = 0;
    std::shared_ptr<const data::Split> best_split;
    for (std::uint32_t fold = 0; fold < validation_.folds; ++fold) {
      if (!flags_.quiet) fmt::print("fold {} of {}\n", fold + 1, validation_.folds);
      auto fitted = fit_fold(fold, false);
      if (!fitted) return fitted.error();
      folds.push_back(std::move(*fitted));
      if (folds.back().ended == Ended::stopped) {  // an unfinished fold says nothing
        auto unfinished = std::move(folds.back());
        folds.pop_back();
        return conclude(unfinished, folds);
      }
      if (!flags_.quiet) fmt::print("  held out: {}\n", evaluation_in_words(folds.back().validation));
      if (!(folds.back().validation.score() <= folds[best].validation.score()) || fold == 0) {
        best = fold;
        best_split = request_.data;
      }
    }
    request_.data = best_split;
    auto tested = evaluate(folds[best].state);
    if (!tested) return tested.error();
    folds[best].test = *tested;
    say_folds(folds, best);
    auto result = folds[best];
    return conclude(result, folds);
  }

  Result<Evaluation> evaluate(const State& state) {
    auto request = request_;
    request.freeze.clear();
    request.init = std::make_shared<State>(state);
    request.init_skip.clear();
    auto model = adapter_->make(request);
    if (!model) return model.error();
    return (*model)->evaluate(HeldOut::test, [] { return true; });
  }

  void say_folds(const std::vector<Fitted>& folds, std::size_t best) const {
    double sum = 0, squares = 0;
    for (const auto& fold : folds) {
      const double value = fold.validation.accuracy.value_or(fold.validation.loss);
      sum += value;
      squares += value * value;
    }
    const auto count = static_cast<double>(folds.size());
    const double spread = std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1)));
    fmt::print("held-out {} over {} folds: {:.4f}, deviation {:.4f}; the model of fold {} did best and is the result\n",
               folds[0].validation.accuracy ? "accuracy" : "loss", folds.size(), sum / count, spread, best + 1);
  }

  // Files, words and the exit status. `folds`: those that are whole, of a k-fold validation.
  Result<int> conclude(Fitted& fitted, const std::vector<Fitted>& folds) {
    const bool stopped = fitted.ended == Ended::stopped;
    auto save = flags_.save;
    const auto& container = flags_.options.processes.container;
    if (stopped && save.empty() && !flags_.synthetic() && container.empty()) save = kStoppedFile;
    if (!save.empty())
      if (auto saved = save_model(save, fitted.state); !saved) return saved.error();
    std::optional<double> bigram;
    if (fitted.test.samples && request_.data && request_.data->train.schema().tokens) {
      auto perplexity = data::bigram_perplexity(request_.data->train, request_.data->test);
      if (perplexity) bigram = *perplexity;
    }
    fmt::print("{}", result_in_words(flags_, fitted, bigram));
    if (!save.empty()) fmt::print("saved to {}\n", save);
    if (!flags_.report.empty()) {
      job_.baseline_perplexity = bigram;
      const auto json = validation_.folds > 0 ? report::to_json(job_, folds) : report::to_json(job_, fitted);
      if (auto written = write_file(flags_.report, json); !written) return written.error();
    }
    if (auto written = write_traces(); !written) return written.error();
    if (stopped) {
      if (validation_.folds > 0) {
        fmt::print("stopped. Folds that are not finished say nothing: run the same command again\n");
      } else if (!flags_.options.checkpoints.folder.empty()) {
        if (!launched()) say_early_end(fmt::format("nothing: {}", who_stopped()), save);
      } else if (!container.empty()) {
        fmt::print("stopped. Container {} has what came out; the same command goes on from there\n", container);
      } else {
        fmt::print("stopped. To go on from here (the optimizer's memory and the schedule start anew):\n  {}\n",
                   go_on_words(words_, flags_, save, fitted.summary, request_.data ? request_.data->train.size() : 0));
      }
      // Told by another process of the job: by a scheduler, for all that is known here.
      return Interrupt::signal() == SIGINT ? kInterrupted : kTerminated;
    }
    if (flags_.check)
      if (const auto broken = check_promises(); broken != kDone) return broken;
    if (flags_.fit.target_accuracy && fitted.ended != Ended::target_reached &&
        fitted.validation.accuracy.value_or(0) < *flags_.fit.target_accuracy) {
      fmt::print("the target accuracy of {} was not reached\n", *flags_.fit.target_accuracy);
      return static_cast<int>(kTargetMissed);
    }
    return static_cast<int>(kDone);
  }

  void write_card(const data::Split& data, State& state) const {
    train::write_card({model_.model, data.train.schema(), data.train.normalisation(), flags_.loss, flags_.data.target,
                       flags_.data.test_share},
                      state);
  }

  Status save_model(const std::string& file, State& state) {
    if (file.ends_with(".pt")) return adapter_->save_script(request_, state, file);
    write_card(*request_.data, state);
    state.about["yoke.version"] = kVersion;
    state.about["format"] = "pt";  // what other readers of such files look for
    return checkpoint::write_model(file, state);
  }

  Status write_traces() {
    if (!flags_.history.empty() && !one_of_many())
      if (auto written = write_file(flags_.history, history::to_json_lines(flags_.options.recorder->events()));
          !written)
        return written;
    if (!flags_.timeline.empty())
      return write_file(flags_.timeline,
                        report::chrome_trace(flags_.options.timeline->spans(), flags_.options.replicas));
    return {};
  }

  int check_promises() const {
    const auto violations = history::check(flags_.options.recorder->events());
    for (const auto& violation : violations) fmt::print("BROKEN PROMISE: {}\n", violation);
    if (violations.empty()) fmt::print("every promise held over the recorded history\n");
    return violations.empty() ? kDone : kPromiseBroken;
  }

  TrainFlags flags_;
  const std::vector<std::string>& words_;
  data::Opened opened_;
  data::Validation validation_;
  std::shared_ptr<const State> init_;
  Optimizer optimizer_;
  train::SyntheticOptions synthetic_;
  torch_adapter::ModelFacts model_;
  const Adapter* adapter_ = nullptr;
  ModelRequest request_;  // of the present fold
  std::shared_ptr<data::Loader> loader_;
  report::Job job_;
};

}  // namespace

int run_training(TrainFlags flags, const std::vector<std::string>& words) {
  const Interrupt interrupt(std::getenv(kCommandVariable) == nullptr);  // a launcher says it once for all
  return Training(std::move(flags), words).run();
}

}  // namespace yoke::cli
