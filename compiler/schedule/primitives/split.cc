// for i in 0..n: S(i)   ->   for io in 0..ceil(n/f): for ii in 0..f: if (io*f + ii < n) S(io*f + ii)     (no guard when f divides n)
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

std::pair<LoopRef, LoopRef> Schedule::split(LoopRef loop, int64_t factor) {
  TreeNode* l = live_loop(loop, "split");
  HONE_USER_CHECK(factor >= 1) << "split: factor " << factor << " of " << describe(l) << " must be at least 1";
  HONE_USER_CHECK(l->loop == LoopKind::kSerial) << "split: " << describe(l) << " is already " << name_of(l->loop) << "; split first";
  const std::string name = l->var->name;
  const int64_t n = l->extent;
  auto outer = make_loop(name + "_o", ceil_div(n, factor)), inner = make_loop(name + "_i", factor);
  const LoopRef outer_ref{outer->loop_id}, inner_ref{inner->loop_id};
  const Expr joined = outer->var * factor + Expr(inner->var);
  replace_variable(l, l->var.get(), joined);
  if (n % factor != 0) {
    const Expr guard = lt(joined, n);
    for_each_block(l, [&](Block& b, TreeNode*) { b.predicates.push_back(guard); });
  }
  TreeNode* parent = l->parent;
  const size_t position = l->position();
  std::unique_ptr<TreeNode> old = std::move(parent->children[position]);
  parent->children.erase(parent->children.begin() + static_cast<ptrdiff_t>(position));
  for (auto& child : old->children) attach(inner.get(), inner->children.size(), std::move(child));
  attach(outer.get(), 0, std::move(inner));
  attach(parent, position, std::move(outer));
  const std::string text = fmt::format("split({}, {}) -> {}_o, {}_i", name, factor, name, name);
  refresh(text);
  record(Primitive::kSplit, {loop.id, factor}, "", text);
  return {outer_ref, inner_ref};
}

std::vector<LoopRef> Schedule::split(LoopRef loop, const std::vector<int64_t>& factors) {
  HONE_USER_CHECK(!factors.empty()) << "split: no factors for loop number " << loop.id;
  std::vector<LoopRef> out(factors.size());
  LoopRef rest = loop;
  for (size_t i = factors.size(); i-- > 1;) {
    const auto [outer, inner] = split(rest, factors[i]);
    out[i] = inner;
    rest = outer;
  }
  out[0] = rest;
  return out;
}

}  // namespace hone
