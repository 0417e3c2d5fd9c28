#include "compiler/arith/touched_elements.h"

#include <algorithm>

#include "base/check.h"
#include "compiler/arith/access_proof.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Runs of one access; more become one from the first element to the last.
constexpr int64_t kMostRuns = 4096;

// Elements base + sum of index * stride, each index below its extent.
struct Box {
  struct Dim {
    int64_t stride, extent;
  };
  std::vector<Dim> dims;
  int64_t base = 0;
};

void sort_and_join(std::vector<ElementRun>* runs) {
  std::sort(runs->begin(), runs->end(), [](const ElementRun& a, const ElementRun& b) { return a.begin < b.begin; });
  size_t kept = 0;
  for (const ElementRun& r : *runs) {
    if (kept > 0 && r.begin <= (*runs)[kept - 1].end)
      (*runs)[kept - 1].end = std::max((*runs)[kept - 1].end, r.end);
    else
      (*runs)[kept++] = r;
  }
  runs->resize(kept);
}

// Adds the box's elements that lie in 0 .. size - 1.
void add_runs(Box box, int64_t size, std::vector<ElementRun>* out) {
  std::sort(box.dims.begin(), box.dims.end(), [](const auto& a, const auto& b) { return a.stride < b.stride; });
  // Dimensions whose steps are no longer than the run below them continue it without a gap.
  int64_t run = 1, count = 1;
  size_t d = 0;
  for (; d < box.dims.size() && box.dims[d].stride <= run; ++d) run += box.dims[d].stride * (box.dims[d].extent - 1);
  const size_t outer = d;
  for (; d < box.dims.size(); ++d) {
    if (count > kMostRuns / box.dims[d].extent) break;
    count *= box.dims[d].extent;
  }
  if (d < box.dims.size()) {  // too many: one run over all
    for (d = outer; d < box.dims.size(); ++d) run += box.dims[d].stride * (box.dims[d].extent - 1);
    count = 1;
    box.dims.resize(outer);
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = box.base, rest = i;
    for (d = outer; d < box.dims.size(); ++d) {
      begin += rest % box.dims[d].extent * box.dims[d].stride;
      rest /= box.dims[d].extent;
    }
    const ElementRun clipped{std::max<int64_t>(begin, 0), std::min(begin + run, size)};
    if (clipped.begin < clipped.end) out->push_back(clipped);
  }
}

class Collector final : public Visitor {
 public:
  Collector(const Function& kernel, TouchedElements* out) : kernel_(kernel), out_(*out) {
    out_.read.resize(kernel.params.size());
    out_.written.resize(kernel.params.size());
  }

  void at(const VarNode* var, int64_t value) { (void)prover_.push_variable(var, {value, value}); }

 protected:
  using Visitor::visit;

  void visit(const For* op) override {
    const auto scope = prover_.push_loop(op->var.get(), op->min, op->extent);
    Visitor::visit(op);
    prover_.pop(scope);
  }
  void visit(const Store* op) override {
    add(op->buffer.get(), op->indices, &out_.written);
    Visitor::visit(op);
  }
  void visit(const Load* op) override {
    add(op->buffer.get(), op->indices, &out_.read);
    Visitor::visit(op);
  }
  void visit(const Prefetch*) override {}  // a hint touches nothing

 private:
  void add(const BufferNode* buffer, const std::vector<Expr>& indices, std::vector<std::vector<ElementRun>>* to) {
    for (size_t p = 0; p < kernel_.params.size(); ++p)
      if (kernel_.params[p].get() == buffer) {
        const auto size = as_const_int(kernel_.params[p]->shape[0]);
        const auto box = indices.size() == 1 ? box_of(indices[0]) : std::nullopt;
        if (box && size)
          add_runs(*box, *size, &(*to)[p]);
        else
          (*to)[p].push_back({0, size.value_or(Interval::kMax)});
      }
  }

  // Nothing where the index has no linear form, or a part of it no bounds.
  std::optional<Box> box_of(const Expr& index) {
    if (index->dtype.is_vector()) return std::nullopt;
    const auto form = prover_.form_of(index);
    if (!form) return std::nullopt;
    Box box;
    box.base = form->constant;
    for (const Linear::Term& t : form->terms) {
      const Interval range = prover_.bounds(t.atom);
      int64_t extent = 0, first = 0, span = 0;
      if (range.lo == Interval::kMin || range.hi == Interval::kMax || range.lo > range.hi ||
          t.coefficient == Interval::kMin || __builtin_sub_overflow(range.hi, range.lo, &extent) ||
          __builtin_add_overflow(extent, 1, &extent) ||
          __builtin_mul_overflow(t.coefficient, t.coefficient > 0 ? range.lo : range.hi, &first) ||
          __builtin_add_overflow(box.base, first, &box.base) ||
          __builtin_mul_overflow(t.coefficient > 0 ? t.coefficient : -t.coefficient, extent, &span))
        return std::nullopt;
      // No buffer is longer than this: such a span is not worth a sum that might overflow.
      constexpr int64_t kLongest = int64_t{1} << 48;
      if (span > kLongest || box.base > kLongest || box.base < -kLongest) return std::nullopt;
      if (extent > 1) box.dims.push_back({t.coefficient > 0 ? t.coefficient : -t.coefficient, extent});
    }
    return box;
  }

  const Function& kernel_;
  TouchedElements& out_;
  AccessProver prover_;
};

TouchedElements sorted(TouchedElements t) {
  for (auto* runs : {&t.read, &t.written})
    for (auto& of_parameter : *runs) sort_and_join(&of_parameter);
  return t;
}

}  // namespace

const For* whole_parallel_loop(const Function& kernel) {
  const Stmt* body = &kernel.body;
  if (const Seq* seq = as<Seq>(*body); seq && seq->stmts.size() == 1) body = &seq->stmts[0];
  const For* loop = as<For>(*body);
  const bool is_known = loop && loop->loop == LoopKind::kParallel && as_const_int(loop->min) &&
                        as_const_int(loop->extent).value_or(0) > 0;
  return is_known ? loop : nullptr;
}

TouchedElements touched_elements(const Function& kernel) {
  TouchedElements out;
  Collector(kernel, &out)(kernel.body);
  return sorted(std::move(out));
}

TouchedElements touched_elements(const Function& kernel, const For& loop, int64_t iteration) {
  const int64_t min = *as_const_int(loop.min);
  HONE_ICHECK(iteration >= 0 && iteration < *as_const_int(loop.extent)) << "iteration " << iteration;
  TouchedElements out;
  Collector collector(kernel, &out);
  collector.at(loop.var.get(), min + iteration);
  collector(loop.body);
  return sorted(std::move(out));
}

}  // namespace hone
