#include "compiler/frontend/lowering/operators/pointwise_definition.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "compiler/ir/visitor.h"
#include "compiler/ops/functions/functions.h"

namespace hone::frontend {
namespace {

// The definition is no function of elements.
struct NotPointwise {};

constexpr int64_t kMostExpressionNodes = 96;  // of a stage's expression: longer ones are better off as a kernel of their own

// ---- expressions that are functions of the table ----

// Values of a pattern's variables.
using PatternMatches = std::map<const VarNode*, Expr>;

bool is_same_expr(const Expr& a, const Expr& b) {
  if (a.same_as(b)) return true;
  if (a->kind != b->kind || a->dtype != b->dtype) return false;
  switch (a->kind) {
    case ExprKind::kIntImm: return as<IntImm>(a)->value == as<IntImm>(b)->value;
    case ExprKind::kFloatImm: {  // -0 is another number than 0
      const double x = as<FloatImm>(a)->value, y = as<FloatImm>(b)->value;
      return std::memcmp(&x, &y, sizeof x) == 0;
    }
    case ExprKind::kCast: return is_same_expr(as<Cast>(a)->value, as<Cast>(b)->value);
    case ExprKind::kNot: return is_same_expr(as<Not>(a)->value, as<Not>(b)->value);
    case ExprKind::kBinary: {
      const auto *x = as<Binary>(a), *y = as<Binary>(b);
      return x->op == y->op && is_same_expr(x->a, y->a) && is_same_expr(x->b, y->b);
    }
    case ExprKind::kSelect: {
      const auto *x = as<Select>(a), *y = as<Select>(b);
      return is_same_expr(x->condition, y->condition) && is_same_expr(x->on_true, y->on_true) && is_same_expr(x->on_false, y->on_false);
    }
    case ExprKind::kLoad: {
      const auto *x = as<Load>(a), *y = as<Load>(b);
      return x->buffer.same_as(y->buffer) && std::equal(x->indices.begin(), x->indices.end(), y->indices.begin(),
                                                        y->indices.end(), &is_same_expr);
    }
    case ExprKind::kCall: {
      const auto *x = as<Call>(a), *y = as<Call>(b);
      return x->function == y->function && std::equal(x->args.begin(), x->args.end(), y->args.begin(), &is_same_expr);
    }
    default: return false;
  }
}

bool matches_pattern(const Expr& pattern, const Expr& e, PatternMatches* found) {
  if (const auto* v = as<VarNode>(pattern)) {
    const auto [at, is_new] = found->try_emplace(v, e);
    return is_new ? e->dtype == pattern->dtype : is_same_expr(at->second, e);
  }
  if (pattern->kind != e->kind || pattern->dtype != e->dtype) return false;
  switch (pattern->kind) {
    case ExprKind::kCast: return matches_pattern(as<Cast>(pattern)->value, as<Cast>(e)->value, found);
    case ExprKind::kNot: return matches_pattern(as<Not>(pattern)->value, as<Not>(e)->value, found);
    case ExprKind::kBinary: {
      const auto *p = as<Binary>(pattern), *b = as<Binary>(e);
      return p->op == b->op && matches_pattern(p->a, b->a, found) && matches_pattern(p->b, b->b, found);
    }
    case ExprKind::kSelect: {
      const auto *p = as<Select>(pattern), *s = as<Select>(e);
      return matches_pattern(p->condition, s->condition, found) && matches_pattern(p->on_true, s->on_true, found) &&
             matches_pattern(p->on_false, s->on_false, found);
    }
    case ExprKind::kCall: {
      const auto *p = as<Call>(pattern), *c = as<Call>(e);
      if (p->function != c->function) return false;
      for (size_t i = 0; i < p->args.size(); ++i)
        if (!matches_pattern(p->args[i], c->args[i], found)) return false;
      return true;
    }
    default: return is_same_expr(pattern, e);
  }
}

// A function of one value and numbers, with a variable for each.
struct FunctionPattern {
  std::string name;
  Expr body;
  Var x;
  std::vector<Var> numbers;
};

// The longest first.
std::vector<FunctionPattern> patterns_of(DType t) {
  std::vector<FunctionPattern> out;
  std::vector<std::pair<int, size_t>> order;
  const FunctionTable functions = standard_functions();
  for (const auto& row : functions.rows()) {
    const bool takes_tensors = row->operands() > 0;
    if (takes_tensors || row->needs_result || row->gives_bool || !row->takes(t)) continue;
    FunctionPattern p{row->name, nullptr, Var("x", t), {}};
    std::vector<Expr> arguments{p.x};
    for (size_t a = 0; a < row->arguments.size(); ++a) {
      p.numbers.emplace_back("number", t);
      arguments.emplace_back(p.numbers.back());
    }
    p.body = row->apply(arguments, t);
    if (p.body->kind == ExprKind::kVar) continue;
    order.emplace_back(-row->operations, out.size());
    out.push_back(std::move(p));
  }
  std::sort(order.begin(), order.end());
  std::vector<FunctionPattern> sorted;
  for (const auto& [operations, at] : order) sorted.push_back(out[at]);
  return sorted;
}

const std::vector<FunctionPattern>& float_patterns(DType t) {
  static const auto of = [](DType type) { return patterns_of(type); };
  static const std::vector<FunctionPattern> in_f32 = of(f32), in_f64 = of(f64), in_f16 = of(f16), in_bf16 = of(bf16);
  return t == f64 ? in_f64 : t == f16 ? in_f16 : t == bf16 ? in_bf16 : in_f32;
}

int64_t nodes_of_expr(const Expr& e) {
  struct Count : Visitor {
    int64_t nodes = 0;
    void visit(const Binary* b) override { ++nodes, Visitor::visit(b); }
    void visit(const Select* s) override { ++nodes, Visitor::visit(s); }
    void visit(const Call* c) override { ++nodes, Visitor::visit(c); }
    void visit(const Cast* c) override { ++nodes, Visitor::visit(c); }
    void visit(const Load*) override { ++nodes; }
  } count;
  count(e);
  return count.nodes;
}

// ---- stages as nodes ----

class StageLowering {
 public:
  StageLowering(Lowering& l, const Definition& d, const std::vector<Operand>& inputs) : l_(l) {
    for (size_t i = 0; i < inputs.size(); ++i) values_.emplace(d.inputs[i].first->buffer.get(), inputs[i]);
    for (const TensorNode* t : stages_of(d)) {
      stage_ = t;
      made_.clear();
      if (t->reduce != ReduceKind::kNone || nodes_of_expr(t->body) > kMostExpressionNodes) throw NotPointwise();
      values_.emplace(t->buffer.get(), l_.broadcast(value(t->body), t->shape));
    }
  }
  const Operand& of(const Tensor& t) const { return values_.at(t->buffer.get()); }

