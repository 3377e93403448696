#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/text.h"

namespace yoke::data {
namespace {

constexpr std::uint64_t kSamplesAtOnce = 256;

// Calls each(symbol, the symbol after it) for every position of the part.
template <class Each>
Status for_each_pair(const Part& part, Each each) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t first = 0; first < part.size(); first += kSamplesAtOnce) {
    samples.clear();
    for (auto i = first; i < std::min(first + kSamplesAtOnce, part.size()); ++i) samples.push_back(i);
    const auto batch = part.batch(samples);
    if (!batch) return batch.error();
    for (std::size_t i = 0; i < batch->tokens.size(); ++i) {
      each(static_cast<std::size_t>(batch->tokens[i]), static_cast<std::size_t>(batch->classes[i]));
    }
  }
  return {};
}

Status check_parts(const Part& train, const Part& test) {
  for (const auto* part : {&train, &test}) {
    if (part->size() == 0) {
      return Error{Code::invalid_argument,
                   fmt::format("'{}' has no samples: pairs of characters are counted in one part and judged on another",
                               part->name())};
    }
    const auto& schema = part->schema();
    if (schema.tokens && schema.positions == schema.width()) continue;
    return Error{Code::invalid_argument, fmt::format("'{}' is no text: it has no pairs of characters", part->name())};
  }
  if (train.schema().labels == test.schema().labels) return {};
  return Error{Code::invalid_argument,
               fmt::format("'{}' and '{}' number their characters differently: open one like the other", train.name(),
                           test.name())};
}

}  // namespace

Result<double> bigram_perplexity(const Part& train, const Part& test) {
  if (auto fit = check_parts(train, test); !fit) return fit.error();
  const auto symbols = static_cast<std::size_t>(train.schema().outputs);
  std::vector<std::uint32_t> pairs(symbols * symbols, 1);  // [before * symbols + after]
  std::vector<std::uint64_t> before(symbols, symbols);     // sums over after
  auto status = for_each_pair(train, [&](std::size_t token, std::size_t next) {
    ++pairs[token * symbols + next];
    ++before[token];
  });
  if (!status) return status.error();

  double surprise = 0;
  std::uint64_t positions = 0;
  status = for_each_pair(test, [&](std::size_t token, std::size_t next) {
    surprise -= std::log(static_cast<double>(pairs[token * symbols + next]) / static_cast<double>(before[token]));
    ++positions;
  });
  if (!status) return status.error();
  return std::exp(surprise / static_cast<double>(positions));
}

}  // namespace yoke::data
