#include "compiler/lower/lower_blocks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/arith/simplify.h"
#include "compiler/ir/visitor.h"
#include "compiler/lower/padding.h"
#include "compiler/lower/prefetches.h"
#include "compiler/schedule/region.h"

namespace hone {
namespace {

// The buffer that holds an intermediate buffer, and the origin of its indices.
struct Placement {
  Buffer from, to;
  TreeNode* scope = nullptr;  ///< each iteration of it has its own contents
  std::vector<Expr> min;
  TreeNode* home = nullptr;  ///< where it is allocated: `scope`, or around it when it is a double buffer
  Expr turn;                 ///< part of a double buffer that an iteration of `scope` reads; null for a plain buffer
  int64_t ahead = 0;         ///< ... and how many iterations later the part is read that it fills
  std::vector<Reached> written{};  ///< limits on its written elements, when they are not all
};

bool touches(const Block& b, const Buffer& buffer) { return b.out.same_as(buffer) || reads(b, buffer); }

TreeNode* common_ancestor(TreeNode* a, TreeNode* b) {
  while (!a->contains(b)) a = a->parent;
  return a;
}

// True when every access in an expression is proved to be in bounds, and loads of intermediate buffers to be where
// their writers reach. Sides of a Select know their condition.
class InBounds final : public Visitor {
 public:
  InBounds(Facts& facts, const std::vector<Placement>& placements) : facts_(facts), placements_(placements) {}
  bool holds = true;

  void check(const Buffer& buffer, const std::vector<Expr>& indices) {
    for (size_t d = 0; holds && d < indices.size(); ++d)
      holds = facts_.bounds(indices[d]).within(0, *as_const_int(buffer->shape[d]) - 1);
  }

 protected:
  using Visitor::visit;
  void visit(const Load* op) override {
    check(op->buffer, op->indices);
    for (const Placement& p : placements_)
      for (size_t r = 0; holds && p.to.same_as(op->buffer) && r < p.written.size(); ++r)
        holds = facts_.bounds(p.written[r].of([&](size_t d) { return op->indices[d]; }))
                    .within(p.written[r].range.lo, p.written[r].range.hi);
    if (holds) Visitor::visit(op);
  }
  void visit(const Select* op) override {
    (*this)(op->condition);
    int n = facts_.push_condition(op->condition);
    (*this)(op->on_true);
    facts_.pop_facts(n);
    n = facts_.push_negation(op->condition);
    (*this)(op->on_false);
    facts_.pop_facts(n);
  }

 private:
  Facts& facts_;
  const std::vector<Placement>& placements_;
};

// Puts loads in terms of placed buffers and simplified indices.
class AccessRewriter final : public Mutator {
 public:
  AccessRewriter(const std::vector<Placement>& placements, const VarMap& bindings, Facts& facts)
      : Mutator(Sharing::kKept), placements_(placements), bindings_(bindings), facts_(facts) {}

  const Placement* placement_of(const Buffer& buffer) const {
    for (const Placement& p : placements_)
      if (p.from.same_as(buffer)) return &p;
    return nullptr;
  }
  std::vector<Expr> position(const Buffer& buffer, const std::vector<Expr>& indices) {
    std::vector<Expr> out;
    const Placement* p = placement_of(buffer);
    if (p && p->turn) out.push_back(p->turn);
    for (size_t d = 0; d < indices.size(); ++d) {
      Expr i = (*this)(indices[d]);  // it may read a stage, which has been placed
      if (p && !p->min.empty()) i = i - p->min[d];
      out.push_back(simplify(i, facts_));
    }
    return out;
  }

 protected:
  using Mutator::visit;
  Expr visit(const VarNode* op) override {
    for (const auto& [var, value] : bindings_)
      if (var == op) return value;
    return Expr(op);
  }
  Expr visit(const Load* op) override {
    const Placement* p = placement_of(op->buffer);
    return load(p ? p->to : op->buffer, position(op->buffer, op->indices));
  }
  Expr visit(const Select* op) override {
    const Expr c = simplify((*this)(op->condition), facts_);
    if (is_const(c, 1)) return (*this)(op->on_true);
    if (is_const(c, 0)) return (*this)(op->on_false);
    return select(c, (*this)(op->on_true), (*this)(op->on_false));
  }

 private:
  const std::vector<Placement>& placements_;
  const VarMap& bindings_;
  Facts& facts_;
};

class BlockLowering {
 public:
  /// `made`: parameters that the program makes for another one to read, padding included.
  BlockLowering(TreeNode* root, Allocation allocation, std::vector<Buffer> made = {})
      : root_(root), allocation_(allocation), made_(std::move(made)) {
    position_buffers();
  }

