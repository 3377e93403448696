#include "cli/train_flags.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "cli/job_flags.h"
#include "data/fetch.h"
#include "wire/limits.h"

namespace yoke::cli {
namespace {

Error wrong(std::string message) { return {Code::invalid_argument, std::move(message)}; }

void add_model_flags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "The model";
  command
      .add_option(
          "--model", flags.model,
          "cnn, mlp, resnet or lstm, with sizes as in mlp:784-512-10, cnn:32-64-128, resnet:16x1, lstm:128x1; a "
          "TorchScript FILE.pt; or synthetic:PARAMETERS:STEP, which only passes time, as in synthetic:1M:20ms")
      ->type_name("MODEL")
      ->default_str("cnn for images, lstm for text, else mlp")
      ->group(group);
  command
      .add_option("--loss", flags.loss,
                  "cross-entropy for classes; mse or mae (mean squared, mean absolute error) for numbers")
      ->type_name("standard|cross-entropy|mse|mae")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--top-k", flags.top, "also count an answer among the k most likely as right, as a metric of its own")
      ->type_name("K")
      ->capture_default_str()
      ->group(group);
  command
      .add_option(
          "--init", flags.init,
          "start from the weights in this safetensors file, or in this checkpoint (of a folder of them: the newest)")
      ->type_name("FILE|DIR")
      ->group(group);
  command
      .add_option("--init-skip", flags.init_skip,
                  "parameters that start afresh all the same, by name (* stands for anything)")
      ->type_name("PATTERN")
      ->group(group);
  command.add_option("--freeze", flags.freeze, "parameters that stay as they are, as in '0.*'")
      ->type_name("PATTERN")
      ->group(group);
  command.add_option("--device", flags.device, "cpu, cuda:0, or cuda: the replicas take turns at the devices")
      ->type_name("DEVICE")
      ->capture_default_str()
      ->group(group);
}

void add_learning_flags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "Learning rate and batch";  // the job's flags go on with it
  command.add_option("--batch", flags.fit.batch, "samples a replica and step")
      ->type_name("N")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000'000u))
      ->group(group);
  command.add_option("--optimizer", flags.optimizer, "the rule by which the servers update")
      ->type_name("sgd|nesterov|adagrad|rmsprop|adam|adamw")
      ->capture_default_str()
      ->group(group);
  command.add_option("--lr", flags.lr, "learning rate")
      ->type_name("RATE")
      ->default_str("0.05 for sgd and nesterov, 0.01 for adagrad, else 0.001")
      ->group(group);
  command
      .add_option_function<std::vector<std::string>>(
          "--lr-of",
          [&flags](const std::vector<std::string>& items) {
            for (const auto& item : items) {
              const auto equals = item.rfind('=');
              char* end = nullptr;
              const double rate = equals == std::string::npos ? 0 : std::strtod(item.c_str() + equals + 1, &end);
              if (equals == 0 || equals == std::string::npos || *end || end == item.c_str() + equals + 1 ||
                  !(rate >= 0))
                throw CLI::ValidationError("--lr-of", fmt::format("'{}' is not of the form PATTERN=RATE", item));
              flags.rates.emplace_back(item.substr(0, equals), rate);
            }
          },
          "a rate of their own for parameters by name, as in 'head.*=0.1'")
      ->type_name("PATTERN=RATE")
      ->group(group);
  command.add_option("--momentum", flags.momentum, "of sgd and nesterov")
      ->type_name("M")
      ->default_str("0.9; under async 0, as stale gradients are momentum already")
      ->group(group);
  command.add_option("--weight-decay", flags.weight_decay, "pull of every parameter towards 0")
      ->type_name("D")
      ->capture_default_str()
      ->group(group);
}

