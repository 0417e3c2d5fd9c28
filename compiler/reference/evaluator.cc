#include "compiler/reference/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "compiler/arith/linear.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

Expr zero_bound() { return make_const(0, f64); }

class LoadFinder final : public Visitor {
 public:
  bool found = false;

 protected:
  using Visitor::visit;
  void visit(const Load*) override { found = true; }
};

bool has_loads(const Expr& e) {
  LoadFinder finder;
  finder(e);
  return finder.found;
}

bool is_slot(const Expr& e) {
  const Load* l = as<Load>(e);
  return l && l->buffer->scope == BufferScope::kStack;
}

Expr now(const Buffer& slot) { return load(slot, {make_int(0)}); }

// Whether a sum's terms are products of two tensors: then they are hardly ever equal.
bool multiplies_tensors(const Expr& body) {
  const Binary* b = as<Binary>(body);
  return b && b->op == BinaryOp::kMul && has_loads(b->a) && has_loads(b->b) && !equal(b->a, b->b);
}

// y of 1 / (1 + e^y), or null.
Expr logistic_argument(const Binary* b) {
  const auto is_one = [](const Expr& e) { return as<FloatImm>(e) && as<FloatImm>(e)->value == 1; };
  if (b->op != BinaryOp::kDiv || !is_one(b->a)) return nullptr;
  const Binary* divisor = as<Binary>(b->b);
  if (!divisor || divisor->op != BinaryOp::kAdd || !is_one(divisor->a)) return nullptr;
  const Call* power = as<Call>(divisor->b);
  return power && power->function == Intrinsic::kExp ? power->args[0] : nullptr;
}

bool is_exact(const Approximate& v) { return is_zero(v.tolerance) && is_zero(v.typical); }

// An index that is computed from elements is inside already; the verifier needs the clamp to know that of a number that
// was kept.
Expr inside(const Expr& index, const Expr& extent) { return max(make_int(0), min(index, extent - 1)); }

// An element at indices that are computed: of floats as whole numbers. Where rounding may make one of them another
// number, the kernel may read any element. A number, and not infinity, which 0 times it would make a NaN.
Approximate anywhere(Approximate element, const std::vector<Approximate>& indices) {
  const auto bound = [](const Expr& of_index, const Expr& of_element) {
    return is_zero(of_index) ? of_element : select(lt(zero_bound(), of_index), make_const(1e60, f64), of_element);
  };
  for (const Approximate& i : indices)
    element = {element.exact, bound(i.tolerance, element.tolerance), bound(i.typical, element.typical)};
  return element;
}

}  // namespace

Expr flat_index(const std::vector<int64_t>& shape, const std::vector<Expr>& at) {
  Expr index = make_int(0);
  for (size_t d = 0; d < at.size(); ++d) index = index * shape[d] + at[d];
  return index;
}

Buffer Evaluator::slot(DType t) {
  slots_.push_back(make_buffer(fmt::format("v{}", slots_.size()), t, std::vector<int64_t>{1}, BufferScope::kStack));
  return slots_.back();
}

// One that holds `value` until something else is stored.
Buffer Evaluator::slot_of(const Expr& value) {
  Buffer b = slot(value->dtype);
  emit(make_store(b, {make_int(0)}, value));
  return b;
}

// A value that is computed once and may be used often.
Expr Evaluator::kept(const Expr& e) {
  if (e->kind == ExprKind::kFloatImm || e->kind == ExprKind::kIntImm || is_slot(e)) return e;
  const Buffer b = slot(e->dtype);
  emit(make_store(b, {make_int(0)}, e));
  return load(b, {make_int(0)});
}

// The statements that `emit_body` emits. Their values are not known outside of them.
template <class F>
Stmt Evaluator::nested(const F& emit_body) {
  const size_t computed_before = elements_.size();
  lists_.emplace_back();
  emit_body();
  elements_.resize(computed_before);
  Stmt s = make_seq(std::move(lists_.back()));
  lists_.pop_back();
  return s;
}

