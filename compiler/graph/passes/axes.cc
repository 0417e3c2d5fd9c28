#include "compiler/graph/passes/axes.h"

#include <algorithm>

namespace hone {

Extents inverse_of(const Extents& perm) {
  Extents out(perm.size());
  for (size_t d = 0; d < perm.size(); ++d) out[static_cast<size_t>(perm[d])] = static_cast<int64_t>(d);
  return out;
}

bool keeps_order(const Extents& shape, const Extents& order) {
  int64_t last = -1;  // of the axes that have more than one element
  for (const int64_t axis : order) {
    if (shape[static_cast<size_t>(axis)] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

SeenOperand seen_with(const Extents& own, const Extents& value, const Extents& other) {
  SeenOperand out;
  size_t i = 0, j = 0;
  while (i < value.size() || j < other.size()) {
    const size_t first_i = i, first_j = j;
    int64_t in_value = i < value.size() ? value[i++] : 1, in_other = j < other.size() ? other[j++] : 1;
    while (in_value != in_other) in_value < in_other ? in_value *= value[i++] : in_other *= other[j++];
    const bool is_one = std::all_of(own.begin() + static_cast<std::ptrdiff_t>(first_i),
                                    own.begin() + static_cast<std::ptrdiff_t>(i), [](int64_t e) { return e == 1; });
    for (size_t k = first_i; k < i; ++k) out.whole.push_back(is_one ? 1 : value[k]);
    for (size_t k = first_j; k < j; ++k) out.shape.push_back(is_one ? 1 : other[k]);
  }
  return out;
}

}  // namespace hone
