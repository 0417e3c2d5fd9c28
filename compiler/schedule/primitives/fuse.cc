// fuse: one loop whose quotient and remainder take the places of the two variables.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {

LoopRef Schedule::fuse(LoopRef outer, LoopRef inner) {
  TreeNode* a = live_loop(outer, "fuse");
  TreeNode* b = live_loop(inner, "fuse");
  HONE_USER_CHECK(b->parent == a && a->children.size() == 1)
      << "fuse: " << describe(b) << " must be all that stands in " << describe(a);
  HONE_USER_CHECK(a->loop == LoopKind::kSerial && b->loop == LoopKind::kSerial)
      << "fuse: " << describe(a->loop == LoopKind::kSerial ? b : a) << " is already "
      << name_of(a->loop == LoopKind::kSerial ? b->loop : a->loop);
  HONE_USER_CHECK(a->prefetch == 0 && b->prefetch == 0)
      << "fuse: " << describe(a->prefetch ? a : b) << " has a prefetch; fuse first";
  HONE_USER_CHECK(a->limit == 0 && b->limit == 0)
      << "fuse: " << describe(a->limit ? a : b) << " has a limit; fuse first";
  HONE_USER_CHECK(a->extent <= (int64_t{1} << 46) / b->extent)
      << "fuse: " << describe(a) << " and " << describe(b) << " together have more than 2^46 iterations";
  for_each_block(b, [&](Block& block, TreeNode*) {
    // A loop over both kinds, split and reordered, would meet an element first in the middle of its reduction.
    bool space = false, reduction = false;
    for (const Iter& i : block.iters)
      for (TreeNode* l : {a, b})
        if (uses_var(i.binding, l->var.get())) (i.reduce ? reduction : space) = true;
    HONE_USER_CHECK(!space || !reduction) << "fuse: of " << describe(a) << " and " << describe(b)
                                          << " only one is a reduction loop of stage '" << block.name << "'";
  });
  const std::string text = fmt::format("fuse({}, {}) -> {}_{}", a->var->name, b->var->name, a->var->name, b->var->name);
  auto fused = make_loop(a->var->name + "_" + b->var->name, a->extent * b->extent);
  fused->own = a->own && b->own;
  const LoopRef ref{fused->loop_id};
  // Predicates keep naming the quotient and the remainder.
  replace_variable(a, a->var.get(), a->extent == 1 ? make_int(0) : floor_div(fused->var, b->extent));
  replace_variable(a, b->var.get(), a->extent == 1 ? Expr(fused->var) : floor_mod(fused->var, b->extent));
  TreeNode* parent = a->parent;
  const size_t position = a->position();
  std::unique_ptr<TreeNode> old = std::move(parent->children[position]);
  parent->children.erase(parent->children.begin() + static_cast<ptrdiff_t>(position));
  for (auto& child : b->children) attach(fused.get(), fused->children.size(), std::move(child));
  attach(parent, position, std::move(fused));
  refresh(text);
  record(Primitive::kFuse, {outer.id, inner.id}, "", text);
  return ref;
}

}  // namespace hone
