// tensorize: the loops must be the innermost ones, in the pattern's order and of extents that fit; value, types and
// strides must be the pattern's. The patterns are those of tensor_intrinsics.h, each with an example.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/arith/simplify.h"
#include "compiler/schedule/region.h"
#include "compiler/schedule/schedule.h"
#include "compiler/schedule/tensor_intrinsics.h"

namespace hone {
namespace {

class Matcher {
 public:
  // `loops`: the stage's loops, one an axis.
  Matcher(const TensorIntrinsic& pattern, TreeNode* leaf, const std::vector<TreeNode*>& loops, std::string what)
      : pattern_(pattern), leaf_(leaf), bindings_(leaf->block->bindings()), loops_(loops), what_(std::move(what)) {
    // The pattern's loops keep a range of at least two iterations, so that they stay visible even where they run once.
    for (TreeNode* n = leaf->parent; n->is_loop(); n = n->parent)
      facts_.push_range(n->var.get(), 0, std::max<int64_t>(n->extent - 1, 1));
  }

  // For each tensor of the pattern the load of the stage that matches it, over the stage's iters.
  std::vector<Expr> run() {
    const Block& block = *leaf_->block;
    check_access(pattern_.out, pattern_.out_indices, block.out, block.indices);
    reads_.resize(pattern_.tensors.size());
    match(pattern_.value, block.value);
    return reads_;
  }

 private:
  void match(const Expr& p, const Expr& e) {
    require(fits(p, e), "its value is not the pattern's");
    if (const Load* l = as<Load>(p)) {
      const auto t = std::find_if(pattern_.tensors.begin(), pattern_.tensors.end(),
                                  [&](const PatternTensor& x) { return x.buffer.same_as(l->buffer); });
      const Load* own = read_of(e);
      check_access(*t, l->indices, own->buffer, own->indices);
      reads_[static_cast<size_t>(t - pattern_.tensors.begin())] = e;
    } else if (const Cast* c = as<Cast>(p)) {
      match(c->value, as<Cast>(e)->value);
    } else {
      const Binary *x = as<Binary>(p), *y = as<Binary>(e);
      const bool swap = !fits(x->a, y->a) || (order_matters(x) && moves_unlike(x->a, y->a));
      match(x->a, swap ? y->b : y->a);
      match(x->b, swap ? y->a : y->b);
    }
  }

  // A read, or one inside of an image's border and a constant on it (select(inside, load, 0)). Null: neither.
  const Load* read_of(const Expr& e) const {
    const Select* padded = as<Select>(e);
    if (!padded || pattern_.is_nest()) return as<Load>(e);
    const bool is_constant =
        padded->on_false->kind == ExprKind::kIntImm || padded->on_false->kind == ExprKind::kFloatImm;
    return is_constant ? as<Load>(padded->on_true) : nullptr;
  }

  // The same shape of expression and the same types, down to the reads.
  bool fits(const Expr& p, const Expr& e) const {
    if (p->dtype != e->dtype || (p->kind != e->kind && p->kind != ExprKind::kLoad)) return false;
    if (const Cast* c = as<Cast>(p)) return fits(c->value, as<Cast>(e)->value);
    const Binary* x = as<Binary>(p);
    if (!x) return p->kind == ExprKind::kLoad && read_of(e);
    const Binary* y = as<Binary>(e);
    return x->op == y->op && ((fits(x->a, y->a) && fits(x->b, y->b)) || (fits(x->a, y->b) && fits(x->b, y->a)));
  }
  // Two factors differ only in the loops that they move with.
  bool order_matters(const Binary* p) const { return fits(p->a, p->b); }
  bool moves_unlike(const Expr& p, const Expr& e) const {
    if (const Cast* c = as<Cast>(p)) return as<Cast>(e) && moves_unlike(c->value, as<Cast>(e)->value);
    const Load *l = as<Load>(p), *own = read_of(e);
    if (!l || !own) return false;
    for (size_t a = 0; a < loops_.size(); ++a)
      if (uses(l->indices, pattern_.axes[a].var.get()) != moves(own->indices, a)) return true;
    return false;
  }

  static bool uses(const std::vector<Expr>& indices, const VarNode* v) {
    return std::any_of(indices.begin(), indices.end(), [&](const Expr& i) { return uses_var(i, v); });
  }
  Expr in_loops(const Expr& index) const { return simplify(substitute(index, bindings_), facts_); }
  bool moves(const std::vector<Expr>& indices, size_t axis) const {
    return std::any_of(indices.begin(), indices.end(),
                       [&](const Expr& i) { return uses_var(in_loops(i), loops_[axis]->var.get()); });
  }

