// The trainer on top of the loop: brings a Trainable through its epochs, with progress, and measures what came out.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "yoke/options.h"
#include "yoke/run.h"
#include "yoke/trainable.h"

namespace yoke {

// Where the run stands, for a person to read.
struct FitProgress {
  double seconds = 0;
  std::uint64_t step = 0;  // updates
  std::uint32_t epoch = 0;
  std::uint64_t samples = 0;  // counted
  double done = 0;            // how much of the job, from 0 to 1
  double seconds_left = 0;    // at the present pace
  double samples_per_second = 0;
  double loss = 0;      // mean over the samples since the last report
  double accuracy = 0;  // likewise; of tasks that have one
  std::uint64_t dropped = 0, refused = 0;
  double mean_staleness = 0;
  std::optional<Evaluation> validation;  // the latest
  std::vector<std::string> news;         // in words, each once: a straggler, a replica that was lost
};

// The training as it went: one point an evaluation on held-out data, or a report where nothing is held out.
struct CurvePoint {
  double seconds = 0;
  std::uint64_t step = 0, samples = 0;
  double loss = 0;
  std::optional<double> accuracy;
  double training_loss = 0;  // over the samples since the last point
};

struct FitOptions {
  std::uint32_t batch = 64;  // a replica and step
  std::chrono::milliseconds every{1000};
  std::function<void(const FitProgress&)> progress;  // from any thread, one at a time; the chief's process
  std::uint64_t validate_every = 0;                  // samples; 0: at the end of every epoch
  std::optional<double> target_accuracy;             // stop when the held-out data says so
  std::uint32_t patience = 0;                        // stop after so many evaluations without a better one; 0: never
  bool keep_best = true;                             // the version that did best on held-out data is the result
  std::function<bool()> stop;                        // asked at every step: true ends the training after it
  bool test = true;                                  // evaluate the result on the test part
};

enum class Ended { finished, target_reached, out_of_patience, stopped };

struct Fitted {
  Summary summary;
  Ended ended = Ended::finished;  // as far as this process knows
  // False: another process's replica draws the conclusion (Options::processes); here only the summary is filled in.
  bool concluded = true;
  bool drained = false;       // this process's replica was asked to go, in good order; the others go on
  Evaluation validation;      // of the version that is the result; samples 0: nothing was held out
  Evaluation test;            // likewise, on data that decided nothing
  std::uint64_t version = 0;  // which version that is
  double final_loss = 0;      // training loss over the last stretch
  std::vector<CurvePoint> curve;
  State state;
};

// Where this process is one replica of many, the chief's process evaluates, reports progress and concludes; a stop
// asked for in any of them ends the job.
Result<Fitted> fit(const Options& options, const FitOptions& fit_options, const MakeTrainable& make);

}  // namespace yoke
