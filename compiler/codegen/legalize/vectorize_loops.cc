// for i in 0..16 vectorize: C[j*16+i] = A[i] * B[j]   ->   C[ramp(j*16,1,16)] = A[ramp(0,1,16)] * broadcast(B[j],16)
#include <algorithm>
#include <bit>

#include "compiler/codegen/legalize/conditions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/legalize/vector_body.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

Expr widen(Expr e, int lanes) { return e->dtype.is_vector() ? std::move(e) : Expr(new Broadcast(std::move(e), lanes)); }

// A loop body for `lanes` values of `var` from `lo` on. Expressions that do not depend on `var` stay scalar until a
// vector needs them.
class BodyVectorizer {
 public:
  BodyVectorizer(const VarNode* var, Expr lo, int lanes) : var_(var), lo_(std::move(lo)), lanes_(lanes) {}

  Stmt statement(const Stmt& s, const Expr& mask) {
    switch (s->kind) {
      case StmtKind::kSeq: {
        std::vector<Stmt> out;
        for (const Stmt& inner : as<Seq>(s)->stmts) out.push_back(statement(inner, mask));
        return make_seq(std::move(out));
      }
      case StmtKind::kStore: {
        const Store* op = as<Store>(s);
        if (const Select* choice = as<Select>(op->value); choice && is_alike_in_lanes(choice->condition))
          return make_if(condition(choice->condition), statement(with_value(op, choice->on_true), mask),
                         statement(with_value(op, choice->on_false), mask));
        const Expr own = op->mask ? both(mask, expr(op->mask)) : mask;
        return make_store(op->buffer, {widen(expr(op->indices[0]), lanes_)}, widen(expr(op->value), lanes_),
                          own ? widen(own, lanes_) : own);
      }
      case StmtKind::kIf: return conditional(as<If>(s), mask);
      case StmtKind::kPrefetch: return make_seq({});  // a prefetch is a hint: one for each lane is not worth it
      default: break;
    }
    HONE_ICHECK(false) << "a loop or allocation inside a vector loop reached its vectorizer";
  }

 private:
  static Expr both(const Expr& a, const Expr& b) {
    if (!a) return b;
    const int lanes = std::max(a->dtype.lanes, b->dtype.lanes);
    return lanes == 1 ? logical_and(a, b) : logical_and(widen(a, lanes), widen(b, lanes));
  }

  static Stmt with_value(const Store* op, const Expr& value) {
    return make_store(op->buffer, op->indices, value, op->mask);
  }

  // Whether the constant and every coefficient is a multiple of the lanes. So is 2^64: it holds where sums wrap around.
  bool counts_vectors(const Linear& form) const {
    return form.constant % lanes_ == 0 && std::all_of(form.terms.begin(), form.terms.end(), [&](const Linear::Term& t) {
             return t.coefficient % lanes_ == 0;
           });
  }
  // x + v < n and n <= x + v, where x, n and the first v are multiples of the lanes: it has one value for all lanes.
  bool is_alike_in_lanes(const Expr& condition) const {
    const Binary* c = as<Binary>(condition);
    if (!c || (c->op != BinaryOp::kLt && c->op != BinaryOp::kLe) || c->a->dtype != kIndex) return false;
    const auto walked = strided_in(c->op == BinaryOp::kLt ? c->a : c->b, var_),
               bound = strided_in(c->op == BinaryOp::kLt ? c->b : c->a, var_);
    const auto first = linear_of(lo_);
    return walked && bound && first && walked->stride == 1 && bound->stride == 0 && counts_vectors(*first) &&
           counts_vectors(walked->rest) && counts_vectors(bound->rest);
  }
  // A condition that is alike in all lanes, for the first of them; else as it is for each.
  Expr condition(const Expr& c) { return is_alike_in_lanes(c) ? substitute(c, {{var_, lo_}}) : expr(c); }