  // The stage's access moves with the same loops as the pattern's; its last dimensions move as the pattern's do.
  void check_access(const PatternTensor& tensor, const std::vector<Expr>& pattern, const Buffer& buffer,
                    const std::vector<Expr>& own) const {
    require(
        buffer->dtype == tensor.buffer->dtype,
        fmt::format("'{}' is of {}, not {}", buffer->name, to_string(buffer->dtype), to_string(tensor.buffer->dtype)));
    for (size_t a = 0; a < loops_.size(); ++a) {
      const bool wanted = uses(pattern, pattern_.axes[a].var.get());
      require(moves(own, a) == wanted, fmt::format("'{}' {} with loop '{}'", buffer->name,
                                                   wanted ? "does not move" : "moves", loops_[a]->var->name));
    }
    for (int back = 1; back <= tensor.contiguous; ++back) {
      require(static_cast<int>(own.size()) >= back, fmt::format("'{}' has too few dimensions", buffer->name));
      const size_t d = own.size() - static_cast<size_t>(back), pd = pattern.size() - static_cast<size_t>(back);
      for (size_t a = 0; a < loops_.size(); ++a) {
        const bool here = uses_var(pattern[pd], pattern_.axes[a].var.get());
        if (here)
          require(steps_by_one(own, d, a),
                  fmt::format("loop '{}' does not step through dimension {} of '{}' by 1, and nothing else of it",
                              loops_[a]->var->name, d, buffer->name));
      }
      // Inner dimensions are as large as the pattern's, so that the strides are equal.
      if (back < tensor.contiguous) {
        const auto want = as_const_int(tensor.buffer->shape[pd]), have = as_const_int(buffer->shape[d]);
        require(want == have,
                fmt::format("dimension {} of '{}' has {} elements, not {}", d, buffer->name, *have, *want));
      }
    }
  }
  bool steps_by_one(const std::vector<Expr>& own, size_t d, size_t axis) const {
    const VarNode* v = loops_[axis]->var.get();
    for (size_t i = 0; i < own.size(); ++i) {
      const auto form = linear_of(in_loops(own[i]));
      if (!form || form->coefficient_of(v) != (i == d ? 1 : 0)) return false;
      for (const Linear::Term& t : form->terms)
        if (t.atom.get() != v && uses_var(t.atom, v)) return false;
    }
    return true;
  }

  void require(bool ok, const std::string& why) const { HONE_USER_CHECK(ok) << what_ << ": " << why; }