 private:
  Operand value(const Expr& e) {
    if (const auto known = made_.find(e.get()); known != made_.end()) return known->second;
    return made_.emplace(e.get(), new_value(e)).first->second;
  }

  Operand new_value(const Expr& e) {
    if (std::optional<Operand> of_row = by_row(e)) return *of_row;
    switch (e->kind) {
      case ExprKind::kIntImm: return number(static_cast<double>(as<IntImm>(e)->value), e->dtype);
      case ExprKind::kFloatImm: return number(as<FloatImm>(e)->value, e->dtype);
      case ExprKind::kCast: return l_.cast(value(as<Cast>(e)->value), e->dtype);
      case ExprKind::kNot: return l_.pointwise("not", {value(as<Not>(e)->value)});
      case ExprKind::kBinary: return binary_value(*as<Binary>(e));
      case ExprKind::kCall: return call_value(*as<Call>(e));
      case ExprKind::kLoad: return element(*as<Load>(e));
      case ExprKind::kSelect: {
        const auto* s = as<Select>(e);
        if (s->on_true->dtype.is_bool()) throw NotPointwise();
        return l_.pointwise("where", {value(s->on_true), value(s->condition), value(s->on_false)});
      }
      default: throw NotPointwise();  // an axis: the value depends on the position
    }
  }

  Operand number(double v, DType t) {
    if (!(t.is_float() || (t.is_integer() && std::abs(v) < 0x1p53))) throw NotPointwise();
    return l_.number(v, t);
  }

  std::optional<Operand> by_row(const Expr& e) {
    if (!e->dtype.is_float()) return std::nullopt;
    for (const FunctionPattern& p : float_patterns(e->dtype)) {
      PatternMatches found;
      if (!matches_pattern(p.body, e, &found) || !found.contains(p.x.get())) continue;
      std::string text = p.name;
      bool are_numbers = true;
      for (size_t n = 0; n < p.numbers.size(); ++n) {
        const auto at = found.find(p.numbers[n].get());
        const auto* number = at == found.end() ? nullptr : as<FloatImm>(at->second);
        are_numbers = are_numbers && number && std::isfinite(number->value);
        if (are_numbers) text += (n ? ";" : "[") + number_text(number->value, e->dtype);
      }
      if (!are_numbers || found.at(p.x.get())->kind == ExprKind::kFloatImm) continue;
      return l_.pointwise(text + (p.numbers.empty() ? "" : "]"), {value(found.at(p.x.get()))});
    }
    return std::nullopt;
  }

