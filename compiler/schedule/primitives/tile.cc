// tile: all that its splits and its reorder could refuse is checked first.
#include "compiler/schedule/schedule.h"

namespace hone {

std::vector<LoopRef> Schedule::tile(LoopRef y, LoopRef x, int64_t factor_y, int64_t factor_x) {
  TreeNode *ly = live_loop(y, "tile"), *lx = live_loop(x, "tile");
  // Checks everything that the splits and the reorder could refuse, before the first of them changes the schedule.
  HONE_USER_CHECK(factor_y >= 1 && factor_x >= 1) << "tile: factors " << factor_y << " and " << factor_x << " of "
                                                  << describe(ly) << " and " << describe(lx) << " must be at least 1";
  for (const TreeNode* l : {ly, lx})
    HONE_USER_CHECK(l->prefetch == 0 && l->limit == 0)
        << "tile: " << describe(l) << " has a " << (l->prefetch ? "prefetch" : "limit") << "; tile first";
  for (const TreeNode* l : {ly, lx})
    HONE_USER_CHECK(l->loop == LoopKind::kSerial)
        << "tile: " << describe(l) << " is already " << name_of(l->loop) << "; tile first";
  HONE_USER_CHECK(ly != lx && ly->contains(lx)) << "tile: " << describe(lx) << " does not stand in " << describe(ly);
  for (TreeNode* n = lx; n != ly; n = n->parent)
    HONE_USER_CHECK(n->parent->children.size() == 1)
        << "tile: " << describe(n) << " shares the body of '" << n->parent->var->name << "' with other statements";
  for_each_block(lx, [&](Block& b, TreeNode*) {
    HONE_USER_CHECK(!b.keeps_order_of(ly->var.get()) || !b.keeps_order_of(lx->var.get()))
        << "tile: both loops run over the scan of stage '" << b.name << "', whose steps follow each other";
  });
  const auto [yo, yi] = split(y, factor_y);
  const auto [xo, xi] = split(x, factor_x);
  reorder({yo, xo, yi, xi});
  return {yo, xo, yi, xi};
}

}  // namespace hone
