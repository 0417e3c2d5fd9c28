#include "compiler/reference/plan.h"

#include <algorithm>

#include "compiler/ir/layout.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Kept stages take 24 bytes an element.
constexpr int64_t kMostKept = int64_t{1} << 23;

class LoadCounter final : public Visitor {
 public:
  explicit LoadCounter(const BufferNode* of) : of_(of) {}
  double count = 0;

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    if (op->buffer.get() == of_) ++count;
    Visitor::visit(op);
  }

 private:
  const BufferNode* of_;
};

bool reads(const TensorNode* t, const TensorNode* other) {
  return std::any_of(t->inputs.begin(), t->inputs.end(),
                     [&](const auto& in) { return in->buffer.same_as(other->buffer); });
}

// Elements of `read` that one element of `t` is computed from. Repeated reads of one element count as one.
double reads_per_element(const StagePlan& t, const TensorNode* read) {
  if (t.stage->reduce != ReduceKind::kNone) return t.terms_per_element();
  LoadCounter loads(read->buffer.get());
  loads(t.stage->body);
  return std::min(loads.count, 1.0);
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
      if (reads(plan[later].stage, p.stage))
        p.evaluations += plan[later].evaluations * reads_per_element(plan[later], p.stage);
    const int64_t elements = element_count(p.stage->shape);
    p.is_kept =
        p.stage->reduce != ReduceKind::kNone && p.evaluations > static_cast<double>(elements) && elements <= kMostKept;
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