  Operand binary_value(const Binary& b) {
    const bool is_bool = b.a->dtype.is_bool();
    const char* function = nullptr;
    switch (b.op) {
      case BinaryOp::kAdd: function = "add"; break;
      case BinaryOp::kSub: function = "sub"; break;
      case BinaryOp::kMul: function = "mul"; break;
      case BinaryOp::kDiv: function = "div"; break;
      case BinaryOp::kMin: function = "minimum"; break;
      case BinaryOp::kMax: function = "maximum"; break;
      case BinaryOp::kEq: function = "equal"; break;
      case BinaryOp::kNe: function = "not_equal"; break;
      case BinaryOp::kLt: function = "less"; break;
      case BinaryOp::kLe: function = "less_equal"; break;
      case BinaryOp::kAnd: function = "and"; break;
      case BinaryOp::kOr: function = "or"; break;
      default: throw NotPointwise();
    }
    const bool is_logical = b.op == BinaryOp::kAnd || b.op == BinaryOp::kOr;
    if (is_bool != is_logical) throw NotPointwise();
    return l_.pointwise(function, {value(b.a), value(b.b)});
  }

  Operand call_value(const Call& c) {
    if (c.args.size() != 1) throw NotPointwise();
    const std::string name = c.function == Intrinsic::kRint ? "round" : std::string(name_of(c.function));
    return l_.pointwise(name, {value(c.args[0])});
  }

  // Under the stage's axes: each index is one of them, in their order, or the only position there is.
  Operand element(const Load& load) {
    const auto at = values_.find(load.buffer.get());
    if (at == values_.end()) throw NotPointwise();
    const Operand& x = at->second;
    Extents shape(stage_->axes.size(), 1);
    size_t next = 0;
    for (size_t d = 0; d < load.indices.size(); ++d) {
      const int64_t extent = as_const_int(load.buffer->shape[d]).value_or(-1);
      if (is_const(load.indices[d], 0) && extent == 1) continue;
      while (next < stage_->axes.size() && stage_->axes[next].var.get() != load.indices[d].get()) ++next;
      if (next == stage_->axes.size() || stage_->axes[next].extent != extent) throw NotPointwise();
      shape[next++] = extent;
    }
    return l_.reshape(x, shape);
  }

  Lowering& l_;
  const TensorNode* stage_ = nullptr;
  std::map<const BufferNode*, Operand> values_;
  std::map<const ExprNode*, Operand> made_;  // of the stage
};

bool may_be_pointwise(const Definition& d) {
  const std::vector<const TensorNode*> stages = stages_of(d);
  return std::all_of(stages.begin(), stages.end(), [](const TensorNode* t) {
    struct Positions : Visitor {
      bool depends = false;
      void visit(const VarNode*) override { depends = true; }
      void visit(const Load* l) override {
        for (const Expr& i : l->indices) depends = depends || !(i->kind == ExprKind::kVar || is_const(i, 0));
      }
    } positions;
    positions(t->body);
    return !positions.depends && t->reduce == ReduceKind::kNone && nodes_of_expr(t->body) <= kMostExpressionNodes;
  });
}

}  // namespace

std::optional<std::vector<Operand>> as_elementwise(Lowering& l, const Definition& d,
                                                   const std::vector<Operand>& inputs) {
  if (!may_be_pointwise(d)) return std::nullopt;
  try {
    const StageLowering stages(l, d, inputs);
    std::vector<Operand> out;
    for (const Tensor& t : d.outputs) out.push_back(stages.of(t));
    for (size_t o = 0; o < out.size(); ++o) {
      const TensorType wanted{d.outputs[o]->buffer->dtype, d.outputs[o]->shape};
      if (out[o].type != wanted) return std::nullopt;
    }
    return out;
  } catch (const NotPointwise&) {  // nodes that were added are dead
    return std::nullopt;
  } catch (const UserError&) {  // an element type that a function of the table does not take
    return std::nullopt;
  }
}

}  // namespace hone::frontend