void add_length_flags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "How long, and what counts as good";
  command.add_option("--epochs", flags.options.epochs, "times through the data")
      ->type_name("E")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--steps", flags.options.steps, "stop after so many updates instead, however many epochs that makes")
      ->type_name("S")
      ->group(group);
  command
      .add_option("--validation", flags.validation,
                  "the share of the training samples to hold out; or kfold:K, which trains K times and holds each part "
                  "out once; 0: nothing is held out")
      ->type_name("SHARE|kfold:K")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--validate-every", flags.fit.validate_every,
                  "look at the held-out data every so many samples; 0: at the end of every epoch")
      ->type_name("SAMPLES")
      ->capture_default_str()
      ->group(group);
  command.add_option("--target-accuracy", flags.fit.target_accuracy, "stop when the held-out data shows it")
      ->type_name("A")
      ->group(group);
  command.add_option("--patience", flags.fit.patience, "stop after so many looks without a better one; 0: never")
      ->type_name("P")
      ->capture_default_str()
      ->group(group);
  command.add_option("--result", flags.result, "the version that did best on held-out data, or the last")
      ->type_name("best|last")
      ->capture_default_str()
      ->group(group);
}

void add_output_flags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "Output";
  command
      .add_option("--save", flags.save, "the trained model, as safetensors (FILE.pt: as TorchScript, where it was one)")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--report", flags.report, "what happened, as JSON")->type_name("FILE")->group(group);
  command
      .add_option("--timeline", flags.timeline,
                  "when each replica computed, pushed, waited and pulled, for Chrome's trace viewer")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--history", flags.history, "every event of the protocol, a line of JSON each")
      ->type_name("FILE")
      ->group(group);
  command.add_flag("--check", flags.check, "record what happens and check the promises at the end")->group(group);
  command.add_flag("--quiet", flags.quiet, "say nothing but the result")->group(group);
  command.add_option("--config", flags.config, "settings from a TOML file, named as the flags are; flags win")
      ->type_name("FILE")
      ->group(group);
  command
      .add_flag("--print-config", flags.print_config, "print the settings that are in force as such a file, and stop")
      ->group(group);
}

double rate_of(const std::string& optimizer) {
  if (optimizer == "sgd" || optimizer == "nesterov") return 0.05;
  return optimizer == "adagrad" ? 0.01 : 0.001;
}

}  // namespace

void add_data_flags(CLI::App& command, data::OpenOptions& data, std::string& task, std::string& image_size) {
  const std::string group = "The data";
  command
      .add_option("--data", data.name,
                  "fashion-mnist, mnist, digits, diabetes or moby-dick; or a path: a csv file, a text file (.txt), a "
                  "folder of idx files, a folder of images with a folder a class")
      ->type_name("NAME|FILE|DIR")
      ->capture_default_str()
      ->group(group);
  command.add_option("--target", data.target, "csv: the column to predict (several: repeat the flag, or commas)")
      ->type_name("COLUMN")
      ->delimiter(',')
      ->group(group);
  command
      .add_option("--task", task,
                  "csv: what the target is. One of several classes, numbers, yes or no, several times yes or no")
      ->type_name("classes|values|binary|flags")
      ->default_str("values for numbers, classes for words")
      ->group(group);
  command.add_option("--ignore", data.ignore, "csv: columns to leave out")
      ->type_name("COLUMN")
      ->delimiter(',')
      ->group(group);
  command.add_option("--categories", data.categories, "csv: columns of numbers that are names, not amounts")
      ->type_name("COLUMN")
      ->delimiter(',')
      ->group(group);
  command.add_option("--test-data", data.test, "csv, text: another file for the test")->type_name("FILE")->group(group);
  command.add_option("--test-share", data.test_share, "of data without a test part of its own")
      ->type_name("SHARE")
      ->capture_default_str()
      ->group(group);
  command.add_option("--sequence", data.sequence, "text: characters a sample")
      ->type_name("L")
      ->capture_default_str()
      ->group(group);
  command.add_option("--image-size", image_size, "images: scale them to this")->type_name("HxW")->group(group);
  command
      .add_flag_callback(
          "--raw", [&data] { data.normalise = false; }, "leave the numbers as they are: no mean 0 and deviation 1")
      ->group(group);
}

