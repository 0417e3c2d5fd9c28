#include "db/team/shape.h"

#include <cmath>

#include "base/key.h"

namespace hone::db {
namespace {

// Work on operands and results around the layer, and a user's definition, whose hash changes with its shape: readers
// take rows whatever these are, and rank them behind.
bool is_around(const std::string& attribute) {
  return attribute == "epilogue" || attribute == "prologue" || attribute == "def";
}

}  // namespace

StatusOr<WorkloadShape> shape_of(std::string_view workload) {
  HONE_ASSIGN_OR_RETURN(const WorkloadKey key, parse_workload_key(workload));
  WorkloadShape shape;
  std::string group = key.name;
  for (const KeyAttribute& attribute : key.attributes) {
    if (is_around(attribute.name)) continue;
    group += "," + attribute.name + "=";
    for (const KeyItem& item : attribute.value) {
      group += ':';
      if (const auto* text = std::get_if<std::string>(&item)) {
        group += *text;
        continue;
      }
      for (const KeyRange& range : std::get<KeyExtents>(item)) {
        group += range.least == range.most ? "#" : "#..#";
        shape.numbers.push_back(std::log2(1 + static_cast<double>(range.most)));
      }
    }
  }
  for (const double n : shape.numbers) shape.size += n;
  shape.group = key_hash(group);
  return shape;
}

double distance(const WorkloadShape& a, const WorkloadShape& b) {
  double sum = 0;
  for (size_t i = 0; i < a.numbers.size() && i < b.numbers.size(); ++i) sum += std::abs(a.numbers[i] - b.numbers[i]);
  return sum;
}

}  // namespace hone::db
