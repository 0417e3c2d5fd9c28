#include "compiler/users/check_definition.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/arith/verify.h"
#include "compiler/ir/layout.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower/lower_blocks.h"

namespace hone {
namespace {

constexpr double kMostIterations = 0x1p48;  // of a stage: days
constexpr size_t kMostStages = 256, kMostStageAxes = 32;

class DeclaredReads : public Visitor {
 public:
  explicit DeclaredReads(const TensorNode& t) : stage_(t) { (*this)(t.body); }

 private:
  void visit(const Load* l) override {
    const bool is_declared = std::any_of(stage_.inputs.begin(), stage_.inputs.end(),
                                         [&](const auto& in) { return in->buffer.same_as(l->buffer); });
    const bool is_previous = stage_.scan_axis && l->buffer.same_as(stage_.buffer);
    HONE_USER_CHECK(is_declared || is_previous) << "stage '" << stage_.name << "' reads '" << l->buffer->name
                                                << "', which is not among what it says that it reads";
    Visitor::visit(l);
  }
  const TensorNode& stage_;
};

void check_size(const TensorNode& t) {
  HONE_USER_CHECK(t.axes.size() <= kMostStageAxes && t.reduce_axes.size() <= kMostStageAxes)
      << "stage '" << t.name << "' has more than " << kMostStageAxes << " axes";
  double iterations = 1;
  for (const auto* axes : {&t.axes, &t.reduce_axes})
    for (const Axis& a : *axes) iterations *= static_cast<double>(a.extent);
  HONE_USER_CHECK(iterations <= kMostIterations) << "stage '" << t.name << "' takes more than 2^48 iterations";
}

}  // namespace

void check_definition(const Definition& d) {
  HONE_USER_CHECK(!d.outputs.empty()) << "it has no output";
  for (const Tensor& t : d.outputs)
    HONE_USER_CHECK(!t->is_placeholder()) << "its output '" << t->name << "' is an input: it is not computed";
  for (const Tensor& t : d.outputs)
    HONE_USER_CHECK(!t->shape.empty()) << "its output '" << t->name
                                       << "' has no dimension: a number has the shape (1,)";
  for (const auto& [tensor, role] : d.inputs) element_count(tensor->shape);
  const std::vector<const TensorNode*> stages = stages_of(d);
  HONE_USER_CHECK(stages.size() <= kMostStages) << "it has more than " << kMostStages << " stages";
  for (const TensorNode* t : stages) {
    check_size(*t);
    DeclaredReads reads(*t);
  }
  const Function program = lower_blocks(Schedule(d.inputs, d.outputs), Allocation::kWhole);
  for (const Unproved& u : verify(program))
    throw UserError(u.access +
                    " is not known to lie in its tensor: bound its indices, minimum(maximum(i, 0), extent - 1)");
}

}  // namespace hone