void add_train_flags(CLI::App& command, TrainFlags& flags) {
  flags.options.replicas = 4;
  flags.options.epochs = 2;
  flags.fit.batch = 32;
  flags.options.schedule.kind =
      ScheduleOptions::Kind::cosine;  // a rate that falls to 0 gets the most out of few epochs
  add_data_flags(command, flags.data, flags.task, flags.image_size);
  add_model_flags(command, flags);
  add_length_flags(command, flags);
  add_job_flags(command, flags.options);
  command.get_option("--spares")->default_str("1 when neither this nor --strategy is given");
  add_learning_flags(command, flags);
  add_output_flags(command, flags);
}

Status complete(data::OpenOptions& data, const std::string& task, const std::string& image_size) {
  const std::map<std::string, data::Task> tasks{{"classes", data::Task::classes},
                                                {"values", data::Task::values},
                                                {"binary", data::Task::binary},
                                                {"flags", data::Task::flags}};
  if (!task.empty()) {
    const auto it = tasks.find(task);
    if (it == tasks.end())
      return wrong(
          fmt::format("--task {}: there are classes, values (regression), binary and flags (multi-label)", task));
    data.task = it->second;
  }
  if (!image_size.empty()) {
    char rest = 0;
    if (std::sscanf(image_size.c_str(), "%ux%u%c", &data.image_height, &data.image_width, &rest) != 2 ||
        data.image_height < 1 || data.image_width < 1 || data.image_height > 4096 || data.image_width > 4096)
      return wrong(fmt::format("--image-size {}: height and width are written as in 32x32, at most 4096", image_size));
  }
  data.cache = data::cache_folder();
  return {};
}