Stmt Evaluator::finish() {
  Stmt all = make_seq(std::move(lists_.back()));
  for (const Buffer& b : slots_) all = make_allocate(b, -1, all);
  return all;
}

const FlatTensor* Evaluator::find_known(const BufferNode* buffer) const {
  const auto found =
      std::find_if(known_.begin(), known_.end(), [&](const FlatTensor& f) { return f.tensor->buffer.get() == buffer; });
  return found == known_.end() ? nullptr : &*found;
}

const TensorNode* Evaluator::input_of(const TensorNode* t, const Load* l) const {
  for (const auto& in : t->inputs)
    if (in->buffer.same_as(l->buffer)) return in.get();
  HONE_ICHECK(false) << "reference: stage '" << t->name << "' reads unknown '" << l->buffer->name << "'";
  return nullptr;
}

Approximate Evaluator::loaded(const FlatTensor& from, const std::vector<Expr>& at) {
  const Expr index = flat_index(from.tensor->shape, at);
  const auto bound = [&](const Buffer& b) { return b ? load(b, {index}) : zero_bound(); };
  const Expr value = load(from.values, {index});
  const Expr wide = value->dtype == wide_of(value->dtype) ? value : cast(wide_of(value->dtype), value);
  if (from.tensor->is_placeholder() && denormals_ == Denormals::kZero) return approximate_vanishing(wide, value->dtype);
  return {wide, bound(from.tolerance), bound(from.typical)};
}

Approximate Evaluator::element(const TensorNode* t, const std::vector<Expr>& at) {
  for (const Element& e : elements_)
    if (e.tensor == t && std::equal(e.at.begin(), e.at.end(), at.begin(), at.end(),
                                    [](const Expr& a, const Expr& b) { return equal(a, b); }))
      return e.value;
  const FlatTensor* known = find_known(t->buffer.get());
  Approximate value = known ? kept(loaded(*known, at)) : computed(t, at);
  elements_.push_back({t, at, value});
  return value;
}

Approximate Evaluator::computed(const TensorNode* t, const std::vector<Expr>& at) {
  HONE_ICHECK(!t->is_placeholder()) << "reference: '" << t->name << "' is not among the inputs";
  Frame frame;
  for (size_t d = 0; d < at.size(); ++d) frame.axes.emplace_back(t->axes[d].var.get(), at[d]);
  return t->reduce == ReduceKind::kNone ? value_of(t, t->body, frame) : reduced(t, std::move(frame));
}

// The value of one term. The rounding of its outermost multiplication is the sum's to count, as `term_error`: added up
// for each term it would cost as much as the sum itself.
Approximate Evaluator::term(const TensorNode* t, Frame& frame, double* term_error) {
  const DType type = t->buffer->dtype;
  *term_error = type.is_float() ? rounding_of(type) : 0;
  const Binary* product = as<Binary>(t->body);
  if (!product || product->op != BinaryOp::kMul) return value_of(t, t->body, frame);
  *term_error += factor_error_;
  const Approximate a = value_of(t, product->a, frame), b = value_of(t, product->b, frame);
  return kept(approximate_product_term(a, b));
}

Evaluator::SumSlots Evaluator::start_sums(const TensorNode* t) {
  if (t->reduce != ReduceKind::kSum || !t->buffer->dtype.is_float()) return {};
  SumSlots sums;
  sums.sizes = slot_of(zero_bound());
  if (factor_error_ > 0) sums.squares = slot_of(zero_bound());
  if (multiplies_tensors(t->body)) return sums;
  sums.repeats = slot_of(zero_bound());
  sums.last = slot_of(zero_bound());
  return sums;
}

