#include "cli/eval_command.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "checkpoint/weights.h"
#include "cli/exit_status.h"
#include "cli/job_summary.h"
#include "cli/load_adapter.h"
#include "cli/passed_over.h"
#include "cli/train_flags.h"
#include "train/model_card.h"
#include "yoke/process.h"

namespace yoke::cli {
namespace {

struct EvalFlags {
  std::string file, model, task, image_size, device = "cpu", part = "test";
  data::OpenOptions data;
  std::uint32_t top = 5;
  bool json = false, share_given = false;
};

// The part of the data that is asked for, as the test part of a split: that is what a model is evaluated on.
Result<data::Split> part_of(const EvalFlags& flags, const train::ModelCard& card) {
  auto opened = data::open(flags.data, &card.schema);
  if (!opened) return opened.error();
  if (flags.part == "train") opened->test = opened->train;
  if (flags.part == "all") opened->test.insert(opened->test.begin(), opened->train.begin(), opened->train.end());
  if (opened->train.empty()) opened->train = opened->test;
  return data::split(*opened, {}, 0, 0, true, &card.normalisation);
}

// `flags.file` is afterwards what was measured.
Result<Evaluation> evaluate(EvalFlags& flags) {
  if (flags.part != "test" && flags.part != "train" && flags.part != "all")
    return Error{Code::invalid_argument, fmt::format("--part {}: there are test, train and all", flags.part)};
  if (auto done = complete(flags.data, flags.task, flags.image_size); !done) return done.error();
  auto weights = checkpoint::read_weights(flags.file);
  if (!weights) return weights.error();
  say_passed_over(weights->passed_over);
  flags.file = weights->from;
  const auto card = train::read_card(weights->state, flags.file);
  if (!card) return card.error();
  // What the command does not say is as it was in the training, or the test would be on samples that were trained on.
  if (flags.data.target.empty()) flags.data.target = card->target;
  if (!flags.share_given) flags.data.test_share = card->test_share;
  const auto loss = loss_of(card->loss);
  if (!loss) return loss.error();
  auto split = part_of(flags, *card);
  if (!split) return split.error();
  prepare_process();
  const auto adapter = load_adapter();
  if (!adapter) return adapter.error();
  torch_adapter::ModelRequest request;
  request.model = flags.model.empty() ? card->model : flags.model;
  request.data = std::make_shared<data::Split>(std::move(*split));
  if (request.data->test.size() == 0)
    return Error{Code::invalid_argument,
                 fmt::format("{} has no samples for the test: say --part all", flags.data.name)};
  request.loss = *loss;
  request.top = flags.top;
  request.optimizer = SGD{};
  request.device = flags.device;
  request.init = std::make_shared<State>(std::move(weights->state));
  auto model = (*adapter)->make(request);
  if (!model) return model.error();
  return (*model)->evaluate(HeldOut::test, [] { return true; });
}

void show(const EvalFlags& flags, const Evaluation& evaluation) {
  if (!flags.json) {
    fmt::print("{} on {}, {} samples: {}\n", flags.file, flags.data.name, evaluation.samples,
               evaluation_in_words(evaluation));
    return;
  }
  nlohmann::ordered_json json{
      {"file", flags.file}, {"data", flags.data.name}, {"samples", evaluation.samples}, {"loss", evaluation.loss}};
  if (evaluation.accuracy) json["accuracy"] = *evaluation.accuracy;
  for (const auto& metric : evaluation.metrics) json[metric.name] = metric.value;
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

void add_eval(CLI::App& app, int& status) {
  auto flags = std::make_shared<EvalFlags>();
  auto* command = app.add_subcommand("eval",
                                     "Measure a saved model on data. The file says which network it belongs to "
                                     "and how its data was normalised.");
  command->footer(
      std::string("Examples:\n"
                  "  yoke eval model.safetensors --data fashion-mnist  the accuracy on the test part\n"
                  "  yoke eval prices.safetensors --data new.csv --target price --part all  on all of a file\n"
                  "\n") +
      kExitStatusHelp);
  command
      ->add_option("file", flags->file,
                   "a model that `yoke train --save` wrote, a checkpoint, or a folder of them (the newest)")
      ->type_name("FILE|DIR")
      ->required();
  add_data_flags(*command, flags->data, flags->task, flags->image_size);
  command->remove_option(command->get_option("--raw"));  // the file says how its data was normalised
  command->add_option("--part", flags->part, "which samples")
      ->type_name("test|train|all")
      ->capture_default_str()
      ->group("The data");
  command->add_option("--model", flags->model, "the network, where the file's own word for it does not hold any more")
      ->type_name("MODEL|FILE.pt")
      ->group("The model");
  command->add_option("--top-k", flags->top, "the k of the top-k metric")->capture_default_str()->group("The model");
  command->add_option("--device", flags->device, "cpu, cuda:0")->capture_default_str()->group("The model");
  command->add_flag("--json", flags->json, "the result for programs")->group("Output");
  command->callback([flags, command, &status] {
    flags->share_given = command->get_option("--test-share")->count() > 0;
    const auto evaluation = evaluate(*flags);
    if (!evaluation) {
      status = fail(evaluation.error());
    } else {
      show(*flags, *evaluation);
    }
  });
}

}  // namespace yoke::cli
