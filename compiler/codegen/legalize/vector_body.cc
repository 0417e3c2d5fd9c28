#include "compiler/codegen/legalize/vector_body.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/ir/mutator.h"

namespace hone {
namespace {

// True when no two of `lanes` neighbouring iterations touch one element through x and y.
bool lanes_are_disjoint(const Strided& x, const Strided& y, int64_t lanes) {
  if (x.stride != y.stride || x.stride == 0 || x.stride == INT64_MIN) return false;
  const auto difference = add(x.rest, y.rest, -1);
  if (!difference || difference->constant == INT64_MIN) return false;
  // x in lane p meets y in lane q where stride * (q - p) == difference; the difference is its constant modulo g (0:
  // exactly).
  int64_t g = 0;
  for (const Linear::Term& t : difference->terms) {
    if (t.coefficient == INT64_MIN) return false;
    g = std::gcd(g, t.coefficient);
  }
  for (int64_t apart = -(lanes - 1); apart < lanes; ++apart) {
    int64_t gap;
    if (apart == 0) continue;
    if (__builtin_mul_overflow(x.stride, apart, &gap) || __builtin_sub_overflow(gap, difference->constant, &gap))
      return false;
    if (g == 0 ? gap == 0 : gap % g == 0) return false;
  }
  return true;
}

}  // namespace

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

int64_t VectorBody::lanes(int vector_bits) const {
  return static_cast<int64_t>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(vector_bits / 8 / widest_bytes, 1, 64))));
}

void VectorBody::visit(const Store* op) {
  add(op->buffer, op->indices, true);
  if (op->mask) visit_condition(op->mask);
  Visitor::visit(op);
}

void VectorBody::visit(const If* op) {
  visit_condition(op->condition);
  Visitor::visit(op);
}

void VectorBody::visit(const Load* op) {
  if (in_condition_) condition_may_fault = true;
  add(op->buffer, op->indices, false);
  in_index_ = true;
  Visitor::visit(op);
  in_index_ = false;
}

void VectorBody::visit(const Binary* op) {
  const bool divides = op->op == BinaryOp::kFloorDiv || op->op == BinaryOp::kFloorMod;
  if (in_condition_ && divides && !as_const_int(op->b)) condition_may_fault = true;
  Visitor::visit(op);
}

void VectorBody::visit(const Cast* op) {
  if (!in_index_ && !in_condition_) widest_bytes = std::max(widest_bytes, op->dtype.lane_bytes());
  Visitor::visit(op);
}

void VectorBody::add(const Buffer& b, const std::vector<Expr>& indices, bool is_store) {
  HONE_ICHECK(indices.size() == 1) << "access to " << b->name << " is not flat";
  accesses.push_back({b.get(), indices[0], is_store});
  widest_bytes = std::max(widest_bytes, b->dtype.lane_bytes());
}

void VectorBody::visit_condition(const Expr& e) {
  in_condition_ = true;
  (*this)(e);
  in_condition_ = false;
}

bool lanes_are_independent(const VectorBody& body, const VarNode* var, int64_t lanes) {
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

}  // namespace hone
