#include "compiler/ops/reference.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "compiler/arith/simplify.h"
#include "compiler/ir/mutator.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/reduce.h"
#include "compiler/ops/reference_elementwise.h"

namespace hone {
namespace {

// Replaces loads of computed, unreduced stages by their bodies.
class StageInliner final : public Mutator {
 public:
  StageInliner(const std::vector<const TensorNode*>& stages, const std::vector<std::pair<Buffer, Buffer>>& flat)
      : stages_(stages), flat_(flat) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    std::vector<Expr> indices;
    mutate_all(op->indices, &indices);
    for (const TensorNode* t : stages_) {
      if (!t->buffer.same_as(op->buffer) || t->is_placeholder()) continue;
      VarMap map;
      for (size_t d = 0; d < indices.size(); ++d) map.emplace_back(t->axes[d].var.get(), indices[d]);
      return (*this)(substitute(t->body, map));
    }
    for (const auto& [from, to] : flat_) {
      if (!from.same_as(op->buffer)) continue;
      Expr index = make_int(0);
      for (size_t d = 0; d < indices.size(); ++d) index = index * from->shape[d] + indices[d];
      return load(to, {index});
    }
    HONE_ICHECK(op->buffer->scope == BufferScope::kStack)
        << "reference: buffer '" << op->buffer->name << "' is unknown";
    return Expr(op);
  }

 private:
  const std::vector<const TensorNode*>& stages_;
  const std::vector<std::pair<Buffer, Buffer>>& flat_;
};

// Arithmetic widened to f64 (or s64); loads stay as they are and are cast. With `magnitude`, every term counts by its
// absolute value.
class Widener final : public Mutator {
 public:
  Widener(DType wide, bool magnitude) : wide_(wide), magnitude_(magnitude) {}

  Expr widen(const Expr& e) {
    if (const Load* l = as<Load>(e)) return absolute(cast(wide_, Expr(l)));
    // An index (how many elements a window holds) is exact as it is.
    if (const Cast* c = as<Cast>(e))
      return c->value->dtype == kIndex && !as<Load>(c->value) ? cast(wide_, c->value) : widen(c->value);
    if (const Binary* b = as<Binary>(e)) {
      // max(x, 0) of a relu shrinks errors: the bound is that of x.
      if (magnitude_ && b->op == BinaryOp::kMax) return widen(b->a);
      return binary(b->op, widen(b->a), widen(b->b));
    }
    if (const Select* s = as<Select>(e)) return select(s->condition, widen(s->on_true), widen(s->on_false));
    if (const FloatImm* f = as<FloatImm>(e)) return make_const(f->value, wide_);
    if (const IntImm* i = as<IntImm>(e)) return make_const(static_cast<double>(i->value), wide_);
    HONE_ICHECK(false) << "reference: unexpected expression";
    return e;
  }

 private:
  Expr absolute(Expr e) const { return magnitude_ ? max(e, make_const(0, wide_) - e) : e; }
  DType wide_;
  bool magnitude_;
};

// The epilogue over the reduced value, which stands in a stack buffer, and over flat parameters; casts of elements fall
// away because all is widened.
class Epilogue final : public Mutator {
 public:
  Epilogue(const Buffer& product, const Buffer& sums, const std::vector<std::pair<Buffer, Buffer>>& flat)
      : product_(product), sums_(sums), flat_(flat) {}

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    if (op->buffer.same_as(product_)) return load(sums_, {make_int(0)});
    for (const auto& [from, to] : flat_) {
      if (!from.same_as(op->buffer)) continue;
      Expr index = make_int(0);
      for (size_t d = 0; d < op->indices.size(); ++d) index = index * from->shape[d] + op->indices[d];
      return load(to, {index});
    }
    return Expr(op);
  }
  Expr visit(const Cast* op) override { return op->value->dtype == kIndex ? Mutator::visit(op) : (*this)(op->value); }
  Expr visit(const Binary* op) override {
    const Expr a = (*this)(op->a), b = (*this)(op->b);
    return a->dtype == b->dtype ? binary(op->op, a, b) : Expr(new Binary(op->op, op->dtype, a, b));
  }

 private:
  const Buffer &product_, &sums_;
  const std::vector<std::pair<Buffer, Buffer>>& flat_;
};

// The definition's reduction: its output, or what its output is made from; null when there is none.
const TensorNode* reduction_of(const Definition& d) {
  const TensorNode* t = d.output.node().get();
  if (t->reduce != ReduceKind::kNone) return t;
  for (const auto& in : t->inputs)
    if (in->reduce != ReduceKind::kNone) return in.get();
  return nullptr;
}

int64_t reduction_length(const Definition& d) {
  int64_t k = 1;
  if (const TensorNode* t = reduction_of(d))
    for (const Axis& a : t->reduce_axes) k *= a.extent;
  return k;
}

