// split, split_parts: two loops take one's place; a guard keeps iterations beyond the extent from running.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

std::pair<LoopRef, LoopRef> Schedule::split(LoopRef loop, int64_t factor) {
  TreeNode* l = live_loop(loop, "split");
  HONE_USER_CHECK(factor >= 1) << "split: factor " << factor << " of " << describe(l) << " must be at least 1";
  HONE_USER_CHECK(l->loop == LoopKind::kSerial)
      << "split: " << describe(l) << " is already " << name_of(l->loop) << "; split first";
  HONE_USER_CHECK(l->prefetch == 0) << "split: " << describe(l) << " has a prefetch; split first";
  HONE_USER_CHECK(l->limit == 0) << "split: " << describe(l) << " has a limit; split first";
  return split_into(l, ceil_div(l->extent, factor), factor, Primitive::kSplit, factor,
                    fmt::format("split({}, {})", l->var->name, factor));
}

std::pair<LoopRef, LoopRef> Schedule::split_parts(LoopRef loop, int64_t parts) {
  TreeNode* l = live_loop(loop, "split_parts");
  HONE_USER_CHECK(parts >= 1 && parts <= l->extent) << "split_parts: " << parts << " parts of " << describe(l)
                                                    << " must be between 1 and its " << l->extent << " iterations";
  HONE_USER_CHECK(l->loop == LoopKind::kSerial)
      << "split_parts: " << describe(l) << " is already " << name_of(l->loop) << "; split first";
  HONE_USER_CHECK(l->prefetch == 0) << "split_parts: " << describe(l) << " has a prefetch; split first";
  HONE_USER_CHECK(l->limit == 0) << "split_parts: " << describe(l) << " has a limit; split first";
  return split_into(l, parts, ceil_div(l->extent, parts), Primitive::kSplitParts, parts,
                    fmt::format("split_parts({}, {})", l->var->name, parts));
}

std::pair<LoopRef, LoopRef> Schedule::split_into(TreeNode* l, int64_t outer_extent, int64_t inner_extent,
                                                 Primitive primitive, int64_t arg, const std::string& call) {
  const std::string name = l->var->name;
  const int64_t n = l->extent, loop_id = l->loop_id;
  auto outer = make_loop(name + "_o", outer_extent), inner = make_loop(name + "_i", inner_extent);
  outer->own = inner->own = l->own;
  const LoopRef outer_ref{outer->loop_id}, inner_ref{inner->loop_id};
  const Expr joined = outer->var * inner_extent + Expr(inner->var);
  replace_variable(l, l->var.get(), joined);
  if (outer_extent * inner_extent != n) {
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
  const std::string text = fmt::format("{} -> {}_o, {}_i", call, name, name);
  refresh(text);
  record(primitive, {loop_id, arg}, "", text);
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
