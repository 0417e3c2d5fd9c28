#include "compiler/frontend/lowering/operators/function_patterns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "compiler/frontend/lowering/lowering.h"
#include "compiler/ops/functions/functions.h"

namespace hone::frontend {
namespace {

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
      return is_same_expr(x->condition, y->condition) && is_same_expr(x->on_true, y->on_true) &&
             is_same_expr(x->on_false, y->on_false);
    }
    case ExprKind::kLoad: {
      const auto *x = as<Load>(a), *y = as<Load>(b);
      return x->buffer.same_as(y->buffer) &&
             std::equal(x->indices.begin(), x->indices.end(), y->indices.begin(), y->indices.end(), &is_same_expr);
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
    // Functions of numbers of 16 bits are known step by step, and in f32 with one rounding.
    for (const bool wide : {false, true}) {
      if (wide && !is_wide(*row, t)) continue;
      FunctionPattern p{row->name, nullptr, Var("x", t), {}};
      std::vector<Expr> arguments{p.x};
      for (size_t a = 0; a < row->arguments.size(); ++a) {
        p.numbers.emplace_back("number", wide ? f32 : t);
        arguments.emplace_back(p.numbers.back());
      }
      p.body = wide ? applied(*row, arguments, t) : row->apply(arguments, t);
      if (p.body->kind == ExprKind::kVar) continue;
      order.emplace_back(-row->operations, out.size());
      out.push_back(std::move(p));
    }
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

}  // namespace

std::optional<FunctionOfTable> function_of_table(const Expr& e) {
  if (!e->dtype.is_float()) return std::nullopt;
  for (const FunctionPattern& p : float_patterns(e->dtype)) {
    PatternMatches found;
    if (!matches_pattern(p.body, e, &found) || !found.contains(p.x.get())) continue;
    const Expr& x = found.at(p.x.get());
    std::string text = p.name;
    bool are_numbers = x->kind != ExprKind::kFloatImm;
    for (size_t n = 0; n < p.numbers.size() && are_numbers; ++n) {
      const auto at = found.find(p.numbers[n].get());
      const auto* number = at == found.end() ? nullptr : as<FloatImm>(at->second);
      are_numbers = number && std::isfinite(number->value);
      if (are_numbers) text += (n ? ";" : "[") + number_text(number->value, e->dtype);
    }
    if (are_numbers) return FunctionOfTable{text + (p.numbers.empty() ? "" : "]"), x};
  }
  return std::nullopt;
}

}  // namespace hone::frontend
