// vectorize, unroll, parallel, bind: a loop becomes of another kind, where its iterations write different elements or
// may stay in order.
#include <fmt/format.h>

#include "compiler/schedule/schedule.h"

namespace hone {
namespace {

bool bound_to_reduction(const Block& b, const VarNode* var) {
  for (const Iter& i : b.iters)
    if (i.reduce && uses_var(i.binding, var)) return true;
  return false;
}

bool bound_to_space(const Block& b, const VarNode* var) {
  for (const Iter& i : b.iters)
    if (!i.reduce && uses_var(i.binding, var)) return true;
  return false;
}

// A scan's steps follow each other.
void check_order(const TreeNode* loop, const Block& b, const std::string& what) {
  HONE_USER_CHECK(!b.keeps_order_of(loop->var.get()))
      << what << " runs over the scan of stage '" << b.name << "', whose steps follow each other";
}

// True when everything that touches `buffer` stands below `loop`: each iteration then has a buffer of its own.
bool is_private(TreeNode* root, TreeNode* loop, const Buffer& buffer) {
  bool all_below = buffer->scope != BufferScope::kParam;
  for_each_block(root, [&](Block& b, TreeNode* n) {
    if ((b.out.same_as(buffer) || reads(b, buffer)) && !loop->contains(n)) all_below = false;
  });
  return all_below;
}

// Different iterations of `loop` write different elements of the result of `b`, or have buffers of their own.
void check_apart(TreeNode* root, TreeNode* loop, const Block& b, const std::string& what) {
  HONE_USER_CHECK(!bound_to_reduction(b, loop->var.get()))
      << what << " is a reduction loop of stage '" << b.name << "': its iterations would write the same elements";
  check_order(loop, b, what);
  HONE_USER_CHECK((!b.is_scan() && is_private(root, loop, b.out)) ||
                  (bound_to_space(b, loop->var.get()) && (loop->own || !b.recomputes)))
      << what << ": its iterations would write the same elements of '" << b.out->name << "'";
}

}  // namespace

void Schedule::vectorize(LoopRef loop) {
  TreeNode* l = live_loop(loop, "vectorize");
  HONE_USER_CHECK(l->loop == LoopKind::kSerial) << "vectorize: " << describe(l) << " is already " << name_of(l->loop);
  HONE_USER_CHECK(l->prefetch == 0) << "vectorize: " << describe(l) << " has a prefetch";
  HONE_USER_CHECK(l->extent <= kMostLanes) << "vectorize: " << describe(l) << " has " << l->extent
                                           << " iterations; at most " << kMostLanes << ", split it first";
  for (const auto& child : l->children)
    HONE_USER_CHECK(child->is_block()) << "vectorize: " << describe(l) << " is not innermost";
  for_each_block(l, [&](Block& b, TreeNode*) {
    HONE_USER_CHECK(!bound_to_reduction(b, l->var.get()))
        << "vectorize: " << describe(l) << " is a reduction loop of stage '" << b.name << "'";
    check_order(l, b, "vectorize: " + describe(l));
  });
  l->loop = LoopKind::kVectorize;
  record(Primitive::kVectorize, {loop.id}, "", fmt::format("vectorize({})", l->var->name));
}

void Schedule::unroll(LoopRef loop) {
  TreeNode* l = live_loop(loop, "unroll");
  HONE_USER_CHECK(l->loop == LoopKind::kSerial) << "unroll: " << describe(l) << " is already " << name_of(l->loop);
  HONE_USER_CHECK(l->extent <= kMostCopies) << "unroll: " << describe(l) << " has " << l->extent
                                            << " iterations; at most " << kMostCopies << ", split it first";
  l->loop = LoopKind::kUnroll;
  record(Primitive::kUnroll, {loop.id}, "", fmt::format("unroll({})", l->var->name));
}

void Schedule::parallel(LoopRef loop) {
  TreeNode* l = live_loop(loop, "parallel");
  HONE_USER_CHECK(l->loop == LoopKind::kSerial) << "parallel: " << describe(l) << " is already " << name_of(l->loop);
  HONE_USER_CHECK(l->prefetch == 0) << "parallel: " << describe(l)
                                    << " has a prefetch: the next iterations may be another worker's";
  for (TreeNode* n = l->parent; n; n = n->parent)
    HONE_USER_CHECK(!n->is_loop() || n->loop != LoopKind::kParallel)
        << "parallel: " << describe(l) << " stands inside the parallel loop '" << n->var->name << "'";
  for_each_block(l, [&](Block& b, TreeNode* n) {
    for (TreeNode* inner = n->parent; inner != l; inner = inner->parent)
      HONE_USER_CHECK(inner->loop != LoopKind::kParallel)
          << "parallel: " << describe(l) << " contains the parallel loop '" << inner->var->name << "'";
    check_apart(root_.get(), l, b, "parallel: " + describe(l));
  });
  l->loop = LoopKind::kParallel;
  record(Primitive::kParallel, {loop.id}, "", fmt::format("parallel({})", l->var->name));
}

void Schedule::bind(LoopRef loop, LoopKind kind) {
  HONE_USER_CHECK(kind == LoopKind::kBlock || kind == LoopKind::kThread || kind == LoopKind::kWarp)
      << "bind: a loop is bound to block, thread or warp, not to " << name_of(kind);
  TreeNode* l = live_loop(loop, "bind");
  const std::string what = fmt::format("bind: {} to {}", describe(l), kind == LoopKind::kWarp ? "warp" : name_of(kind));
  HONE_USER_CHECK(l->loop == LoopKind::kSerial) << what << ": it is already " << name_of(l->loop);
  HONE_USER_CHECK(l->prefetch == 0) << what << ": it has a prefetch";
  if (kind == LoopKind::kWarp) {
    HONE_USER_CHECK(l->children.size() == 1 && l->children[0]->is_block() &&
                    bound_to_reduction(*l->children[0]->block, l->var.get()))
        << what << ": it is not the innermost loop of a reduction";
    l->loop = kind;
    return record(Primitive::kBind, {loop.id, static_cast<int64_t>(kind)}, "",
                  fmt::format("bind({}, {})", l->var->name, name_of(kind)));
  }
  for (TreeNode* n = l->parent; n->is_loop(); n = n->parent) {
    const bool fits = n->loop == LoopKind::kBlock ||
                      (kind == LoopKind::kThread &&
                       (n->loop == LoopKind::kThread || n->loop == LoopKind::kSerial || n->loop == LoopKind::kUnroll));
    HONE_USER_CHECK(fits) << what << ": it stands inside the " << name_of(n->loop) << " loop '" << n->var->name << "'";
    if (kind != LoopKind::kBlock) continue;
    HONE_USER_CHECK(n->children.size() == 1) << what << ": it does not fill '" << n->var->name << "'";
  }
  for_each_block(l, [&](Block& b, TreeNode* n) {
    for (TreeNode* inner = n->parent; inner != l; inner = inner->parent)
      HONE_USER_CHECK(inner->loop != LoopKind::kParallel &&
                      (kind == LoopKind::kBlock || inner->loop != LoopKind::kBlock))
          << what << ": it contains the " << name_of(inner->loop) << " loop '" << inner->var->name << "'";
    check_apart(root_.get(), l, b, what);
  });
  l->loop = kind;
  record(Primitive::kBind, {loop.id, static_cast<int64_t>(kind)}, "",
         fmt::format("bind({}, {})", l->var->name, name_of(kind)));
}

}  // namespace hone
