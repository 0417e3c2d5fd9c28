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

void add_numbers(const KeyValue& value, std::vector<double>* numbers) {
  for (const KeyItem& item : value)
    if (const auto* extents = std::get_if<KeyExtents>(&item))
      for (const KeyRange& range : *extents) numbers->push_back(std::log2(1 + static_cast<double>(range.most)));
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
      for (const KeyRange& range : std::get<KeyExtents>(item)) group += range.least == range.most ? "#" : "#..#";
    }
    add_numbers(attribute.value, &shape.numbers);
  }
  for (const double n : shape.numbers) shape.size += n;
  shape.group = key_hash(group);
  return shape;
}

StatusOr<std::vector<double>> shape_numbers(std::string_view workload) {
  HONE_ASSIGN_OR_RETURN(const WorkloadKey key, parse_workload_key(workload));
  std::vector<double> numbers;
  for (const KeyAttribute& attribute : key.attributes)
    if (!is_around(attribute.name)) add_numbers(attribute.value, &numbers);
  return numbers;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) sum += std::abs(a[i] - b[i]);
  return sum;
}

}  // namespace hone::db
