#include "compiler/schedule/region.h"

#include <algorithm>

#include "compiler/arith/simplify.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

void push_loops_below(TreeNode* node, Facts* facts) {
  for (const auto& child : node->children) {
    if (child->is_loop()) facts->push_range(child->var.get(), 0, child->extent - 1);
    push_loops_below(child.get(), facts);
  }
}

class FixedOnly final : public Visitor {
 public:
  explicit FixedOnly(const std::vector<const VarNode*>& fixed) : fixed_(fixed) {}
  bool holds = true;

 protected:
  using Visitor::visit;
  void visit(const VarNode* op) override { holds &= std::find(fixed_.begin(), fixed_.end(), op) != fixed_.end(); }

 private:
  const std::vector<const VarNode*>& fixed_;
};

bool is_sum_of_variables(const Expr& index) {
  const auto linear = linear_of(index);
  return linear && std::all_of(linear->terms.begin(), linear->terms.end(),
                               [](const Linear::Term& t) { return t.atom->kind == ExprKind::kVar; });
}

// One dimension of one access: fixed part + [lo, hi].
struct Span {
  Linear fixed;
  int64_t lo = 0, hi = 0;
};

std::optional<Span> span_of(const Expr& index, const std::vector<const VarNode*>& fixed, const Facts& facts) {
  const auto linear = linear_of(index);
  if (!linear) return std::nullopt;
  Span span;
  Linear running;
  for (const Linear::Term& t : linear->terms) {
    FixedOnly only(fixed);
    only(t.atom);
    (only.holds ? span.fixed : running).terms.push_back(t);
  }
  running.constant = linear->constant;
  const Interval range = facts.bounds(running);
  if (range.lo == Interval::kMin || range.hi == Interval::kMax) return std::nullopt;
  span.lo = range.lo;
  span.hi = range.hi;
  return span;
}

}  // namespace

Facts loop_facts(TreeNode* node) {
  Facts facts;
  for (TreeNode* n = node; n; n = n->parent)
    if (n->is_loop()) facts.push_range(n->var.get(), 0, n->extent - 1);
  push_loops_below(node, &facts);
  return facts;
}

std::vector<std::vector<Expr>> accesses_below(TreeNode* node, const Buffer& buffer, bool stores, bool loads) {
  std::vector<std::vector<Expr>> out;
  for_each_block(node, [&](Block& block, TreeNode* leaf) {
    const bool writes = stores && block.out.same_as(buffer);
    const bool loads_it = loads && reads(block, buffer);
    if (!writes && !loads_it) return;
    const VarMap bindings = block.bindings();
    Facts facts;  // of the loops around this block only: ranges are looked up one by one
    for (TreeNode* n = leaf->parent; n; n = n->parent)
      if (n->is_loop()) facts.push_range(n->var.get(), 0, n->extent - 1);
    const auto add = [&](const std::vector<Expr>& indices) {
      std::vector<Expr> in_loops;
      in_loops.reserve(indices.size());
      for (const Expr& i : indices) {
        Expr index = simplify(substitute(i, bindings), facts);
        // Guards bound quotients and remainders, such as the group of a channel; sums of variables gain nothing by
        // them.
        if (!is_sum_of_variables(index)) {
          int pushed = 0;
          for (const Expr& guard : leaf->block->predicates) pushed += facts.push_condition(guard);
          index = simplify(index, facts);
          facts.pop_facts(pushed);
        }
        in_loops.push_back(index);
      }
      out.push_back(std::move(in_loops));
    };
    if (writes) add(block.indices);
    if (loads_it)
      for (const Load* l : loads_of(block.value, buffer)) add(l->indices);
  });
  return out;
}

Region region_of(const std::vector<std::vector<Expr>>& accesses, TreeNode* scope, const Buffer& buffer) {
  std::vector<const VarNode*> fixed;
  for (TreeNode* n = scope; n; n = n->parent)
    if (n->is_loop()) fixed.push_back(n->var.get());
  const Facts facts = loop_facts(scope);
  Region region;
  for (size_t d = 0; d < buffer->shape.size(); ++d) {
    std::optional<Span> all;
    bool boxed = !accesses.empty();
    for (const auto& indices : accesses) {
      const auto span = span_of(indices[d], fixed, facts);
      boxed = boxed && span;
      if (!boxed) break;
      if (!all) {
        all = span;
        continue;
      }
      const auto apart = add(span->fixed, all->fixed, -1);
      boxed = apart && apart->is_constant() && apart->constant == 0;
      if (!boxed) break;
      all->lo = std::min(all->lo, span->lo);
      all->hi = std::max(all->hi, span->hi);
    }
    if (boxed) {
      const Expr min = all->fixed.to_expr() + make_int(all->lo);
      region.min.push_back(min);
      region.extent.push_back(all->hi - all->lo + 1);
    } else {
      region.min.push_back(make_int(0));
      region.extent.push_back(*as_const_int(buffer->shape[d]));
    }
  }
  return region;
}

}  // namespace hone
