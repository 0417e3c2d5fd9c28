// for ow unroll: for c vectorize: acc[ow, c] = acc[ow, c] + select(0 <= y + kh && 0 <= x + ow, data[…], 0) * w[c]
// ->   if (0 <= y + kh) for ow unroll: if (0 <= x + ow) for c vectorize: acc[ow, c] = acc[ow, c] + data[…] * w[c]
//
// for c vectorize: out[row, c] = select(row < 58, a[row, c], b[row - 58, c])
// ->   if (row < 58) for c vectorize: out[row, c] = a[row, c]
//      else          for c vectorize: out[row, c] = b[row - 58, c]
#include <algorithm>

#include "compiler/codegen/legalize/conditions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

bool is_zero(const Expr& e) {
  if (const FloatImm* f = as<FloatImm>(e)) return f->value == 0;
  return is_const(e, 0);
}

Expr conjunction(const std::vector<Expr>& parts) {
  Expr all;
  for (const Expr& p : parts) all = all ? logical_and(all, p) : p;
  return all;
}

class ConditionHoister final : public Mutator {
 protected:
  using Mutator::visit;

  Stmt visit(const Store* op) override {
    if (op->mask) return Stmt(op);
    if (const Select* choice = as<Select>(op->value)) return one_of(op, choice);
    // A product with padding's zero adds nothing: it is skipped.
    const Binary* sum = as<Binary>(op->value);
    if (!sum || sum->op != BinaryOp::kAdd) return Stmt(op);
    const Binary* product = as<Binary>(sum->b);
    const Load* old = as<Load>(sum->a);
    if (!old || !old->buffer.same_as(op->buffer)) return Stmt(op);
    if (!std::equal(old->indices.begin(), old->indices.end(), op->indices.begin(), op->indices.end(),
                    [](const Expr& a, const Expr& b) { return equal(a, b); }))
      return Stmt(op);
    if (const Call* dot = as<Call>(sum->b); dot && is_dot(dot->function)) return without_border(op, sum, dot);
    if (!product || product->op != BinaryOp::kMul) return Stmt(op);
    const bool left = as<Select>(product->a);
    const Select* padded = as<Select>(left ? product->a : product->b);
    if (!padded || !is_zero(padded->on_false) || !is_index_arithmetic(padded->condition)) return Stmt(op);
    const auto [uniform, varying] = parts_of(padded->condition);
    if (uniform.empty()) return Stmt(op);
    const Expr rest =
        varying.empty() ? padded->on_true : select(conjunction(varying), padded->on_true, padded->on_false);
    const Expr value = sum->a + (left ? rest * product->b : product->a * rest);
    return make_if(conjunction(uniform), make_store(op->buffer, op->indices, value));
  }

  // A vector is copied from one of several positions: a branch selects the position when the condition is the same in
  // all lanes. (Borders of constants are left to peel_borders and version_borders.)
  Stmt one_of(const Store* op, const Select* choice) const {
    if (!vector_var_ || !is_index_arithmetic(choice->condition) || !is_position(choice->on_true) ||
        !is_position(choice->on_false))
      return Stmt(op);
    const auto [uniform, varying] = parts_of(choice->condition);
    if (uniform.empty()) return Stmt(op);
    const auto stored = [&](const Expr& value) {
      const Stmt store = make_store(op->buffer, op->indices, value);
      const Select* inner = as<Select>(value);
      return inner ? one_of(as<Store>(store), inner) : store;
    };
    const Expr rest =
        varying.empty() ? choice->on_true : select(conjunction(varying), choice->on_true, choice->on_false);
    return make_if(conjunction(uniform), stored(rest), stored(choice->on_false));
  }

  static bool is_position(const Expr& e) {
    const Select* choice = as<Select>(e);
    return choice ? is_position(choice->on_true) && is_position(choice->on_false) : as<Load>(e) != nullptr;
  }