Status complete(TrainFlags& flags, CLI::App& command) {
  auto& options = flags.options;
  const auto given = [&](const char* flag) { return command.get_option(flag)->count() > 0; };
  // The default job has a spare; a strategy chosen by name starts without.
  if (!given("--spares") && !given("--strategy") && options.replicas > 1 && !options.deterministic) options.spares = 1;
  if (!flags.lr) flags.lr = rate_of(flags.optimizer);
  // Gradients that come M - 1 versions late act as a momentum of 1 - 1/M; with more on top of it training diverges.
  if (!flags.momentum) flags.momentum = options.strategy == Strategy::async && options.replicas > 1 ? 0 : 0.9;
  command.get_option("--spares")->default_str(std::to_string(options.spares));
  command.get_option("--lr")->default_str(fmt::format("{}", *flags.lr));
  command.get_option("--model")->default_str("");  // what it will be is known only when the data is
  command.get_option("--task")->default_str("");

  if (auto done = complete(flags.data, flags.task, flags.image_size); !done) return done;
  if (flags.result != "best" && flags.result != "last")
    return wrong(fmt::format("--result {}: there are best and last", flags.result));
  if (const auto& container = options.processes.container; !container.empty()) {
    if (!wire::is_job_name(container))
      return wrong(
          fmt::format("--container {}: a name has at most {} letters, digits, dots, - and _, and begins with a "
                      "letter or digit",
                      container, wire::kMaxJobName));
    if (options.strategy == Strategy::mirrored)
      return wrong("--container is on servers, and mirrored has none: use --strategy sync or async");
    if (given("--result") && flags.result == "best")
      return wrong("--result best: a container has the last version, and so has its result: leave it out");
    flags.result = "last";
    command.get_option("--result")->default_str(flags.result);
  }
  flags.fit.keep_best = flags.result == "best";
  if (given("--steps") && options.steps == 0) return wrong("--steps 0: nothing to do; say at least 1");
  if (!(*flags.lr >= 0 && std::isfinite(*flags.lr)))
    return wrong(fmt::format("--lr {}: a learning rate is a number from 0 up", *flags.lr));
  if (!(*flags.momentum >= 0 && *flags.momentum < 1))
    return wrong(fmt::format("--momentum {}: it is from 0 up to below 1", *flags.momentum));
  if (!(flags.weight_decay >= 0 && std::isfinite(flags.weight_decay)))
    return wrong(fmt::format("--weight-decay {}: it is not negative", flags.weight_decay));
  if (!flags.init_skip.empty() && flags.init.empty())
    return wrong(
        "--init-skip leaves out some of the weights of --init, and there is none: leave it out, or say --init");
  const bool has_momentum = flags.optimizer == "sgd" || flags.optimizer == "nesterov";
  command.get_option("--momentum")->default_str(has_momentum ? fmt::format("{}", *flags.momentum) : "");
  if (given("--momentum") && !has_momentum)
    return wrong(fmt::format("--momentum is of sgd and nesterov; {} has none to set: leave it out", flags.optimizer));
  if (const auto& target = flags.fit.target_accuracy; target && !(*target > 0 && *target <= 1))
    return wrong(fmt::format("--target-accuracy {}: an accuracy is between 0 and 1, as in 0.9", *target));
  if (auto checked = check_job(options); !checked) return checked;
  if (auto optimizer = optimizer_of(flags); !optimizer) return optimizer.error();
  if (auto loss = loss_of(flags.loss); !loss) return loss.error();
  auto validation = data::parse_validation(flags.validation);
  if (!validation) return validation.error();
  if (validation->folds > 0 && (flags.check || !flags.history.empty() || !flags.timeline.empty()))
    return wrong(
        "--check, --history and --timeline are of one training, and kfold makes several: leave them out, or say "
        "--validation 0.1");
  if (validation->folds > 0 && !options.checkpoints.folder.empty())
    return wrong(
        "--checkpoint and --resume are of one training, and kfold makes several: leave them out, or say --validation "
        "0.1");
  const bool nothing_held_out = validation->share == 0 && validation->folds == 0;
  if (nothing_held_out && (flags.fit.target_accuracy || flags.fit.patience))
    return wrong(
        "--target-accuracy and --patience look at held-out data, and --validation 0 holds none out: say "
        "--validation 0.1");
  if (!flags.synthetic()) return {};
  if (options.steps == 0) return wrong("a synthetic model has no data and so no epochs: say --steps N");
  for (const char* flag : {"--init", "--freeze", "--lr-of", "--save", "--target-accuracy", "--target", "--image-size"})
    if (given(flag)) return wrong(fmt::format("{} means nothing for a synthetic model: leave it out", flag));
  return {};
}

Result<Optimizer> optimizer_of(const TrainFlags& flags) {
  const auto lr = *flags.lr, decay = flags.weight_decay;
  if (flags.optimizer == "sgd") return Optimizer(SGD{.lr = lr, .momentum = *flags.momentum, .weight_decay = decay});
  if (flags.optimizer == "nesterov")
    return Optimizer(SGD{.lr = lr, .momentum = *flags.momentum, .weight_decay = decay, .nesterov = true});
  if (flags.optimizer == "adagrad") return Optimizer(Adagrad{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "rmsprop") return Optimizer(RMSProp{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "adam") return Optimizer(Adam{.lr = lr, .weight_decay = decay});
  if (flags.optimizer == "adamw") return Optimizer(AdamW{.lr = lr, .weight_decay = decay});
  return wrong(fmt::format("there is no optimizer '{}'; there are sgd, nesterov, adagrad, rmsprop, adam and adamw",
                           flags.optimizer));
}

Result<torch_adapter::Loss> loss_of(const std::string& name) {
  using torch_adapter::Loss;
  if (name == "standard") return Loss::standard;
  if (name == "cross-entropy") return Loss::cross_entropy;
  if (name == "mse") return Loss::squared;
  if (name == "mae") return Loss::absolute;
  return wrong(fmt::format("there is no loss '{}'; there are standard, cross-entropy, mse and mae", name));
}

}  // namespace yoke::cli
