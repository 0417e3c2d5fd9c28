// rfactor: the identity is stored where the other reduction loops are at 0, and in the second stage where its one is.
// The factored loop may then run in parallel or in vectors. A tail of the reduction leaves out steps, never a partial
// result's identity.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

// The loops around `leaf` that its reduction runs over, outermost first.
std::vector<TreeNode*> reduction_loops(TreeNode* leaf) {
  std::vector<TreeNode*> out;
  for (TreeNode* n = leaf->parent; n->is_loop(); n = n->parent)
    for (const Iter& i : leaf->block->iters)
      if (i.reduce && uses_var(i.binding, n->var.get())) {
        out.insert(out.begin(), n);
        break;
      }
  return out;
}

// The stage that reduces `partial`, whose first dimension is the factored loop, to `out`.
Block final_stage(const std::string& name, ReduceKind kind, const Buffer& partial, const Buffer& out) {
  Block b;
  b.name = name;
  b.out = out;
  b.reduce = kind;
  b.initializes = true;
  for (size_t d = 0; d < out->shape.size(); ++d) {
    Var v("i" + std::to_string(d));
    b.indices.push_back(v);
    b.iters.push_back({v, *as_const_int(out->shape[d]), false, nullptr});
  }
  Var rf("rf");
  b.iters.push_back({rf, *as_const_int(partial->shape[0]), true, nullptr});
  std::vector<Expr> from{rf};
  from.insert(from.end(), b.indices.begin(), b.indices.end());
  b.value = load(partial, std::move(from));
  return b;
}

}  // namespace

BlockRef Schedule::rfactor(BlockRef ref, LoopRef loop) {
  TreeNode* leaf = live_block(ref, "rfactor");
  TreeNode* l = live_loop(loop, "rfactor");
  Block& block = *leaf->block;
  const std::string what = fmt::format("rfactor: stage '{}' at {}", block.name, describe(l));
  HONE_USER_CHECK(block.reduce != ReduceKind::kNone) << what << ": it is not a reduction";
  HONE_USER_CHECK(block.initializes) << what << ": it is decomposed; rfactor comes before decompose_reduction";
  HONE_USER_CHECK(l->contains(leaf)) << what << ": the loop is not around it";
  const std::vector<TreeNode*> loops = reduction_loops(leaf);
  HONE_USER_CHECK(std::find(loops.begin(), loops.end(), l) != loops.end())
      << what << ": the stage does not reduce over it";
  HONE_USER_CHECK(!block.recomputes) << what
                                     << ": it is computed under another stage's loops; rfactor comes before compute_at";
  for (size_t d = 0; d < block.indices.size(); ++d)
    HONE_USER_CHECK(block.indices[d].get() == block.iters[d].var.get())
        << what << ": its layout was transformed; rfactor comes first";
  const Buffer to = block.out;
  TreeNode* top = top_of(leaf);
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == leaf || !b.out.same_as(to))
        << what << ": stage '" << b.name << "' writes '" << to->name << "' too";
    HONE_USER_CHECK(!top->contains(n) || !reads(b, to))
        << what << ": stage '" << b.name << "' reads '" << to->name << "' in the nest that computes it";
  });
  std::vector<const VarNode*> reduced;
  for (TreeNode* n : loops) reduced.push_back(n->var.get());
  for (const Iter& i : block.iters)
    HONE_USER_CHECK(i.reduce || !uses_any(i.binding, reduced))
        << what << ": a loop serves both '" << i.var->name << "' and the reduction";

  // Each reduction loop becomes an iter of its own, the factored one in front as the new dimension; the old iters are
  // computed from those.
  const DType type = block.out->dtype;
  std::vector<Expr> shape{make_int(l->extent)};
  shape.insert(shape.end(), to->shape.begin(), to->shape.end());
  std::vector<Iter> iters{{Var(l->var->name), l->extent, false, l->var}};
  VarMap iter_of_loop{{l->var.get(), iters[0].var}}, old_iters;
  for (const Iter& i : block.iters)
    if (!i.reduce) iters.push_back(i);
  for (TreeNode* n : loops) {
    if (n == l) continue;
    iters.push_back({Var(n->var->name), n->extent, true, n->var});
    iter_of_loop.emplace_back(n->var.get(), Expr(iters.back().var));
  }
  for (const Iter& i : block.iters)
    if (i.reduce) old_iters.emplace_back(i.var.get(), substitute(i.binding, iter_of_loop));
  Expr guard = block.step_guard ? substitute(block.step_guard, old_iters) : make_bool(true);
  std::vector<Expr> predicates;
  for (const Expr& p : block.predicates) {
    if (uses_any(p, reduced))
      guard = logical_and(guard, substitute(p, iter_of_loop));
    else
      predicates.push_back(p);
  }
  const bool done = loops.size() == 1;  // each partial result is one value
  Expr value = substitute(block.value, old_iters);
  if (done) value = is_const(guard, 1) ? value : select(guard, value, reduce_identity(block.reduce, type));

  const Buffer partial = make_buffer(block.name + "_rf", type, std::move(shape), BufferScope::kWorkspace);
  Block final_block = final_stage(unique_name(block.name + "_final"), block.reduce, partial, to);
  const std::string name = final_block.name;
  block.value = std::move(value);
  block.step_guard = done || is_const(guard, 1) ? Expr() : guard;
  block.predicates = std::move(predicates);
  block.iters = std::move(iters);
  block.indices.insert(block.indices.begin(), block.iters[0].var);
  block.out = partial;
  if (done) {
    block.reduce = ReduceKind::kNone;
    block.initializes = false;
  }
  BlockRef final_ref;
  auto nest = make_nest(make_block(std::move(final_block), &final_ref));
  attach(top->parent, top->position() + 1, std::move(nest));
  record(Primitive::kRfactor, {ref.id, loop.id}, "",
         fmt::format("rfactor({}, {}) -> {}", block.name, l->var->name, name));
  return final_ref;
}

}  // namespace hone
