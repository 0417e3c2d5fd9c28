#include "compiler/frontend/lowering/operators/tile.h"

#include "base/check.h"
#include "base/text.h"
#include "compiler/ir/extents.h"
#include "compiler/ir/layout.h"

namespace hone::frontend {

Operand tile(Lowering& l, const Operand& x, const std::vector<int64_t>& repeats) {
  HONE_USER_CHECK(repeats.size() == x.rank()) << "repeats [" << join(repeats, ", ") << "] of " << to_string(x.type);
  // [a, b] -> [1, a, 1, b] -> [ra, a, rb, b] -> [ra a, rb b]
  Extents apart, full, shape;
  for (size_t d = 0; d < x.rank(); ++d) {
    HONE_USER_CHECK(repeats[d] >= 0) << "repeats [" << join(repeats, ", ") << "]";
    if (repeats[d] != 1) {
      apart.push_back(1);
      full.push_back(repeats[d]);
    }
    apart.push_back(x.type.shape[d]);
    full.push_back(x.type.shape[d]);
    shape.push_back(element_count({repeats[d], x.type.shape[d]}));
  }
  return l.reshape(l.broadcast(l.reshape(x, apart), full), shape);
}

}  // namespace hone::frontend
