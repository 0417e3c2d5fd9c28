#include "compiler/frontend/lowering/operators/product_over.h"

#include <algorithm>
#include <optional>

namespace hone::frontend {

Operand product_over(Lowering& l, const Operand& x, const Extents& axes, bool keepdims) {
  Extents perm, shape, result;
  int64_t count = 1;
  for (size_t d = 0; d < x.rank(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (reduced) {
      count *= x.type.shape[d];
    } else {
      perm.push_back(static_cast<int64_t>(d));
      shape.push_back(x.type.shape[d]);
    }
    if (!reduced || keepdims) result.push_back(reduced ? 1 : x.type.shape[d]);
  }
  perm.insert(perm.end(), axes.begin(), axes.end());
  shape.push_back(count);
  Operand rest = l.reshape(l.transpose(x, perm), shape);
  std::optional<Operand> odd;
  while (rest.type.shape.back() > 1) {
    const int64_t half = rest.type.shape.back() / 2;
    const auto part = [&](int64_t begin, int64_t size) {
      Extents first(shape.size(), 0), extents = rest.type.shape;
      first.back() = begin;
      extents.back() = size;
      return l.slice(rest, first, Extents(shape.size(), 1), extents);
    };
    if (rest.type.shape.back() % 2) {
      const Operand last = part(2 * half, 1);
      odd = odd ? l.pointwise("mul", {*odd, last}) : last;
    }
    rest = l.pointwise("mul", {part(0, half), part(half, half)});
  }
  return l.reshape(odd ? l.pointwise("mul", {rest, *odd}) : rest, result);
}

}  // namespace hone::frontend