  const TensorIntrinsic& pattern_;
  TreeNode* leaf_;
  const VarMap bindings_;
  Facts facts_;
  const std::vector<TreeNode*>& loops_;
  const std::string what_;
  std::vector<Expr> reads_;
};

// The loops from `l` down to the stage: one for each axis of the pattern, with a fitting extent.
std::vector<TreeNode*> innermost_loops(const TensorIntrinsic& pattern, TreeNode* leaf, TreeNode* l,
                                       const std::string& what) {
  std::vector<TreeNode*> loops;
  HONE_USER_CHECK(l->contains(leaf)) << what << ": the loop is not around it";
  for (TreeNode* n = leaf->parent; n->parent && l->contains(n); n = n->parent) {
    HONE_USER_CHECK(n->children.size() == 1) << what << ": loop '" << n->var->name << "' holds other statements too";
    loops.insert(loops.begin(), n);
  }
  HONE_USER_CHECK(loops.size() == pattern.axes.size())
      << what << ": " << loops.size() << " loops from there inwards, not " << pattern.axes.size();
  const Block& block = *leaf->block;
  for (size_t a = 0; a < loops.size(); ++a) {
    const PatternAxis& axis = pattern.axes[a];
    const TreeNode* n = loops[a];
    HONE_USER_CHECK(n->loop == LoopKind::kSerial && n->prefetch == 0)
        << what << ": loop '" << n->var->name << "' is " << (n->prefetch ? "annotated" : name_of(n->loop))
        << " already; tensorize first";
    HONE_USER_CHECK(n->extent % axis.multiple == 0 && n->extent <= axis.most)
        << what << ": loop '" << n->var->name << "' has " << n->extent << " iterations; it takes a multiple of "
        << axis.multiple << " up to " << axis.most;
    // A nest has accumulators of its own: at the end of rows and columns lowering lets it compute surplus ones. Lanes
    // of a vector are masked.
    const bool may_end_early = !axis.reduce && (pattern.is_nest() || axis.becomes == LoopKind::kVectorize);
    for (const Expr& p : block.predicates)
      HONE_USER_CHECK(may_end_early || !uses_var(p, n->var.get()))
          << what << ": loop '" << n->var->name << "' has a tail; pad or split evenly first";
    for (const Iter& i : block.iters)
      HONE_USER_CHECK(i.reduce == axis.reduce || !uses_var(i.binding, n->var.get()))
          << what << ": loop '" << n->var->name << "' "
          << (axis.reduce ? "is not a reduction loop" : "is a reduction loop");
  }
  return loops;
}

// The closest thread loops around must have the extents of the pattern's warp.
void check_warp(const TensorIntrinsic& pattern, const TreeNode* l, const std::string& what) {
  const TreeNode* n = l->parent;
  for (auto extent = pattern.warp.rbegin(); extent != pattern.warp.rend(); ++extent, n = n->parent) {
    while (n->is_loop() && n->loop != LoopKind::kThread) n = n->parent;
    HONE_USER_CHECK(n->is_loop() && n->extent == *extent)
        << what << ": the thread loops closest around it do not run " << pattern.warp.front() << " x "
        << pattern.warp.back() << " times; a warp's do, bound first";
  }
}

// The iter that runs in steps of `steps` from now on, because one call takes that many; the old one becomes an
// expression of it.
struct Coarse {
  size_t index;
  Iter iter;
};
Coarse coarsen(const Block& block, const TreeNode* loop, int64_t steps, const std::string& what) {
  std::optional<Coarse> out;
  for (size_t i = 0; i < block.iters.size(); ++i) {
    const Iter& iter = block.iters[i];
    if (!uses_var(iter.binding, loop->var.get())) continue;
    const Linear form = linear_of(iter.binding).value_or(Linear{});
    bool whole = !out && form.coefficient_of(loop->var.get()) == 1 && form.constant == 0 && iter.extent % steps == 0;
    Linear rest;
    for (const Linear::Term& t : form.terms) {
      if (t.atom.get() == loop->var.get()) continue;
      whole &= t.coefficient % steps == 0 && !uses_var(t.atom, loop->var.get());
      rest.terms.push_back({t.atom, t.coefficient / steps});
    }
    HONE_USER_CHECK(whole) << what << ": axis '" << iter.var->name << "' does not run in whole steps of " << steps
                           << " through loop '" << loop->var->name << "'";
    out = Coarse{i, {Var(iter.var->name), iter.extent / steps, iter.reduce, rest.to_expr()}};
  }
  HONE_USER_CHECK(out) << what << ": loop '" << loop->var->name << "' is no axis of it";
  return *out;
}

}  // namespace

void Schedule::tensorize(BlockRef ref, LoopRef loop, std::string_view name) {
  TreeNode* leaf = live_block(ref, "tensorize");
  TreeNode* l = live_loop(loop, "tensorize");
  const TensorIntrinsic& pattern = find_intrinsic(name);
  Block& block = *leaf->block;
  const std::string what = fmt::format("tensorize: stage '{}' at {} with {}", block.name, describe(l), name);
  HONE_USER_CHECK(block.reduce == ReduceKind::kSum) << what << ": it is not a sum";
  HONE_USER_CHECK(!block.step_guard && !block.fused_step)
      << what << ": " << (block.fused_step ? "it is tensorized already" : "its reduction has a tail");
  const std::vector<TreeNode*> loops = innermost_loops(pattern, leaf, l, what);
  check_warp(pattern, l, what);
  const std::vector<Expr> reads = Matcher(pattern, leaf, loops, what).run();
  const std::string text = fmt::format("tensorize({}, {}, {})", block.name, l->var->name, name);
  std::vector<std::vector<Expr>> steps{reads};
  if (pattern.consumed >= 0) {
    const int64_t n = pattern.axes.back().multiple;
    const Coarse coarse = coarsen(block, loops.back(), n, what);
    const VarNode* old = block.iters[coarse.index].var.get();
    steps.assign(static_cast<size_t>(n), {});
    for (int64_t t = 0; t < n; ++t)
      for (const Expr& r : reads)
        steps[static_cast<size_t>(t)].push_back(substitute(r, {{old, Expr(coarse.iter.var) * n + t}}));
    block.iters[coarse.index] = coarse.iter;
    std::unique_ptr<TreeNode> own = std::move(loops.back()->children[0]);
    TreeNode* above = loops.back()->parent;
    own->parent = above;
    above->children[0] = std::move(own);  // the consumed loop is gone
  }
  block.value = pattern.implement(steps);
  block.fused_step = pattern.fused_step;
  for (size_t a = 0; a < loops.size(); ++a)
    if (static_cast<int>(a) != pattern.consumed) loops[a]->loop = pattern.axes[a].becomes;
  refresh(text);
  record(Primitive::kTensorize, {ref.id, loop.id}, std::string(name), text);
}

}  // namespace hone
