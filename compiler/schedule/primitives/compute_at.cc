// compute_at: the region of the producer's buffer that one iteration of the loop reads decides which loops it gets
// there.
#include <fmt/format.h>

#include "compiler/arith/simplify.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/schedule.h"

namespace hone {

void Schedule::compute_at(BlockRef producer, LoopRef loop) {
  TreeNode* p = live_block(producer, "compute_at");
  TreeNode* l = live_loop(loop, "compute_at");
  Block& block = *p->block;
  const std::string what = fmt::format("compute_at: stage '{}' under {}", block.name, describe(l));
  HONE_USER_CHECK(block.out->scope != BufferScope::kParam)
      << what << ": it writes the output '" << block.out->name << "'";
  HONE_USER_CHECK(!block.is_scan()) << what << ": it is a scan, whose steps follow each other; reverse_compute_at puts "
                                    << "what reads it under its loops";
  HONE_USER_CHECK(l->loop != LoopKind::kVectorize) << what << ": a vector loop holds no other loops";
  HONE_USER_CHECK(!l->contains(p)) << what << ": it stands there already";
  for (size_t d = 0; d < block.indices.size(); ++d)
    HONE_USER_CHECK(block.indices[d].get() == block.iters[d].var.get())
        << what << ": its layout was transformed; compute_at comes first";
  // The outermost node that holds this stage alone.
  TreeNode* nest = own_nest(p);
  HONE_USER_CHECK(!nest->parent->is_loop())
      << what << ": it shares " << describe(nest->parent) << " with other statements";
  for_each_block(root_.get(), [&](Block& b, TreeNode* n) {
    HONE_USER_CHECK(n == p || !b.out.same_as(block.out))
        << what << ": stage '" << b.name << "' writes '" << block.out->name
        << "' too; compute_at comes before decompose_reduction";
    HONE_USER_CHECK(n == p || !reads(b, block.out) || l->contains(n))
        << what << ": stage '" << b.name << "' reads '" << block.out->name << "' outside of the loop";
  });
  const auto accesses = accesses_below(l, block.out, false);
  HONE_USER_CHECK(!accesses.empty()) << what << ": nothing there reads '" << block.out->name << "'";
  const Region region = region_of(accesses, l, block.out);

  size_t position = 0;
  const auto consumes = [&](TreeNode* n) {
    bool found = false;
    for_each_block(n, [&](Block& b, TreeNode*) { found = found || reads(b, block.out); });
    return found;
  };
  while (!consumes(l->children[position].get())) ++position;

  std::unique_ptr<TreeNode> leaf = take_block(nest);  // and give it fresh loops
  block.predicates.clear();
  block.recomputes = true;
  std::vector<std::unique_ptr<TreeNode>> loops;
  for (size_t d = 0; d < block.iters.size(); ++d) {
    Iter& iter = block.iters[d];
    const int64_t extent = iter.reduce ? iter.extent : region.extent[d];
    const Expr min = iter.reduce ? make_int(0) : region.min[d];
    loops.push_back(make_loop(iter.var->name, extent));
    loops.back()->own = true;
    iter.binding = min + Expr(loops.back()->var);
  }
  std::unique_ptr<TreeNode> fresh = std::move(leaf);
  for (size_t i = loops.size(); i-- > 0;) {
    attach(loops[i].get(), 0, std::move(fresh));
    fresh = std::move(loops[i]);
  }
  TreeNode* placed = attach(l, position, std::move(fresh));
  const Facts facts = loop_facts(placed);
  for (const Iter& iter : block.iters) {
    if (iter.reduce) continue;
    for (const Expr& inside : {lt(iter.binding, iter.extent), ge(iter.binding, int64_t{0})})
      if (!facts.proves(inside)) block.predicates.push_back(inside);
  }
  const std::string text = fmt::format("compute_at({}, {})", block.name, l->var->name);
  refresh(text);
  record(Primitive::kComputeAt, {producer.id, loop.id}, "", text);
}

}  // namespace hone