// Sums (and their bounds) over the terms at `coordinate`, then the epilogue's stage; maxima and minima have no bound,
// they are exact.
std::vector<Stmt> reduced_value(const Definition& d, const TensorNode* product,
                                const std::vector<std::pair<Buffer, Buffer>>& flat, const std::vector<Expr>& coordinate,
                                DType wide, const Buffer& sums, const Buffer& bounds, const Buffer& value,
                                const Buffer& magnitude, const Expr& at) {
  const TensorNode* out = d.output.node().get();
  std::vector<const TensorNode*> stages;
  for (const auto& in : product->inputs) stages.push_back(in.get());
  StageInliner inline_stages(stages, flat);
  const auto at_coordinate = [&](const TensorNode* t) {
    VarMap map;
    for (size_t i = 0; i < coordinate.size(); ++i) map.emplace_back(t->axes[i].var.get(), coordinate[i]);
    return map;
  };
  const bool bounded = wide.is_float() && product->reduce == ReduceKind::kSum;
  const Expr term = inline_stages(substitute(product->body, at_coordinate(product))), zero = make_int(0);
  std::vector<Stmt> step{
      make_store(sums, {zero}, reduce_combine(product->reduce, load(sums, {zero}), Widener(wide, false).widen(term)))};
  if (bounded) step.push_back(make_store(bounds, {zero}, load(bounds, {zero}) + Widener(f64, true).widen(term)));
  Stmt nest = make_seq(std::move(step));
  for (size_t i = product->reduce_axes.size(); i-- > 0;) {
    const Axis& a = product->reduce_axes[i];
    nest = make_for(a.var, zero, make_int(a.extent), LoopKind::kSerial, nest);
  }
  std::vector<Stmt> body{make_store(sums, {zero}, reduce_identity(product->reduce, wide)),
                         make_store(bounds, {zero}, make_const(0, f64)), nest};
  Expr result = load(sums, {zero}), bound = load(bounds, {zero});
  if (out != product) {
    const Expr epilogue = substitute(out->body, at_coordinate(out));
    result = Widener(wide, false).widen(Epilogue(product->buffer, sums, flat)(epilogue));
    if (bounded) bound = Widener(f64, true).widen(Epilogue(product->buffer, bounds, flat)(epilogue));
  }
  body.push_back(make_store(value, {at}, result));
  body.push_back(make_store(magnitude, {at}, bound));
  return body;
}

}  // namespace

int64_t output_elements(const Workload& w) { return element_count(define(w).output->shape); }

Module reference_module(const Workload& w, int64_t sample_count, int workers) {
  const Definition d = define(w);
  const TensorNode* out = d.output.node().get();
  const TensorNode* product = reduction_of(d);
  const bool integers = !dtypes_of(w).accumulate.is_float();
  const DType wide = integers ? i64 : f64;

  Module m;
  m.workers = workers;
  Function f;
  f.name = "reference";
  const Buffer samples = make_buffer("samples", i64, std::vector<int64_t>{sample_count});
  f.params.push_back(samples);
  m.params.push_back({"samples", ParamRole::kInput, i64, {sample_count}, Layout::identity({sample_count})});
  std::vector<std::pair<Buffer, Buffer>> flat;
  for (const auto& [tensor, role] : d.inputs) {
    flat.emplace_back(tensor->buffer, make_buffer(tensor->name, tensor->buffer->dtype,
                                                  std::vector<int64_t>{element_count(tensor->shape)}));
    f.params.push_back(flat.back().second);
    m.params.push_back({tensor->name, role, tensor->buffer->dtype, tensor->shape, Layout::identity(tensor->shape)});
  }
  const Buffer value = make_buffer("value", wide, std::vector<int64_t>{sample_count}),
               magnitude = make_buffer("magnitude", f64, std::vector<int64_t>{sample_count});
  for (const Buffer& b : {value, magnitude}) {
    f.params.push_back(b);
    m.params.push_back({b->name, ParamRole::kOutput, b->dtype, {sample_count}, Layout::identity({sample_count})});
  }

  // Sample s is output element (i0, i1, …).
  const Var s("s");
  const Buffer axis =
      make_buffer("axis", i64, std::vector<int64_t>{static_cast<int64_t>(out->shape.size())}, BufferScope::kStack);
  std::vector<Stmt> body;
  std::vector<Expr> coordinate;
  Expr rest = load(samples, {s});
  for (size_t i = out->shape.size(); i-- > 0;) {
    // Bounded by construction also for a hostile sample: the modulus comes last.
    body.push_back(make_store(axis, {make_int(static_cast<int64_t>(i))}, floor_mod(rest, out->shape[i])));
    rest = floor_div(rest, out->shape[i]);
  }
  for (size_t i = 0; i < out->shape.size(); ++i) {
    // max(0, min(x, n-1)) is x; it tells the verifier what the stack does not remember.
    coordinate.push_back(
        max(make_int(0), min(load(axis, {make_int(static_cast<int64_t>(i))}), make_int(out->shape[i] - 1))));
  }

  const Buffer sums = make_buffer("sum", wide, std::vector<int64_t>{1}, BufferScope::kStack),
               bounds = make_buffer("bound", f64, std::vector<int64_t>{1}, BufferScope::kStack);
  if (product)
    for (Stmt& part : reduced_value(d, product, flat, coordinate, wide, sums, bounds, value, magnitude, s))
      body.push_back(std::move(part));
  else
    body.push_back(elementwise_reference(d, flat, coordinate, value, magnitude, s));
  Stmt all = make_seq(std::move(body));
  for (const Buffer& b : {sums, bounds, axis}) all = make_allocate(b, -1, all);
  f.body = simplify(make_for(s, make_int(0), make_int(sample_count), LoopKind::kParallel, all));
  m.kernels.push_back(std::move(f));
  return m;
}

