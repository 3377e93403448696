// The idx files of the MNIST family: big-endian, a magic number that gives the element type and the number of
// dimensions, the dimensions as 32-bit integers, then the elements. Gzip or plain.
//
//   images: 00 00 08 03, count, rows, columns, then count * rows * columns bytes
//   labels: 00 00 08 01, count, then count bytes
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/open.h"
#include "yoke/error.h"

namespace yoke::data {

struct Idx {
  std::vector<std::uint32_t> extents;
  std::vector<std::uint8_t> elements;
};

enum class IdxKind : std::uint32_t { images = 0x00000803, labels = 0x00000801 };

// Errors name the field: a magic number that is not that of images (or labels), dimensions that are zero, or that do
// not fit the length. Pure: what a fuzzer calls.
Result<Idx> parse_idx(std::vector<std::uint8_t> bytes, IdxKind kind);

// train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte in `folder`, each
// .gz or plain. Shape {1, rows, columns}, as many classes as the training labels have. Also an error: not as many
// labels as images, a label that has no name, a test label that no training sample has (with `like`: that the model
// does not know), training and test images of different sizes. `remedy` says what to do when a file is not there.
// `names`: of the classes, where they are known; else they are numbered.
Result<Opened> open_idx(const std::string& folder, const std::string& remedy, const Schema* like,
                        std::vector<std::string> names = {});

}  // namespace yoke::data
