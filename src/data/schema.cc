#include "data/schema.h"

namespace yoke::data {

std::int64_t Schema::width() const {
  std::int64_t width = 1;
  for (auto extent : shape) width *= extent;
  return width;
}

const char* name_of(Task task) {
  switch (task) {
    case Task::classes:
      return "classes";
    case Task::values:
      return "values";
    case Task::binary:
      return "binary";
    case Task::flags:
      return "flags";
  }
  return "?";
}

}  // namespace yoke::data