  Stmt conditional(const If* op, const Expr& mask) {
    // Parts that are alike in all lanes become branches around the others.
    const std::vector<Expr> parts = conjuncts(op->condition);
    if (parts.size() > 1 && !op->else_case) {
      Stmt inner = op->then_case;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) inner = make_if(*part, std::move(inner));
      return statement(inner, mask);
    }
    const Expr c = condition(op->condition);
    if (!c->dtype.is_vector())
      return make_if(c, statement(op->then_case, mask), op->else_case ? statement(op->else_case, mask) : Stmt());
    std::vector<Stmt> out;
    out.push_back(statement(op->then_case, both(mask, c)));
    if (op->else_case) out.push_back(statement(op->else_case, both(mask, logical_not(c))));
    return make_seq(std::move(out));
  }

  Expr expr(const Expr& e) {
    if (!uses_var(e, var_)) return e;
    if (e->dtype == kIndex)
      if (const auto form = strided_in(e, var_)) {
        const Expr base = form->rest.to_expr() + lo_ * form->stride;
        return form->stride == 0 ? base : Expr(new Ramp(base, make_int(form->stride), lanes_));
      }
    switch (e->kind) {
      case ExprKind::kCast: {
        Expr v = expr(as<Cast>(e)->value);
        const DType t = e->dtype.with_lanes(v->dtype.lanes);
        return cast(t, std::move(v));
      }
      case ExprKind::kBinary: {
        const Binary* op = as<Binary>(e);
        Expr a = expr(op->a), b = expr(op->b);
        if (a->dtype.is_vector() || b->dtype.is_vector()) a = widen(a, lanes_), b = widen(b, lanes_);
        return binary(op->op, std::move(a), std::move(b));
      }
      case ExprKind::kNot: return logical_not(expr(as<Not>(e)->value));
      case ExprKind::kSelect: {
        const Select* op = as<Select>(e);
        return select(widen(expr(op->condition), lanes_), widen(expr(op->on_true), lanes_),
                      widen(expr(op->on_false), lanes_));
      }
      case ExprKind::kLoad: return load(as<Load>(e)->buffer, {expr(as<Load>(e)->indices[0])});
      case ExprKind::kCall: {
        std::vector<Expr> args;
        for (const Expr& a : as<Call>(e)->args) args.push_back(widen(expr(a), lanes_));
        return call(as<Call>(e)->function, std::move(args));
      }
      default: break;
    }
    HONE_ICHECK(false) << "vector form inside a vector loop";
  }

  const VarNode* var_;
  const Expr lo_;
  const int lanes_;
};

class LoopVectorizer final : public Mutator {
 public:
  explicit LoopVectorizer(int vector_bits) : vector_bits_(vector_bits) {}

 protected:
  using Mutator::visit;

  Stmt visit(const For* op) override {
    if (op->loop != LoopKind::kVectorize) return Mutator::visit(op);
    const auto extent = as_const_int(op->extent);
    HONE_ICHECK(extent) << "vector loop " << op->var->name << " has no constant extent";
    if (Stmt cases = uniform_cases(op)) return cases;
    VectorBody body;
    body(op->body);
    const int64_t lanes = body.lanes(vector_bits_);
    if (body.has_inner_scope || body.condition_may_fault || lanes == 1 ||
        !lanes_are_independent(body, op->var.get(), std::min(lanes, *extent))) {
      // Copies keep the indices of stack buffers constant; with more copies than this a plain loop is shorter code.
      const LoopKind kind = *extent <= kMaxCopies ? LoopKind::kUnroll : LoopKind::kSerial;
      return make_for(op->var, op->min, op->extent, kind, (*this)(op->body));
    }
    std::vector<Stmt> out;
    int64_t done = 0;
    if (*extent / lanes > kMaxPieces) {
      const Var piece(op->var->name, op->var->dtype);
      const int64_t pieces = *extent / lanes;
      out.push_back(make_for(piece, make_int(0), make_int(pieces), LoopKind::kSerial,
                             vectorized(op, op->min + Expr(piece) * lanes, static_cast<int>(lanes))));
      done = pieces * lanes;
    }
    while (done < *extent) {
      const int n = static_cast<int>(std::min<int64_t>(lanes, std::bit_floor(static_cast<uint64_t>(*extent - done))));
      out.push_back(n == 1 ? clone_with(op->body, op->var, op->min + done) : vectorized(op, op->min + done, n));
      done += n;
    }
    return make_seq(std::move(out));
  }

 private:
  static constexpr int64_t kMaxCopies = 64, kMaxPieces = 16;

  // for v: A[v] = select(c, x, y)   ->   if (c) for v: A[v] = x  else for v: A[v] = y      one branch for all vectors,
  // and x needs no guard. Null when the body is not of that form.
  Stmt uniform_cases(const For* op) {
    const Store* store = as<Store>(op->body);
    const Select* value = store && !store->mask ? as<Select>(store->value) : nullptr;
    if (!value || value->condition->dtype.is_vector() || uses_var(value->condition, op->var.get()) ||
        !is_index_arithmetic(value->condition))
      return Stmt();
    const Stmt then =
        make_for(op->var, op->min, op->extent, op->loop, make_store(store->buffer, store->indices, value->on_true));
    const Var other(op->var->name, op->var->dtype);
    const Stmt otherwise = clone_with(make_store(store->buffer, store->indices, value->on_false), op->var, Expr(other));
    return make_if(value->condition, (*this)(then), (*this)(make_for(other, op->min, op->extent, op->loop, otherwise)));
  }

  static Stmt vectorized(const For* op, Expr lo, int lanes) {
    return BodyVectorizer(op->var.get(), std::move(lo), lanes).statement(op->body, nullptr);
  }
  const int vector_bits_;
};

}  // namespace

Stmt vectorize_loops(const Stmt& s, int vector_bits) { return LoopVectorizer(vector_bits)(s); }

}  // namespace hone
