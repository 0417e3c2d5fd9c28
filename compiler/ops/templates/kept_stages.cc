#include "compiler/ops/templates/kept_stages.h"

#include <algorithm>
#include <map>

#include "compiler/ir/visitor.h"
#include "compiler/ops/templates/reduction_nest.h"

namespace hone {
namespace {

bool is_output(const Definition& d, const TensorNode* t) {
  return std::any_of(d.outputs.begin(), d.outputs.end(), [&](const Tensor& o) { return o->buffer.same_as(t->buffer); });
}

// Whether an element takes a function or a division, its own or one of the elementwise stages it reads.
class Expensive {
 public:
  bool operator()(const TensorNode* t) {
    if (t->is_placeholder() || t->reduce != ReduceKind::kNone) return false;
    const auto [it, fresh] = known_.emplace(t, false);
    if (!fresh) return it->second;
    class Finder final : public Visitor {
     public:
      bool found = false;

     protected:
      using Visitor::visit;
      void visit(const Call*) override { found = true; }
      void visit(const Binary* op) override {
        found = found || (op->op == BinaryOp::kDiv && op->dtype.is_float());
        Visitor::visit(op);
      }
    } finder;
    finder(t->body);
    bool found = finder.found;
    for (const auto& in : t->inputs) found = (*this)(in.get()) || found;
    return known_[t] = found;
  }

 private:
  std::map<const TensorNode*, bool> known_;
};

double elements_and_terms(const TensorNode* t) {
  double n = 1;
  for (const int64_t extent : t->shape) n *= static_cast<double>(extent);
  for (const Axis& a : t->reduce_axes) n *= static_cast<double>(a.extent);
  return n;
}

}  // namespace

std::set<std::string> kept_stages(const Definition& d, Keep keep) {
  const std::vector<const TensorNode*> stages = stages_of(d);
  std::set<std::string> kept;
  std::map<const BufferNode*, double> evaluations;  // of a stage's elements, by all stages that read it
  Expensive expensive;
  for (auto t = stages.rbegin(); t != stages.rend(); ++t) {
    double own = elements_and_terms(*t);
    if ((*t)->reduce == ReduceKind::kNone && !is_output(d, *t)) {
      const double asked = evaluations[(*t)->buffer.get()];
      if (asked > own && keep != Keep::kNothing && (keep == Keep::kRepeated || expensive(*t)))
        kept.insert((*t)->name);
      else
        own = asked;
    }
    for (const auto& in : (*t)->inputs) evaluations[in->buffer.get()] += own;
  }
  std::map<const BufferNode*, int64_t> inlined;
  for (const TensorNode* t : stages) {
    if (t->reduce != ReduceKind::kNone || is_output(d, t) || kept.count(t->name)) continue;
    const int64_t size = instructions_of(t->body, inlined);
    if (size > kMostInstructions)
      kept.insert(t->name);
    else
      inlined[t->buffer.get()] = size;
  }
  return kept;
}

void inline_others(Schedule& s, const Definition& d, const std::set<std::string>& kept) {
  for (const TensorNode* t : stages_of(d))
    if (t->reduce == ReduceKind::kNone && !is_output(d, t) && !kept.count(t->name)) s.compute_inline(s.block(t->name));
}

}  // namespace hone
