#include "compiler/frontend/lowering/operators/suppression.h"

namespace hone::frontend {

TakenBoxes taken_boxes(Lowering& l, const Operand& boxes, const Operand& scores, const Suppression& how) {
  const std::vector<ValueId> made =
      l.b.add("non_max_suppression", {{"most", std::to_string(how.most)}, {"center", how.is_center ? "1" : "0"}},
              {l.value(boxes), l.value(scores), how.there, how.wanted, how.overlap, how.score});
  return {{made[0], l.b.type(made[0])}, made[1]};
}

}  // namespace hone::frontend