  // The parts of a condition that are the same in all lanes, and the others.
  std::pair<std::vector<Expr>, std::vector<Expr>> parts_of(const Expr& condition) const {
    std::pair<std::vector<Expr>, std::vector<Expr>> parts;
    for (const Expr& part : conjuncts(condition))
      (vector_var_ && uses_var(part, vector_var_) ? parts.second : parts.first).push_back(part);
    return parts;
  }

  // For several products at once: hoists the conditions that all of them have.
  Stmt without_border(const Store* op, const Binary* sum, const Call* dot) const {
    std::vector<Expr> common;
    const size_t products = dot->args.size() / 2;
    for (size_t t = 0; t < products; ++t) {
      const Select* padded = as<Select>(dot->args[t]);
      if (!padded || !is_zero(padded->on_false) || !is_index_arithmetic(padded->condition)) return Stmt(op);
      std::vector<Expr> parts = conjuncts(padded->condition);
      if (t > 0) std::erase_if(common, [&](const Expr& c) { return !contains(parts, c); });
      if (t == 0)
        for (const Expr& part : parts)
          if (!vector_var_ || !uses_var(part, vector_var_)) common.push_back(part);
    }
    if (common.empty()) return Stmt(op);
    std::vector<Expr> args = dot->args;
    for (size_t t = 0; t < products; ++t) {
      const Select* padded = as<Select>(dot->args[t]);
      std::vector<Expr> rest = conjuncts(padded->condition);
      std::erase_if(rest, [&](const Expr& c) { return contains(common, c); });
      args[t] = rest.empty() ? padded->on_true : select(conjunction(rest), padded->on_true, padded->on_false);
    }
    return make_if(conjunction(common),
                   make_store(op->buffer, op->indices, sum->a + call(dot->function, std::move(args))));
  }
  static bool contains(const std::vector<Expr>& all, const Expr& e) {
    return std::any_of(all.begin(), all.end(), [&](const Expr& other) { return equal(other, e); });
  }

  Stmt visit(const For* op) override {
    const VarNode* outer = vector_var_;
    if (op->loop == LoopKind::kVectorize) vector_var_ = op->var.get();
    Stmt walked = Mutator::visit(op);
    vector_var_ = outer;
    return out_of_loop(walked);
  }

  // The conditions at the start of a loop's body that the loop does not change stand around the loop.
  static Stmt out_of_loop(const Stmt& walked) {
    const For* loop = as<For>(walked);
    if (!loop || is_concurrent(loop->loop)) return walked;  // nested so deep, these stay
    std::vector<Expr> fixed, varying;
    Stmt body = loop->body;
    for (const If* test = as<If>(body); test && !test->else_case; test = as<If>(body)) {
      if (!is_index_arithmetic(test->condition)) return walked;
      for (const Expr& part : conjuncts(test->condition))
        (uses_var(part, loop->var.get()) ? varying : fixed).push_back(part);
      body = test->then_case;
    }
    const If* choice = as<If>(body);  // with two branches
    if (choice && (!is_index_arithmetic(choice->condition) || uses_var(choice->condition, loop->var.get())))
      choice = nullptr;
    if (fixed.empty() && !choice) return walked;
    const auto looped = [&](const Stmt& s) {
      return make_for(loop->var, loop->min, loop->extent, loop->loop,
                      varying.empty() ? s : make_if(conjunction(varying), s));
    };
    Stmt out;
    if (choice) {
      // Two copies may not define the same variables: the second gets fresh ones.
      const Stmt second = clone_with(looped(choice->else_case), loop->var, Expr(loop->var));
      out = make_if(choice->condition, out_of_loop(looped(choice->then_case)), out_of_loop(second));
    } else {
      out = looped(body);
    }
    return fixed.empty() ? out : make_if(conjunction(fixed), std::move(out));
  }

 private:
  const VarNode* vector_var_ = nullptr;
};

}  // namespace

Stmt hoist_conditions(const Stmt& s) { return ConditionHoister()(s); }

}  // namespace hone
