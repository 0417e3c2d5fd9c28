#include <algorithm>

#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/templates/fused.h"
#include "compiler/ops/templates/generic.h"
#include "compiler/ops/templates/row_wise.h"
#include "compiler/ops/templates/stage_nests.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

// Whether the definition has rows that are worth a loop: one reduction is row-wise where the output has elements inside
// its rows, and fewer long rows than threads are better reduced by all threads together.
bool has_rows_for_threads(const Definition& d, bool several, const Target& target) {
  constexpr int64_t kLongRow = 65536;
  const std::optional<RowGroup> g = find_rows(d);
  if (!g) return false;
  int64_t inside = 1;
  for (const size_t a : g->inside) inside *= d.output()->shape[a];
  return (several || inside > 1) && (g->count >= target.threads || inside < kLongRow);
}

}  // namespace

void generic_cpu(const Definition& d, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* out) {
  if (reads_stored_elements(d)) return stage_nests_cpu(d, target, knobs, out);
  const std::vector<const TensorNode*> stages = stages_of(d);
  const auto reductions =
      std::count_if(stages.begin(), stages.end(), [](const TensorNode* t) { return t->reduce != ReduceKind::kNone; });
  if (has_rows_for_threads(behind_early_outputs(collapse(d)).rest, reductions > 1, target))
    return row_wise_cpu(d, target, knobs, out);
  if (d.outputs.size() == 1 && reductions <= 1) return fused_cpu(d, target, knobs, out);
  nests_cpu(d, target, knobs, out);
}

void generic_workload_cpu(const Workload& w, const Target& target, Knobs& knobs, std::unique_ptr<Schedule>* schedule) {
  generic_cpu(define(w), target, knobs, schedule);
}

}  // namespace hone