ErrorBounds error_bounds(const Workload& w) {
  const DTypes types = dtypes_of(w);
  if (!types.accumulate.is_float()) return {};
  const double u = types.accumulate == f32 ? std::ldexp(1.0, -24) : std::ldexp(1.0, -53);
  // Besides, once for each element: a result rounded to 16 bits, two factors to tf32's 11 (which errs in either
  // direction: together they err less).
  const double once = types.out == f16    ? std::ldexp(1.0, -11)
                      : types.out == bf16 ? std::ldexp(1.0, -8)
                      : types.tf32        ? std::ldexp(1.0, -10)
                                          : 0;
  const Definition d = define(w);
  const TensorNode* reduction = reduction_of(d);
  // The magnitude is the sum of the rounding errors to first order: twice that for the rest, and in f64 for the
  // reference's own. Few values say little on average, and each is held to its own bound: the relative error of all
  // only has to make sense.
  if (!reduction) return {1, (types.accumulate == f32 ? 2 : 4) * u};
  if (reduction->reduce != ReduceKind::kSum) return {};
  constexpr int64_t kFewOutputs = 64;
  const auto k = static_cast<double>(reduction_length(d));
  // One sum of many numbers of both signs may be next to nothing.
  const bool cancels = std::any_cast<ReduceShape>(&w.shape) && output_elements(w) < kFewOutputs;
  return {cancels ? 1 : 4 * std::sqrt(k + 2) * u + once, (k + 4) * u + once};
}

std::vector<int64_t> reference_samples(const Workload& w, uint64_t seed, double budget) {
  constexpr size_t kLeast = 16384, kMost = 65536;  // they travel with every session: the wire takes 131,072
  constexpr int64_t kAll = int64_t{1} << 23;       // more than this are too many bytes, however cheap each is
  const Definition d = define(w);
  const std::vector<int64_t> shape = d.output->shape;
  const int64_t elements = element_count(shape);
  const auto k = static_cast<double>(reduction_length(d));
  if ((static_cast<double>(elements) * k <= budget && elements <= kAll) || elements <= static_cast<int64_t>(kLeast))
    return {};
  std::mt19937_64 rng(seed);
  std::set<int64_t> samples;
  std::vector<int64_t> at(shape.size());
  const auto add = [&] {
    int64_t index = 0;
    for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + at[d];
    samples.insert(index);
  };
  // Every corner; then, for each axis, its first and last few elements (edges, and the tails of any split) at random
  // places of the others.
  for (size_t corner = 0; corner < (size_t{1} << shape.size()); ++corner) {
    for (size_t d = 0; d < shape.size(); ++d) at[d] = corner >> d & 1 ? shape[d] - 1 : 0;
    add();
  }
  for (size_t axis = 0; axis < shape.size(); ++axis)
    for (int64_t edge = 0; edge < std::min<int64_t>(shape[axis], 64); ++edge)
      for (int draw = 0; draw < 16; ++draw) {
        for (size_t d = 0; d < shape.size(); ++d) at[d] = static_cast<int64_t>(rng() % static_cast<uint64_t>(shape[d]));
        // 0, n-1, 1, n-2, …
        at[axis] = edge % 2 == 0 ? edge / 2 : shape[axis] - 1 - edge / 2;
        add();
      }
  const size_t wanted = std::max<size_t>(kLeast, std::min<size_t>(static_cast<size_t>(budget / k), kMost));
  while (samples.size() < std::min<size_t>(wanted, static_cast<size_t>(elements))) {
    for (size_t d = 0; d < shape.size(); ++d) at[d] = static_cast<int64_t>(rng() % static_cast<uint64_t>(shape[d]));
    add();
  }
  return {samples.begin(), samples.end()};
}

}  // namespace hone