  Stmt run() { return lower(root_); }

 private:
  void position_buffers() {
    TreeNode* root = root_;
    for_each_block(root, [&](Block& b, TreeNode*) {
      if (b.out->scope == BufferScope::kParam) return;
      for (const Placement& p : placements_)
        if (p.from.same_as(b.out)) return;
      TreeNode* scope = nullptr;
      for_each_block(root, [&](Block& other, TreeNode* n) {
        if (touches(other, b.out)) scope = scope ? common_ancestor(scope, n) : n;
      });
      while (scope->is_block()) scope = scope->parent;
      if (b.is_scan()) scope = outside_of_scan(b, scope);
      Placement p{b.out, b.out, root, {}, root, nullptr};
      if (allocation_ == Allocation::kCompact) {
        p.home = p.scope = scope;
        const Region region = region_of(accesses_below(scope, b.out, true), scope, b.out);
        std::vector<int64_t> extent = region.extent;
        p.written = reached_elements(scope, b.out, region);
        align(b, &extent);
        if (b.parts > 1 && can_fill_ahead(b, scope)) {
          const int64_t parts = std::min(b.parts, scope->extent);
          p.home = scope->parent;
          p.ahead = parts - 1;
          p.turn = floor_mod(Expr(scope->var), parts);
          extent.insert(extent.begin(), parts);
          for (Reached& r : p.written)
            for (auto& [dimension, factor] : r.sum) ++dimension;
        }
        p.to = make_buffer(b.out->name, b.out->dtype, extent, b.out->scope);
        p.min = region.min;
      }
      placements_.push_back(std::move(p));
    });
  }

  // The innermost node at or above `scope` in which a scan runs from its begin to its end: what it wrote is there for
  // its next step.
  static TreeNode* outside_of_scan(const Block& b, TreeNode* scope) {
    TreeNode* out = scope;
    for (TreeNode* n = scope; n; n = n->parent)
      if (n->is_loop() && b.keeps_order_of(n->var.get())) out = n->parent;
    return out;
  }

  // Steps after double_buffer() may have broken its conditions; then one buffer is used, which is always right.
  static bool can_fill_ahead(const Block& b, TreeNode* loop) {
    bool can = loop->is_loop() && loop->loop == LoopKind::kSerial && loop->extent > 1 && loop->prefetch == 0 &&
               b.reduce == ReduceKind::kNone;
    for_each_block(loop, [&](Block& other, TreeNode* n) {
      can = can && (&other == &b ? own_nest(n)->parent == loop : !other.out.same_as(b.out) && !reads(b, other.out));
    });
    return can;
  }

  // Lengthens the dimension behind the aligned one until the stride is right, if any length makes it so: the inner
  // dimensions may rule that out.
  static void align(const Block& b, std::vector<int64_t>* extent) {
    if (b.alignment.factor == 0) return;
    const auto next = static_cast<size_t>(b.alignment.dimension) + 1;
    int64_t inner = 1;
    for (size_t d = next + 1; d < extent->size(); ++d) inner *= (*extent)[d];
    for (int64_t more = 0; more < b.alignment.factor; ++more)
      if (((*extent)[next] + more) * inner % b.alignment.factor == b.alignment.offset) {
        (*extent)[next] += more;
        return;
      }
  }

  // How many iterations of `loop`, directly around `child`, ahead of its reader it fills a part of a double buffer; 0:
  // it fills none.
  int64_t filled_ahead(const TreeNode* child, const TreeNode* loop) const {
    while (child->is_loop() && child->children.size() == 1) child = child->children[0].get();
    if (!child->is_block() || child->block->parts == 1) return 0;
    for (const Placement& p : placements_)
      if (p.from.same_as(child->block->out) && p.scope == loop) return p.ahead;
    return 0;
  }
  bool fills_ahead(const TreeNode* loop) const {
    return loop->is_loop() && loop->extent > 1 &&
           std::any_of(loop->children.begin(), loop->children.end(),
                       [&](const auto& c) { return filled_ahead(c.get(), loop) > 0; });
  }

