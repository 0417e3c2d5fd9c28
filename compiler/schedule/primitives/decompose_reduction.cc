// decompose_reduction: the new stage stores the identity, under copies of those loops, from the given one inwards, that
// run over elements.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {
BlockRef Schedule::decompose_reduction(BlockRef ref, LoopRef loop) {
  TreeNode* leaf = live_block(ref, "decompose_reduction");
  TreeNode* l = live_loop(loop, "decompose_reduction");
  Block& block = *leaf->block;
  const std::string what = fmt::format("decompose_reduction: stage '{}' at {}", block.name, describe(l));
  HONE_USER_CHECK(block.reduce != ReduceKind::kNone) << what << ": it is not a reduction";
  HONE_USER_CHECK(block.initializes) << what << ": it is decomposed already";
  HONE_USER_CHECK(l->contains(leaf)) << what << ": the loop is not around it";
  std::vector<const VarNode*> reduce_loops;
  for (TreeNode* n = leaf->parent; n; n = n->parent) {
    if (!n->is_loop()) continue;
    bool is_its_own = false;
    for (const Iter& i : block.iters) {
      if (!uses_var(i.binding, n->var.get())) continue;
      is_its_own = true;
      if (!i.reduce) continue;
      HONE_USER_CHECK(l->contains(n)) << what << ": its reduction loop '" << n->var->name << "' is outside";
      reduce_loops.push_back(n->var.get());
      break;
    }
    // It would add to the sum of the iteration before.
    HONE_USER_CHECK(is_its_own || n->extent == 1 || !l->contains(n))
        << what << ": each iteration of '" << n->var->name << "' computes it anew";
  }
  for (const Iter& i : block.iters)
    HONE_USER_CHECK(i.reduce || !uses_any(i.binding, reduce_loops))
        << what << ": a loop serves both '" << i.var->name << "' and the reduction";

  Block init;
  init.name = unique_name(block.name + "_init");
  init.out = block.out;
  init.value = reduce_identity(block.reduce, block.out->dtype);
  init.recomputes = block.recomputes;
  VarMap renamed_loops, renamed_iters;
  std::vector<const VarNode*> left_behind;       // loops inside that the stored elements do not depend on
  std::vector<std::unique_ptr<TreeNode>> loops;  // innermost first
  for (TreeNode* n = leaf->parent;; n = n->parent) {
    bool spatial = false;
    for (const Iter& i : block.iters) spatial = spatial || (!i.reduce && uses_var(i.binding, n->var.get()));
    if (spatial) {
      // Tensor cores only add; each thread stores its own zeros.
      loops.push_back(make_loop(n->var->name, n->extent, n->loop == LoopKind::kWarp ? LoopKind::kUnroll : n->loop));
      renamed_loops.emplace_back(n->var.get(), Expr(loops.back()->var));
    } else {
      left_behind.push_back(n->var.get());
    }
    if (n == l) break;
  }
  for (const Iter& i : block.iters) {
    if (i.reduce) continue;
    Var v(i.var->name);
    init.iters.push_back({v, i.extent, false, substitute(i.binding, renamed_loops)});
    renamed_iters.emplace_back(i.var.get(), Expr(v));
  }
  for (const Expr& i : block.indices) init.indices.push_back(substitute(i, renamed_iters));
  for (const Expr& p : block.predicates)
    if (!uses_any(p, left_behind)) init.predicates.push_back(substitute(p, renamed_loops));
  BlockRef init_ref;
  std::unique_ptr<TreeNode> nest = make_block(std::move(init), &init_ref);
  for (auto& fresh : loops) {
    attach(fresh.get(), 0, std::move(nest));
    nest = std::move(fresh);
  }
  block.initializes = false;
  attach(l->parent, l->position(), std::move(nest));
  record(Primitive::kDecomposeReduction, {ref.id, loop.id}, "",
         fmt::format("decompose_reduction({}, {})", block.name, l->var->name));
  return init_ref;
}

}  // namespace hone
