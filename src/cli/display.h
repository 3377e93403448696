// What a person sees while a training runs: a bar on a terminal, plain lines in a log.
#pragma once

#include <string>

#include "yoke/fit.h"
#include "yoke/options.h"

namespace yoke::cli {

class Display {
 public:
  struct About {
    Strategy strategy = Strategy::sync;
    std::uint32_t epochs = 1;
    std::uint64_t steps = 0;   // not 0: the job ends by these
    bool has_accuracy = true;  // the task has right and wrong answers
    bool has_perplexity = false;
  };
  // `columns` 0: no terminal.
  Display(About about, unsigned columns) : about_(about), columns_(columns) {}

  // The text to print for this progress: on a terminal it replaces the bar that stands there.
  std::string show(const FitProgress& progress) const;
  // Takes the bar away, once training is over.
  std::string clear() const;

 private:
  std::string figures(const FitProgress& progress) const;
  const About about_;
  const unsigned columns_;
};

// "41 s", "3:20", "2:05:00".
std::string in_time(double seconds);
// Columns of the terminal that standard output is; 0: it is none.
unsigned terminal_columns();

}  // namespace yoke::cli
