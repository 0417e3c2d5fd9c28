#include "compiler/reference/plan.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/ir/layout.h"

namespace hone {
namespace {

// Kept stages take 24 bytes an element.
constexpr int64_t kMostKept = int64_t{1} << 23;

bool reads(const TensorNode* t, const TensorNode* other) {
  return std::any_of(t->inputs.begin(), t->inputs.end(),
                     [&](const auto& in) { return in->buffer.same_as(other->buffer); });
}

}  // namespace

double StagePlan::terms_per_element() const {
  double terms = 1;
  for (const Axis& a : stage->reduce_axes) terms *= static_cast<double>(a.extent);
  return terms;
}

std::vector<StagePlan> plan_reference(const Definition& d, const std::vector<double>& wanted) {
  std::vector<StagePlan> plan;
  for (const TensorNode* t : stages_of(d)) plan.push_back({t});
  for (size_t i = plan.size(); i-- > 0;) {
    StagePlan& p = plan[i];
    for (size_t o = 0; o < d.outputs.size(); ++o)
      if (d.outputs[o]->buffer.same_as(p.stage->buffer)) p.evaluations += wanted[o];
    for (size_t later = i + 1; later < plan.size(); ++later)
      if (reads(plan[later].stage, p.stage)) p.evaluations += plan[later].evaluations * plan[later].terms_per_element();
    const int64_t elements = element_count(p.stage->shape);
    p.is_kept =
        p.stage->reduce != ReduceKind::kNone && p.evaluations > static_cast<double>(elements) && elements <= kMostKept;
    if (p.stage->scan_axis) {
      HONE_USER_CHECK(elements <= kMostKept) << "the scan '" << p.stage->name << "' has " << elements
                                             << " elements; at most " << kMostKept << " can be checked";
      p.is_kept = true;
    }
    if (p.is_kept) p.evaluations = static_cast<double>(elements);
  }
  return plan;
}

double cost_of(const std::vector<StagePlan>& plan) {
  double reduced = 0, elementwise = 0;
  for (const StagePlan& p : plan) {
    if (p.stage->reduce != ReduceKind::kNone)
      reduced += p.evaluations * p.terms_per_element();
    else
      elementwise = std::max(elementwise, p.evaluations);
  }
  return reduced > 0 ? reduced : elementwise;
}

}  // namespace hone