  // A loop in which each iteration first fills double buffers for iterations to come, then computes.
  Stmt lower_filling_ahead(TreeNode* loop) {
    facts_.push_range(loop->var.get(), 0, loop->extent - 1);
    std::map<int64_t, std::vector<Stmt>> fills;  // by how far ahead
    std::vector<Stmt> rest;
    for (const auto& child : loop->children) {
      const int64_t ahead = filled_ahead(child.get(), loop);
      (ahead > 0 ? fills[ahead] : rest).push_back(lower(child.get()));
    }
    Stmt body = make_seq(std::move(rest));
    facts_.pop_range();
    for (auto p = placements_.rbegin(); p != placements_.rend(); ++p)
      if (p->home == loop) body = make_allocate(p->to, -1, body);
    std::vector<Stmt> first, each;
    for (auto& [ahead, stmts] : fills) {
      const Stmt fill = make_seq(std::move(stmts));
      const Expr later = Expr(loop->var) + ahead;
      each.push_back(make_if(lt(later, loop->extent), clone_with(fill, loop->var, later)));
      for (int64_t i = 0; i < ahead; ++i) first.push_back(clone_with(fill, loop->var, make_int(i)));
    }
    each.push_back(body);
    first.push_back(make_for(loop->var, make_int(0), make_int(loop->extent), loop->loop, make_seq(std::move(each))));
    return make_seq(std::move(first));
  }

  Stmt lower(TreeNode* node) {
    if (node->is_block()) return lower_block(*node->block);
    if (fills_ahead(node)) return lower_filling_ahead(node);
    if (node->is_loop()) facts_.push_range(node->var.get(), 0, node->extent - 1);
    std::vector<Stmt> stmts;
    if (node->prefetch > 0 && node->extent > 1)
      stmts = prefetches_of(node, facts_, [&](const Buffer& b) { return position_outside(b, node); });
    for (const auto& child : node->children) stmts.push_back(lower(child.get()));
    Stmt body = make_seq(std::move(stmts));
    if (node->limit > 0) body = make_if(within_limit(node), body);
    if (node->is_loop()) facts_.pop_range();
    for (auto p = placements_.rbegin(); p != placements_.rend(); ++p)
      if (p->home == node) body = make_allocate(p->to, -1, body);
    // A loop that runs once is no loop: the simplifier has put 0 for its variable.
    return node->is_loop() && node->extent > 1
               ? make_for(node->var, make_int(0), make_int(node->extent), node->loop, body)
               : body;
  }

  // Whether an iteration begins within the limit that annotate() gave its loop.
  Expr within_limit(TreeNode* loop) {
    Buffer limit;
    for_each_block(root_, [&](Block& b, TreeNode*) {
      if (b.out->name == loop->limit_of) limit = b.out;
      for (const BufferNode* read : b.buffers_read())
        if (read->name == loop->limit_of) limit = Buffer(read);
    });
    HONE_ICHECK(limit) << "nothing reads or writes the limit '" << loop->limit_of << "'";
    const VarMap none;
    AccessRewriter rewrite(placements_, none, facts_);
    return le(Expr(loop->var) * loop->limit, rewrite(load(limit, {make_int(0)})));
  }

  // Where `buffer` lies, if it is in memory and the same in all iterations of `loop`.
  std::optional<PlacedBuffer> position_outside(const Buffer& buffer, TreeNode* loop) const {
    if (buffer->scope == BufferScope::kStack) return std::nullopt;
    for (const Placement& p : placements_) {
      if (!p.from.same_as(buffer)) continue;
      return loop->contains(p.scope) ? std::nullopt : std::optional(PlacedBuffer{p.to, p.min});
    }
    return PlacedBuffer{buffer, {}};
  }

  Stmt lower_block(const Block& block) {
    VarMap bindings = block.bindings();
    for (auto& [var, value] : bindings) value = simplify(value, facts_);
    AccessRewriter rewrite(placements_, bindings, facts_);
    std::vector<Expr> spatial, reducing;  // guards
    for (const Expr& p : block.predicates) {
      const Expr guard = simplify(p, facts_);
      if (is_const(guard, 1)) continue;
      (guards_reduction(block, p) ? reducing : spatial).push_back(guard);
    }
    const Expr step = block.step_guard ? simplify(rewrite(block.step_guard), facts_) : make_bool(true);
    const std::optional<Placement> placed = placement_with_padding(rewrite, block.out);
    const Buffer out = placed ? placed->to : block.out;
    const std::vector<Expr> indices = rewrite.position(block.out, block.indices);
    Expr value = rewrite(block.value);
    std::vector<Expr> inside;  // guards that iterations over padding do not fulfil
    if (placed) {
      if (!is_made(block.out)) drop_padding_guards(&spatial, reducing, step, *placed, indices, value);
      inside = take_padding_guards(&spatial, reducing, *placed, indices);
    }
    Stmt store;
    if (block.reduce == ReduceKind::kNone) {
      store = make_store(out, indices, value_or_padding(inside, value, facts_));
    } else {
      const Binary* product = as<Binary>(value);
      const bool fused = block.fused_step && product && product->op == BinaryOp::kMul;
      const Expr old = load(out, indices);
      store = guarded(inside, make_if(step, make_store(out, indices,
                                                       fused ? call(Intrinsic::kFma, {product->a, product->b, old})
                                                             : reduce_combine(block.reduce, old, value))));
      if (block.initializes) {
        Expr first = make_bool(true);
        for (const Iter& i : block.iters)
          if (i.reduce) first = logical_and(first, eq(simplify(i.binding, facts_), make_int(0)));
        store = make_seq(
            {make_if(simplify(first, facts_), make_store(out, indices, reduce_identity(block.reduce, out->dtype))),
             store});
      }
    }
    return guarded(spatial, guarded(reducing, std::move(store)));
  }

