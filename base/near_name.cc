#include "base/near_name.h"

#include <algorithm>

namespace hone {
namespace {

constexpr size_t kLongest = 64;

// Letters put in, left out, changed, or swapped with the next.
size_t steps_between(std::string_view a, std::string_view b) {
  // By letters of b: steps from the first i, i - 1 and i - 2 letters of a.
  std::vector<size_t> now(b.size() + 1), before, before_that;
  for (size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before_that = std::move(before), before = now;
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({before[j] + 1, now[j - 1] + 1, before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before_that[j - 2] + 1);
    }
  }
  return now[b.size()];
}

}  // namespace

std::string near_name(std::string_view given, const std::vector<std::string>& known) {
  if (given.size() > kLongest) return "";
  size_t fewest = std::min(std::max<size_t>(1, given.size() / 3) + 1, given.size());
  std::string nearest;
  for (const std::string& name : known)
    if (const size_t steps = steps_between(given, name); steps < fewest) fewest = steps, nearest = name;
  return nearest;
}

std::string did_you_mean(std::string_view given, const std::vector<std::string>& known) {
  const std::string name = near_name(given, known);
  return name.empty() ? "" : "; did you mean " + name + "?";
}

}  // namespace hone
