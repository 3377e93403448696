// The samples of tables, held in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/table.h"

namespace yoke::data {

// A number, or the number of a word, for every column that is used; words become features when they are asked for.
class TableSource : public Source {
 public:
  // `schema`: with features; those of one column of words stand together.
  explicit TableSource(Schema schema);

  // Reads the rows of `table` as further samples. Errors name line and column: a column that is not there, a field
  // that is no number, a word or a class that the schema does not have. The source is of no use then.
  Status append(const Table& table, const std::vector<std::string>& targets);

  const Schema& schema() const override { return schema_; }
  std::uint64_t size() const override { return size_; }
  Result<Normalisation> learn(std::span<const std::uint64_t> samples) const override;
  Status fill(std::span<const std::uint64_t> samples, const Normalisation& normalisation, Batch& batch) const override;

 private:
  struct Column {
    std::string name;
    std::vector<std::string> words;  // none: it is of numbers
  };
  std::size_t targets() const;  // a sample

  Schema schema_;
  std::vector<Column> columns_;
  std::uint64_t size_ = 0;
  std::vector<float> cells_;    // size_ * columns_.size()
  std::vector<float> targets_;  // size_ * targets(); the number of the class, where it is one
};

}  // namespace yoke::data