void Evaluator::add_term(const SumSlots& sums, const Expr& value) {
  const auto increase = [&](const Buffer& b, const Expr& by) {
    if (b) emit(make_store(b, {make_int(0)}, now(b) + by));
  };
  if (sums.sizes) increase(sums.sizes, call(Intrinsic::kAbs, {value}));
  if (sums.squares) increase(sums.squares, value * value);
  if (!sums.last) return;
  const Expr repeats = logical_and(eq(value, now(sums.last)), ne(value, zero_bound()));
  increase(sums.repeats, select(repeats, make_const(1, f64), zero_bound()));
  emit(make_store(sums.last, {make_int(0)}, value));
}

Approximate Evaluator::reduced(const TensorNode* t, Frame frame) {
  const DType type = t->buffer->dtype;
  const Expr zero = make_int(0);
  // An s64 holds the bits of a u64, which compare without a sign.
  const bool is_unsigned = type == u64 && t->reduce != ReduceKind::kSum;
  const auto as_held = [&](Expr e) { return is_unsigned ? cast(i64, std::move(e)) : e; };
  const auto as_compared = [&](Expr e) { return is_unsigned ? cast(u64, std::move(e)) : e; };
  const Buffer sum = slot_of(as_held(reduce_identity(t->reduce, is_unsigned ? u64 : wide_of(type))));
  const SumSlots sums = start_sums(t);
  const Buffer tolerance = slot(f64), typical = slot(f64);
  double term_error = 0;
  int64_t length = 1;
  std::vector<Var> vars;
  for (const Axis& a : t->reduce_axes) {
    vars.emplace_back(a.var->name);
    frame.axes.emplace_back(a.var.get(), vars.back());
    length *= a.extent;
  }
  bool exact = false;
  Stmt nest = nested([&] {
    const Approximate v = t->reduce == ReduceKind::kSum ? term(t, frame, &term_error) : value_of(t, t->body, frame);
    exact = is_exact(v);
    emit(make_store(sum, {zero}, as_held(reduce_combine(t->reduce, as_compared(now(sum)), as_compared(v.exact)))));
    add_term(sums, v.exact);
    if (exact) return;
    const auto combine = [&](const Buffer& b, const Expr& bound) {
      return t->reduce == ReduceKind::kSum ? now(b) + bound : max(now(b), bound);
    };
    emit(make_store(tolerance, {zero}, combine(tolerance, v.tolerance)));
    emit(make_store(typical, {zero}, combine(typical, v.typical)));
  });
  for (size_t i = vars.size(); i-- > 0;)
    nest = make_for(vars[i], zero, make_int(t->reduce_axes[i].extent), LoopKind::kSerial, nest);
  Approximate bounds = exactly(zero_bound());
  if (!exact) {
    emit(make_store(tolerance, {zero}, zero_bound()));
    emit(make_store(typical, {zero}, zero_bound()));
    bounds = {zero_bound(), now(tolerance), now(typical)};
  }
  emit(nest);
  if (t->reduce != ReduceKind::kSum) return {now(sum), bounds.tolerance, bounds.typical};
  const auto total = [](const Buffer& b) { return b ? now(b) : Expr(); };
  const TermSums all{now(sum), total(sums.sizes), total(sums.squares), total(sums.repeats)};
  return kept(approximate_sum(all, bounds, type, length, term_error));
}

Approximate Evaluator::value_of(const TensorNode* t, const Expr& e, Frame& frame) {
  if (const auto found = frame.memo.find(e.get()); found != frame.memo.end()) return found->second;
  Approximate value = kept(compute(t, e, frame));
  frame.memo.emplace(e.get(), value);
  return value;
}