  static Stmt guarded(const std::vector<Expr>& guards, Stmt s) {
    for (auto g = guards.rbegin(); g != guards.rend(); ++g) s = make_if(*g, std::move(s));
    return s;
  }

  bool is_made(const Buffer& buffer) const {
    return std::any_of(made_.begin(), made_.end(), [&](const Buffer& b) { return b.same_as(buffer); });
  }

  // The position of a buffer whose readers read padding, too; nothing for a kernel's outputs, and when all guards stay.
  std::optional<Placement> placement_with_padding(const AccessRewriter& rewrite, const Buffer& buffer) const {
    if (const Placement* p = rewrite.placement_of(buffer)) return *p;
    if (is_made(buffer)) return Placement{buffer, buffer, root_, {}, root_, nullptr};
    return std::nullopt;
  }

  // Drops, one by one, the guards that only protect padding: without them the surplus iterations of a tile write
  // elements of an intermediate buffer that are never read. Where an access would then leave its buffer, a weaker guard
  // stays, which is the same for the whole tile: tiles that are all surplus are skipped, the last partial one is
  // overcomputed.
  void drop_padding_guards(std::vector<Expr>* guards, const std::vector<Expr>& reducing, const Expr& step,
                           const Placement& placed, const std::vector<Expr>& indices, const Expr& value) {
    for (Expr& guard : *guards) {
      if (!keeps_elements_apart(guard, placed, indices)) continue;
      const Expr exact = std::exchange(guard, make_bool(true));
      if (in_bounds(*guards, reducing, step, placed, indices, value)) continue;
      guard = guard_of_whole_tile(exact, placed);
      if (!in_bounds(*guards, reducing, step, placed, indices, value)) guard = exact;
    }
    std::erase_if(*guards, [](const Expr& g) { return is_const(g, 1); });
  }

  // Takes away the guards that keep padding of a buffer unwritten: its readers overcompute, and must not read leftovers
  // of another program there. (Denormal numbers make each multiply-add a hundred times as slow.)
  std::vector<Expr> take_padding_guards(std::vector<Expr>* guards, const std::vector<Expr>& reducing,
                                        const Placement& placed, const std::vector<Expr>& indices) {
    std::vector<Expr> taken;
    if (allocation_ != Allocation::kCompact) return taken;
    const Expr always = make_bool(true);
    for (Expr& guard : *guards) {
      if (!keeps_elements_apart(guard, placed, indices) && !element_tells(guard, indices, loops_around(placed)))
        continue;
      const Expr kept = std::exchange(guard, always);
      if (in_bounds(*guards, reducing, always, placed, indices, make_const(0, placed.to->dtype)))
        taken.push_back(kept);
      else
        guard = kept;
    }
    std::erase_if(*guards, [](const Expr& g) { return is_const(g, 1); });
    return taken;
  }

  // The guard `E < n` weakened to the loops around the buffer: it holds wherever `E < n` does, and its value is the
  // same throughout a tile.
  Expr guard_of_whole_tile(const Expr& guard, const Placement& placed) const {
    const Binary* op = as<Binary>(guard);
    const auto e = op && (op->op == BinaryOp::kLt || op->op == BinaryOp::kLe) && as_const_int(op->b) ? linear_of(op->a)
                                                                                                     : std::nullopt;
    if (!e) return guard;
    const std::vector<const VarNode*> fixed = loops_around(placed);
    Linear known, running;
    running.constant = e->constant;
    int64_t unit = 0;
    for (const Linear::Term& t : e->terms) {
      const bool around = uses_only(t.atom, fixed);
      (around ? known : running).terms.push_back(t);
      if (around) unit = std::gcd(unit, t.coefficient);
    }
    int64_t most = *as_const_int(op->b) - (op->op == BinaryOp::kLt);
    const int64_t least = facts_.bounds(running).lo;
    if (unit == 0 || least == Interval::kMin || __builtin_sub_overflow(most, least, &most)) return guard;
    // unit * known + least <= most, rounded: 48 * tile <= 1023 is tile <= 21.
    for (Linear::Term& t : known.terms) t.coefficient /= unit;
    return binary(BinaryOp::kLe, known.to_expr(), make_int(floor_div(most, unit)));
  }

