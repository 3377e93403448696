// Opens a data set by name or by what lies at a path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "yoke/error.h"

namespace yoke::data {

struct OpenOptions {
  // A name, or a path; `KIND:PATH` where the kind cannot be told from the path:
  //
  //   fashion-mnist[:DIR]  60,000 + 10,000 images of clothing, 28x28; Debian's package dataset-fashion-mnist
  //   mnist[:DIR]          60,000 + 10,000 handwritten digits, 28x28; `yoke data fetch mnist`
  //   digits[:FILE]        1,500 + 297 handwritten digits, 8x8; comes with Yoke
  //   diabetes[:FILE]      442 patients, 10 measurements, how the illness went on (a csv); comes with Yoke
  //   moby-dick[:FILE]     a novel, by the character; `yoke data fetch moby-dick`
  //   idx:DIR              any four idx files named as MNIST's (.gz or plain)
  //   csv:FILE             a table with a header (.gz or plain); `target` says which column
  //   text:FILE            characters (UTF-8; .gz or plain)
  //   images:DIR           a folder a class with png or jpeg files; or DIR/train and DIR/test with such folders
  //
  // Of a path alone: .csv, .tsv (and .gz of them) are tables, .txt and .txt.gz text, a folder with
  // train-images-idx3-ubyte is idx, another one images.
  std::string name = "fashion-mnist";
  std::string test;                 // csv, text: another file as the test part; empty: a part is held back
  double test_share = 0.1;          // of data without a test part of its own
  std::vector<std::string> target;  // csv: the column, or the columns, to predict
  std::optional<Task> task;         // csv: what is asked about the target; none: numbers -> values, words -> classes
  std::vector<std::string> ignore;  // csv: columns that are left out
  std::vector<std::string> categories;  // csv: columns that are categories although they look like numbers
  bool normalise = true;
  std::uint32_t sequence = 64;                      // text: characters a sample
  std::uint32_t image_height = 0, image_width = 0;  // images: scaled to this; 0: all must be of one size
  std::string cache;                                // where `yoke data fetch` puts things; the caller fills it in
};

// What was read. The test part is the set's own, or else drawn once and for all, whatever the job's seed.
struct Opened {
  std::string name;  // short: "digits", "diabetes", "prices.csv"
  std::shared_ptr<const Source> source;
  std::vector<std::uint64_t> train;  // samples to train on and to validate with
  std::vector<std::uint64_t> test;   // samples that are touched once, at the end
};

// An unknown name, a missing file and a damaged one are errors that say what to do (Code::missing or Code::corrupt for
// files, Code::invalid_argument for options). `like`: the schema of a model that exists already; classes, categories,
// characters and columns then mean the same numbers as there, and what does not fit is an error. So
// is an option that has no meaning for the set: a target for images, for instance.
Result<Opened> open(const OpenOptions& options, const Schema* like = nullptr);

}  // namespace yoke::data
