#include "data/csv.h"

#include <filesystem>
#include <memory>
#include <numeric>
#include <string_view>
#include <utility>

#include "data/file.h"
#include "data/split.h"
#include "data/table_columns.h"
#include "data/table_schema.h"
#include "data/table_source.h"
#include "data/test_share.h"

namespace yoke::data {
namespace {

// Of the test part: not the job's, so that every job is judged on the same samples.
constexpr std::uint64_t kTestRowsSeed = 20'040'407;

Result<Table> read_table(const std::string& file) {
  const auto bytes = read_file(file);
  if (!bytes) return bytes.error();
  auto table = parse_table({reinterpret_cast<const char*>(bytes->data()), bytes->size()});
  if (!table) return within(file, table.error());
  return table;
}

// That of the table, or `like` where it is of a table with as many targets.
Result<Schema> schema_for(const Table& table, const OpenOptions& options, const std::vector<std::string>& targets,
                          const Schema* like) {
  const auto unfit = [](const std::string& why) { return Error{Code::invalid_argument, "the model " + why}; };
  if (like == nullptr) return table_schema(table, options, targets);
  if (like->features.empty() || like->width() != static_cast<std::int64_t>(like->features.size())) {
    return unfit("was not made for tables: give data like that it was trained on");
  }
  if (options.task && *options.task != like->task) {
    return unfit(std::string("was made for --task ") + name_of(like->task) + ", not for " + name_of(*options.task));
  }
  const bool several = like->task == Task::values || like->task == Task::flags;
  if (targets.size() != (several ? static_cast<std::size_t>(like->outputs) : 1)) {
    return unfit("predicts another number of columns: name as many with --target, or none");
  }
  return *like;
}

Result<Opened> with_test_file(const std::string& file, const std::vector<std::string>& targets,
                              const std::shared_ptr<TableSource>& source) {
  const auto train = source->size();
  const auto table = read_table(file);
  if (!table) return table.error();
  if (auto read = source->append(*table, targets); !read) return within(file, read.error());
  Opened opened{{}, source, std::vector<std::uint64_t>(train), std::vector<std::uint64_t>(source->size() - train)};
  std::iota(opened.train.begin(), opened.train.end(), 0);
  std::iota(opened.test.begin(), opened.test.end(), train);
  return opened;
}

Result<Opened> with_test_share(double share, const std::shared_ptr<TableSource>& source) {
  const auto count = test_samples(source->size(), share);
  if (!count) return count.error();
  std::vector<std::uint64_t> samples(source->size());
  std::iota(samples.begin(), samples.end(), 0);
  auto [rest, drawn] = draw(std::move(samples), *count, kTestRowsSeed);
  return Opened{{}, source, std::move(rest), std::move(drawn)};
}

}  // namespace

Result<Opened> open_csv(const std::string& file, const OpenOptions& options, const Schema* like) {
  if (auto good = check_share("test share", options.test_share); !good) return good.error();
  const auto table = read_table(file);
  if (!table) return table.error();
  const auto targets = target_columns(*table, options, like);
  if (!targets) return within(file, targets.error());
  auto schema = schema_for(*table, options, *targets, like);
  if (!schema) return within(file, schema.error());
  auto source = std::make_shared<TableSource>(std::move(*schema));
  if (auto read = source->append(*table, *targets); !read) return within(file, read.error());
  auto opened = options.test.empty() ? with_test_share(options.test_share, source)
                                     : with_test_file(options.test, *targets, source);
  if (!opened) return opened.error();
  opened->name = std::filesystem::path(file).filename();
  return opened;
}

}  // namespace yoke::data
