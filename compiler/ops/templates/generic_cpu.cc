#include <algorithm>

#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/generic.h"

namespace hone {

void generic_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  const std::vector<const TensorNode*> stages = stages_of(d);
  const auto reductions =
      std::count_if(stages.begin(), stages.end(), [](const TensorNode* t) { return t->reduce != ReduceKind::kNone; });
  if (d.outputs.size() == 1 && reductions <= 1) return fused_cpu(d, target, knobs, out);
  nests_cpu(d, target, knobs, out);
}

}  // namespace hone