  static std::vector<const VarNode*> loops_around(const Placement& placed) {
    std::vector<const VarNode*> vars;
    for (TreeNode* n = placed.scope; n; n = n->parent)
      if (n->is_loop()) vars.push_back(n->var.get());
    return vars;
  }

  bool in_bounds(const std::vector<Expr>& guards, const std::vector<Expr>& reducing, const Expr& step,
                 const Placement& placed, const std::vector<Expr>& indices, const Expr& value) {
    int n = 0;
    for (const std::vector<Expr>* known : {&guards, &reducing})
      for (const Expr& g : *known) n += facts_.push_condition(g);
    InBounds check(facts_, placements_);
    check.check(placed.to, indices);
    n += facts_.push_condition(step);
    if (check.holds) check(value);
    facts_.pop_facts(n);
    return check.holds;
  }

  // True when surplus iterations, which `guard` turns away, store to other elements than the iterations it lets
  // through. Either the guard has one value throughout a tile, or some index is k * E + r where the guard bounds E and
  // r stays within k values while E is fixed. Otherwise surplus iterations would add to valid elements again.
  bool keeps_elements_apart(const Expr& guard, const Placement& placed, const std::vector<Expr>& indices) const {
    const Binary* op = as<Binary>(guard);
    if (!op || (op->op != BinaryOp::kLt && op->op != BinaryOp::kLe)) return false;
    const Expr& bounded = as_const_int(op->b) ? op->a : op->b;
    const auto e = linear_of(bounded);
    if (!e || e->terms.empty()) return false;
    const std::vector<const VarNode*> fixed = loops_around(placed);
    if (uses_only(bounded, fixed)) return true;
    for (const Expr& index : indices) {
      const auto form = linear_of(index);
      if (!form) continue;
      for (const Linear::Term& t : e->terms) {
        int64_t k = 0;
        for (const Linear::Term& u : form->terms)
          if (equal(u.atom, t.atom) && u.coefficient % t.coefficient == 0) k = u.coefficient / t.coefficient;
        const auto rest = k > 0 ? add(*form, *e, -k) : std::nullopt;
        if (!rest) continue;
        Linear running;
        for (const Linear::Term& u : rest->terms)
          if (!uses_only(u.atom, fixed)) running.terms.push_back(u);
        const Interval range = facts_.bounds(running);
        if (range.lo != Interval::kMin && range.hi != Interval::kMax && range.hi - range.lo < k) return true;
      }
    }
    return false;
  }

  static bool guards_reduction(const Block& block, const Expr& guard) {
    class Vars final : public Visitor {
     public:
      std::vector<const VarNode*> all;

     protected:
      using Visitor::visit;
      void visit(const VarNode* op) override { all.push_back(op); }
    } vars;
    vars(guard);
    for (const VarNode* v : vars.all)
      for (const Iter& i : block.iters)
        if (i.reduce && uses_var(i.binding, v)) return true;
    return false;
  }

  TreeNode* root_;
  Allocation allocation_;
  std::vector<Buffer> made_;
  std::vector<Placement> placements_;
  Facts facts_;
};

}  // namespace

Function lower_blocks(const Schedule& schedule, Allocation allocation) {
  Function f;
  f.name = "kernel";
  for (const ScheduledParam& p : schedule.params()) {
    if (p.packed.empty()) f.params.push_back(p.buffer);
    f.params.insert(f.params.end(), p.packed.begin(), p.packed.end());
  }
  f.body = BlockLowering(schedule.root(), allocation).run();
  return f;
}

Function lower_blocks(const PrepackNest& nest, Allocation allocation) {
  Function f;
  f.name = "prepack_" + nest.logical->name;
  f.params = {nest.logical};
  f.params.insert(f.params.end(), nest.packed.begin(), nest.packed.end());
  f.body = BlockLowering(nest.root.get(), allocation, nest.packed).run();
  return f;
}

}  // namespace hone
