#include "data/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <numeric>
#include <utility>

#include "data/file.h"
#include "data/test_share.h"
#include "data/utf8.h"
#include "data/wrong.h"

namespace yoke::data {
namespace {

constexpr std::uint32_t kMinSequence = 2, kMaxSequence = 4096;
constexpr std::size_t kMaxCharacters = 4096;  // different ones
constexpr char32_t kByteOrderMark = 0xfeff;

using Symbol = std::uint16_t;
static_assert(kMaxCharacters <= UINT16_MAX);

Result<std::u32string> read_text(const std::string& file) {
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  auto text = decode_utf8({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!text) return Error{text.error().code, file + ": " + text.error().message};
  std::u32string kept;
  kept.reserve(text->size());
  for (std::size_t i = text->starts_with(kByteOrderMark) ? 1 : 0; i < text->size(); ++i) {
    if ((*text)[i] == U'\r' && i + 1 < text->size() && (*text)[i + 1] == U'\n') continue;
    kept += (*text)[i];
  }
  if (kept.empty()) return Error{Code::corrupt, file + ": it is empty: name a file with text in it"};
  return kept;
}

// The label of symbol 0 first, then the characters of the text in the order of their numbers.
Result<std::vector<std::string>> labels_of(const std::string& file, const std::u32string& text) {
  std::vector<bool> seen(kLastCharacter + 1);
  for (auto character : text) seen[character] = true;
  seen[kReplacement] = false;  // whoever wrote it did not know the character either
  std::vector<std::string> labels{encode_utf8(kReplacement)};
  for (char32_t character = 0; character <= kLastCharacter; ++character) {
    if (seen[character]) labels.push_back(encode_utf8(character));
  }
  if (labels.size() - 1 > kMaxCharacters) {
    return wrong(file, fmt::format("{} different characters, but text is read by the character with at most {}: use a "
                                   "text in an alphabet, or leave out what is rare",
                                   labels.size() - 1, kMaxCharacters));
  }
  return labels;
}

Schema schema_of(std::vector<std::string> labels, std::uint32_t sequence) {
  Schema schema;
  schema.shape = {sequence};
  schema.tokens = true;
  schema.task = Task::classes;
  schema.outputs = static_cast<std::int64_t>(labels.size());
  schema.positions = sequence;
  schema.labels = std::move(labels);
  return schema;
}

// The symbol of every character, by its number.
Result<std::vector<Symbol>> symbols_of(const Schema& schema) {
  std::vector<Symbol> symbols(kLastCharacter + 1);
  for (std::size_t i = 1; i < schema.labels.size(); ++i) {
    const auto character = decode_utf8(schema.labels[i]);
    if (!character || character->size() != 1) {
      return wrong("the model", fmt::format("its symbol {} is no character: it was not made for text", i));
    }
    symbols[character->front()] = static_cast<Symbol>(i);
  }
  return symbols;
}

// Whether a model with this schema reads text as it is read here.
Status check_like_text(const Schema& like) {
  const bool text = like.tokens && like.task == Task::classes && like.shape.size() == 1 &&
                    like.positions == like.shape[0] && like.positions >= kMinSequence &&
                    like.positions <= kMaxSequence && like.outputs == static_cast<std::int64_t>(like.labels.size()) &&
                    !like.labels.empty() && like.labels.size() <= kMaxCharacters + 1;
  if (text) return {};
  return wrong("the model", "it was not made for text by the character: use it with data like that it was trained on");
}

class Text : public Source {
 public:
  explicit Text(Schema schema) : schema_(std::move(schema)) {}

  // Appends the windows of `text` as samples; what is left at its end is too short for one. `symbols`: as symbols_of.
  void append(const std::u32string& text, const std::vector<Symbol>& symbols) {
    const auto length = static_cast<std::size_t>(schema_.positions);
    const auto windows = (text.size() - 1) / length;
    for (std::size_t i = 0; i < windows; ++i) starts_.push_back(text_.size() + i * length);
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(windows * length + 1);
    std::transform(text.begin(), end, std::back_inserter(text_), [&](char32_t c) { return symbols[c]; });
  }

  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return starts_.size(); }
  Result<Normalisation> learn(std::span<const std::uint64_t>) const override { return Normalisation{}; }
  Status fill(std::span<const std::uint64_t> samples, const Normalisation&, Batch& batch) const override {
    batch = {};
    batch.size = samples.size();
    const auto length = schema_.positions;
    batch.tokens.reserve(samples.size() * static_cast<std::size_t>(length));
    batch.classes.reserve(samples.size() * static_cast<std::size_t>(length));
    for (auto sample : samples) {
      const auto first = text_.begin() + static_cast<std::ptrdiff_t>(starts_[sample]);
      batch.tokens.insert(batch.tokens.end(), first, first + length);
      batch.classes.insert(batch.classes.end(), first + 1, first + length + 1);
    }
    return {};
  }

 private:
  Schema schema_;
  std::vector<Symbol> text_;           // all texts, one after another
  std::vector<std::uint64_t> starts_;  // where in text_ each sample begins
};

// What `text` is read as: `like`, or what its characters and the options say.
Result<Schema> schema_for(const std::string& file, const std::u32string& text, const OpenOptions& options,
                          const Schema* like) {
  if (like != nullptr) {
    if (auto fits = check_like_text(*like); !fits) return fits.error();
    return *like;
  }
  auto labels = labels_of(file, text);
  if (!labels) return labels.error();
  return schema_of(std::move(*labels), options.sequence);
}

// Windows share no token, but the last target of one is the first token of the next: one character more than tokens.
Status check_length(const std::string& file, std::uint64_t characters, std::int64_t sequence, std::int64_t windows) {
  const auto wanted = static_cast<std::uint64_t>(windows * sequence + 1);
  if (characters >= wanted) return {};
  return wrong(file, fmt::format("has {} characters, but {} samples of {} take {}: use a longer text or a smaller "
                                 "--sequence",
                                 characters, windows, sequence, wanted));
}

}  // namespace

Result<Opened> open_text(const std::string& file, const OpenOptions& options, const Schema* like) {
  if (like == nullptr && (options.sequence < kMinSequence || options.sequence > kMaxSequence)) {
    return wrong("--sequence", fmt::format("{} characters a sample, but {} to {} are possible", options.sequence,
                                           kMinSequence, kMaxSequence));
  }
  const auto text = read_text(file);
  if (!text) return text.error();
  auto schema = schema_for(file, *text, options, like);
  if (!schema) return schema.error();
  const auto symbols = symbols_of(*schema);
  if (!symbols) return symbols.error();
  if (auto enough = check_length(file, text->size(), schema->positions, 2); !enough) return enough.error();

  auto source = std::make_shared<Text>(*schema);
  source->append(*text, *symbols);
  auto first_test = source->size();
  if (options.test.empty()) {
    const auto held_back = test_samples(source->size(), options.test_share);
    if (!held_back) return held_back.error();
    first_test -= *held_back;
  } else {
    const auto test = read_text(options.test);
    if (!test) return test.error();
    if (auto enough = check_length(options.test, test->size(), schema->positions, 1); !enough) return enough.error();
    source->append(*test, *symbols);
  }
  Opened opened{std::filesystem::path(file).filename(), source, {}, {}};
  opened.train.resize(first_test);
  opened.test.resize(source->size() - first_test);
  std::iota(opened.train.begin(), opened.train.end(), 0);
  std::iota(opened.test.begin(), opened.test.end(), first_test);
  return opened;
}

}  // namespace yoke::data
