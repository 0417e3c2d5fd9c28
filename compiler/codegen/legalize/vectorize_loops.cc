// for i in 0..16 vectorize: C[j*16+i] = A[i] * B[j]   ->   C[ramp(j*16,1,16)] = A[ramp(0,1,16)] * broadcast(B[j],16)
#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/arith/linear.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// The index of an access as stride * var + rest, with `rest` free of var. Nothing when it is not of that form.
struct Strided {
  int64_t stride = 0;
  Linear rest;
};
std::optional<Strided> strided_in(const Expr& index, const VarNode* var) {
  auto form = linear_of(index);
  if (!form) return std::nullopt;
  Strided out;
  for (Linear::Term& t : form->terms) {
    if (t.atom.get() == var)
      out.stride = t.coefficient;
    else if (uses_var(t.atom, var))
      return std::nullopt;
    else
      out.rest.terms.push_back(std::move(t));
  }
  out.rest.constant = form->constant;
  return out;
}

// What a loop body does, as far as vectorizing it depends on that.
class BodyFacts final : public Visitor {
 public:
  struct Access {
    const BufferNode* buffer;
    Expr index;
    bool is_store;
  };
  std::vector<Access> accesses;
  int64_t widest_bytes = 1;
  bool has_inner_scope = false;         // a loop or an allocation
  bool condition_may_fault = false;     // a condition of an If that loads or divides by a variable

 protected:
  using Visitor::visit;
  void visit(const For*) override { has_inner_scope = true; }
  void visit(const Allocate*) override { has_inner_scope = true; }
  void visit(const Store* op) override {
    add(op->buffer, op->indices, true);
    if (op->mask) visit_condition(op->mask);
    Visitor::visit(op);
  }
  void visit(const If* op) override {
    visit_condition(op->condition);
    Visitor::visit(op);
  }
  void visit(const Load* op) override {
    if (in_condition_) condition_may_fault = true;
    add(op->buffer, op->indices, false);
    in_index_ = true;
    Visitor::visit(op);
    in_index_ = false;
  }
  void visit(const Binary* op) override {
    const bool divides = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
    if (in_condition_ && divides && !as_const_int(op->b)) condition_may_fault = true;
    Visitor::visit(op);
  }
  void visit(const Cast* op) override {
    if (!in_index_ && !in_condition_) widest_bytes = std::max(widest_bytes, op->dtype.lane_bytes());
    Visitor::visit(op);
  }

 private:
  void add(const Buffer& b, const std::vector<Expr>& indices, bool is_store) {
    HONE_ICHECK(indices.size() == 1) << "access to " << b->name << " is not flat";
    accesses.push_back({b.get(), indices[0], is_store});
    widest_bytes = std::max(widest_bytes, b->dtype.lane_bytes());
  }
  void visit_condition(const Expr& e) {
    in_condition_ = true;
    (*this)(e);
    in_condition_ = false;
  }
  bool in_index_ = false, in_condition_ = false;
};

// True when no two of `lanes` neighbouring iterations touch one element through x and y.
bool lanes_are_disjoint(const Strided& x, const Strided& y, int64_t lanes) {
  if (x.stride != y.stride || x.stride == 0 || x.stride == INT64_MIN) return false;
  const auto difference = add(x.rest, y.rest, -1);
  if (!difference || difference->constant == INT64_MIN) return false;
  // x in lane p meets y in lane q where stride * (q - p) == difference; the difference is its constant modulo g (0: exactly).
  int64_t g = 0;
  for (const Linear::Term& t : difference->terms) {
    if (t.coefficient == INT64_MIN) return false;
    g = std::gcd(g, t.coefficient);
  }
  for (int64_t apart = -(lanes - 1); apart < lanes; ++apart) {
    int64_t gap;
    if (apart == 0) continue;
    if (__builtin_mul_overflow(x.stride, apart, &gap) || __builtin_sub_overflow(gap, difference->constant, &gap)) return false;
    if (g == 0 ? gap == 0 : gap % g == 0) return false;
  }
  return true;
}

// No lane may see or overwrite what another lane of the same vector stored.
bool lanes_are_independent(const BodyFacts& body, const VarNode* var, int64_t lanes) {
  for (const auto& store : body.accesses) {
    if (!store.is_store) continue;
    const auto x = strided_in(store.index, var);
    if (!x) return false;
    for (const auto& other : body.accesses) {
      // By name: a checked access goes through an alias of its buffer that has the same one.
      if (other.buffer->name != store.buffer->name) continue;
      const auto y = strided_in(other.index, var);
      if (!y || !lanes_are_disjoint(*x, *y, lanes)) return false;
    }
  }
  return true;
}

Expr widen(Expr e, int lanes) {
  return e->dtype.is_vector() ? std::move(e) : Expr(new Broadcast(std::move(e), lanes));
}

// A loop body for `lanes` values of `var` from `lo` on. Expressions that do not depend on `var` stay scalar until a vector needs them.
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
        const Expr own = op->mask ? both(mask, expr(op->mask)) : mask;
        return make_store(op->buffer, {widen(expr(op->indices[0]), lanes_)}, widen(expr(op->value), lanes_), own ? widen(own, lanes_) : own);
      }
      case StmtKind::kIf: return conditional(as<If>(s), mask);
      case StmtKind::kPrefetch: return make_seq({});  // a hint, which one lane would not be worth
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

  Stmt conditional(const If* op, const Expr& mask) {
    const Expr c = expr(op->condition);
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
        return select(widen(expr(op->condition), lanes_), widen(expr(op->on_true), lanes_), widen(expr(op->on_false), lanes_));
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
  explicit LoopVectorizer(int vector_bits) : vector_bytes_(vector_bits / 8) {}

 protected:
  using Mutator::visit;

  Stmt visit(const For* op) override {
    if (op->loop != LoopKind::kVectorize) return Mutator::visit(op);
    const auto extent = as_const_int(op->extent);
    HONE_ICHECK(extent) << "vector loop " << op->var->name << " has no constant extent";
    BodyFacts body;
    body(op->body);
    const int64_t lanes = std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(vector_bytes_ / body.widest_bytes, 1, 64)));
    if (body.has_inner_scope || body.condition_may_fault || lanes == 1 ||
        !lanes_are_independent(body, op->var.get(), std::min(lanes, *extent))) {
      // Copies keep the indices of stack buffers constant; past that a plain loop says the same in less code.
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

  static Stmt vectorized(const For* op, Expr lo, int lanes) {
    return BodyVectorizer(op->var.get(), std::move(lo), lanes).statement(op->body, nullptr);
  }
  const int64_t vector_bytes_;
};

}  // namespace

Stmt vectorize_loops(const Stmt& s, int vector_bits) { return LoopVectorizer(vector_bits)(s); }

}  // namespace hone