Approximate Evaluator::compute(const TensorNode* t, const Expr& e, Frame& frame) {
  if (const FloatImm* f = as<FloatImm>(e)) {
    const bool is_normal = f->value == 0 || std::abs(f->value) >= smallest_normal(e->dtype);
    return is_normal || denormals_ == Denormals::kKeep ? approximate_constant(f->value, e->dtype)
                                                       : approximate_vanishing(make_const(f->value, f64), e->dtype);
  }
  if (const IntImm* i = as<IntImm>(e)) return exactly(make_int(i->value, i64));
  // An index, or a number that an index gives (how many elements a window holds).
  if (!e->dtype.is_float() && !has_loads(e)) return exactly(cast(i64, substitute(e, frame.axes)));
  if (e->kind == ExprKind::kCast && !has_loads(e))
    return exactly(cast(f64, substitute(as<Cast>(e)->value, frame.axes)));
  switch (e->kind) {
    case ExprKind::kLoad: {
      const Load* l = as<Load>(e);
      std::vector<Expr> at;
      std::vector<Approximate> data;  // the indices that are computed from elements
      for (size_t d = 0; d < l->indices.size(); ++d) {
        const Expr& i = l->indices[d];
        if (has_loads(i)) data.push_back(value_of(t, i, frame));
        at.push_back(has_loads(i) ? inside(data.back().exact, l->buffer->shape[d]) : substitute(i, frame.axes));
      }
      return anywhere(element(t->buffer.same_as(l->buffer) ? t : input_of(t, l), at), data);
    }
    case ExprKind::kCast: {
      const Cast* c = as<Cast>(e);
      return approximate_cast(value_of(t, c->value, frame), c->value->dtype, e->dtype);
    }
    case ExprKind::kBinary: {
      const Binary* b = as<Binary>(e);
      if (const Expr y = logistic_argument(b)) return approximate_logistic(value_of(t, y, frame), e->dtype);
      const Approximate x = value_of(t, b->a, frame), y = value_of(t, b->b, frame);
      const DType type = b->a->dtype;
      if (!e->dtype.is_bool() || type.is_bool()) return approximate_binary(b->op, x, y, e->dtype);
      // A value compared with itself: whether it is a number, whatever its error.
      if (equal(b->a, b->b)) return approximate_comparison(b->op, exactly(x.exact), exactly(y.exact), type);
      return approximate_comparison(b->op, x, y, type);
    }
    case ExprKind::kNot: return approximate_not(value_of(t, as<Not>(e)->value, frame));
    case ExprKind::kCall: {
      const Call* c = as<Call>(e);
      HONE_ICHECK(c->args.size() == 1) << "reference: " << name_of(c->function) << " of elements";
      return approximate_call(c->function, value_of(t, c->args[0], frame), e->dtype);
    }
    case ExprKind::kSelect: return chosen(t, as<Select>(e), frame);
    default: break;
  }
  HONE_ICHECK(false) << "reference: unexpected expression in stage '" << t->name << "'";
  return {};
}

// Where indices choose, only the chosen side may be read: each side is computed under the condition. Where elements do,
// both may be read, and where they are rounded the kernel may choose the other one.
Approximate Evaluator::chosen(const TensorNode* t, const Select* s, Frame& frame) {
  if (has_loads(s->condition)) {
    const Approximate condition = value_of(t, s->condition, frame), yes = value_of(t, s->on_true, frame),
                      no = value_of(t, s->on_false, frame);
    return approximate_choice(condition, yes, no);
  }
  const Expr zero = make_int(0);
  const Buffer exact = slot(wide_of(s->dtype)), tolerance = slot(f64), typical = slot(f64);
  bool is_bounded = false;
  const auto side = [&](const Expr& e) {
    return nested([&] {
      const Memo outside = frame.memo;
      const Approximate v = value_of(t, e, frame);
      frame.memo = outside;
      is_bounded |= !is_exact(v);
      emit(make_store(exact, {zero}, v.exact));
      emit(make_store(tolerance, {zero}, v.tolerance));
      emit(make_store(typical, {zero}, v.typical));
    });
  };
  const Stmt yes = side(s->on_true), no = side(s->on_false);
  emit(make_if(substitute(s->condition, frame.axes), yes, no));
  if (!is_bounded) return exactly(load(exact, {zero}));
  return {load(exact, {zero}), load(tolerance, {zero}), load(typical, {zero})};
}

}  // namespace hone
