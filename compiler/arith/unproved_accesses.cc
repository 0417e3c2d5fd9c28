#include "compiler/arith/unproved_accesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/arith/access_proof.h"
#include "compiler/arith/lanes.h"
#include "compiler/ir/printer.h"

namespace hone {
namespace {

bool same_terms(const Linear& a, const Linear& b) {
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const Linear::Term& x, const Linear::Term& y) {
                      return x.coefficient == y.coefficient && equal(x.atom, y.atom);
                    });
}

// An access is compared with this many of the latest groups: a template's program has a few dozen under the same
// conditions.
constexpr size_t kMostSearched = 64;

// The value of a condition that constants alone decide: passes leave branches that are never taken.
std::optional<bool> constant_truth(const Expr& e) {
  if (const IntImm* imm = as<IntImm>(e)) return imm->value != 0;
  if (const Not* op = as<Not>(e)) {
    const auto inner = constant_truth(op->value);
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  const Binary* op = as<Binary>(e);
  if (!op || (op->op != BinaryOp::kAnd && op->op != BinaryOp::kOr)) return std::nullopt;
  const bool deciding = op->op == BinaryOp::kOr;  // the operand's value that decides alone
  const auto a = constant_truth(op->a), b = constant_truth(op->b);
  if (a == deciding || b == deciding) return deciding;
  return a && b ? std::optional(!deciding) : std::nullopt;
}

class EmissionProver {
 public:
  explicit EmissionProver(const EmissionContext& context) : context_(context) {}

  std::vector<Unproved> run(const Stmt& s) {
    for (const auto& [var, range] : context_.variables) (void)prover_.push_variable(var, range);
    visit(s);
    prove_from(0);
    return std::move(unproved_);
  }

 private:
  // Accesses under the same conditions whose indices differ by a constant only.
  struct Member {
    int64_t lo, hi;  // range of that constant: a vector's first and last lane
    Expr load;       // null: `store`
    const Store* store;
  };
  struct Group {
    const BufferNode* buffer;
    Linear form;  // the index without its constant
    int64_t lo, hi;
    std::vector<Member> members;
  };

  // --- statements ---

  void visit(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::kFor: return visit_for(as<For>(s));
      case StmtKind::kStore: return visit_store(as<Store>(s));
      case StmtKind::kSeq:
        for (const Stmt& child : as<Seq>(s)->stmts) visit(child);
        return;
      case StmtKind::kIf: {
        const If* op = as<If>(s);
        visit(op->condition);
        under(op->condition, true, [&] { visit(op->then_case); });
        if (op->else_case) under(op->condition, false, [&] { visit(op->else_case); });
        return;
      }
      case StmtKind::kAllocate: return visit(as<Allocate>(s)->body);
      case StmtKind::kPrefetch:  // no access: its address may lie outside, but its indices may load
        for (const Expr& i : as<Prefetch>(s)->indices) visit(i);
        return;
      case StmtKind::kBarrier: return;
    }
  }

  void visit_for(const For* op) {
    visit(op->min);
    visit(op->extent);
    push_conditions();
    const auto scope = prover_.push_loop(op->var.get(), op->min, op->extent);
    const size_t first = groups_.size();
    first_group_.push_back(first);
    visit(op->body);
    first_group_.pop_back();
    prove_from(first);
    prover_.pop(scope);
  }

  void visit_store(const Store* op) {
    const int lanes = op->value->dtype.lanes;
    with_lanes(lanes, op->mask && op->mask->dtype.is_vector(), [&] {
      const auto all = [&] {
        for (const Expr& i : op->indices) visit(i);
        visit(op->value);
        access(op->buffer, op->indices, lanes, Expr(), op);
      };
      if (!op->mask) return all();
      visit(op->mask);
      under(op->mask, true, all);
    });
  }

  // --- expressions ---

  void visit(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kIntImm:
      case ExprKind::kFloatImm:
      case ExprKind::kVar: return;
      case ExprKind::kCast: return visit(as<Cast>(e)->value);
      case ExprKind::kBinary: visit(as<Binary>(e)->a); return visit(as<Binary>(e)->b);
      case ExprKind::kNot: return visit(as<Not>(e)->value);
      case ExprKind::kSelect: {
        const Select* op = as<Select>(e);
        visit(op->condition);
        with_lanes(e->dtype.lanes, op->condition->dtype.is_vector() && op->condition->kind != ExprKind::kBroadcast,
                   [&] {
                     under(op->condition, true, [&] { visit(op->on_true); });
                     under(op->condition, false, [&] { visit(op->on_false); });
                   });
        return;
      }
      case ExprKind::kLoad: {
        const Load* op = as<Load>(e);
        for (const Expr& i : op->indices) visit(i);
        return access(op->buffer, op->indices, e->dtype.lanes, e, nullptr);
      }
      case ExprKind::kRamp: visit(as<Ramp>(e)->base); return visit(as<Ramp>(e)->stride);
      case ExprKind::kBroadcast: return visit(as<Broadcast>(e)->value);
      case ExprKind::kCall:
        for (const Expr& a : as<Call>(e)->args) visit(a);
        return;
    }
  }

  // Runs `inside` with `condition` known to be `truth`. Most accesses are proved without it: it becomes a fact only
  // when one is not.
  template <class F>
  void under(const Expr& condition, bool truth, const F& inside) {
    const Expr scalar = lane_of(condition, lane_);
    if (constant_truth(scalar) == !truth) return;
    conditions_.push_back({scalar, truth, {}});
    const size_t first = groups_.size();
    first_group_.push_back(first);
    inside();
    first_group_.pop_back();
    prove_from(first);
    if (conditions_.size() == pushed_) {
      prover_.pop(conditions_.back().scope);
      --pushed_;
    }
    conditions_.pop_back();
  }

  // Turns the open conditions into facts of the prover.
  void push_conditions() {
    for (; pushed_ < conditions_.size(); ++pushed_) {
      Condition& c = conditions_[pushed_];
      c.scope = prover_.push_condition(c.condition, c.truth);
    }
  }

  // Runs `inside` for an arbitrary lane of `lanes`, if its accesses depend on the lane. All vectors of a statement have
  // the same length.
  template <class F>
  void with_lanes(int lanes, bool needed, const F& inside) {
    if (!needed || lanes == 1 || lane_) return inside();
    push_conditions();
    const Var lane("lane");
    const auto scope = prover_.push_loop(lane.get(), make_int(0), make_int(lanes));
    const size_t first = groups_.size();
    first_group_.push_back(first);
    lane_ = lane;
    inside();
    lane_ = Expr();
    first_group_.pop_back();
    prove_from(first);
    prover_.pop(scope);
  }

  // --- accesses ---

  void access(const Buffer& b, const std::vector<Expr>& indices, int lanes, const Expr& load, const Store* store) {
    if (context_.is_checked && context_.is_checked(b.get())) return;
    if (indices.size() == 1 && !(lane_ && lanes > 1) && add_to_group(b, indices[0], load, store)) return;
    with_lanes(lanes, true, [&] {
      std::vector<Expr> scalars;
      for (const Expr& i : indices) scalars.push_back(lane_of(i, lane_));
      push_conditions();
      if (prover_.check(scalars, b->shape) != AccessProver::Verdict::kProved) report(load, store);
    });
  }

  // False when the index has no linear form, or its lanes are no arithmetic sequence of constant steps.
  bool add_to_group(const Buffer& b, const Expr& index, const Expr& load, const Store* store) {
    const Ramp* ramp = as<Ramp>(index);
    const Broadcast* same = as<Broadcast>(index);
    if (index->dtype.is_vector() && !ramp && !same) return false;
    const auto step = ramp ? as_const_int(ramp->stride) : std::optional<int64_t>(0);
    auto form = prover_.form_of(ramp ? ramp->base : same ? same->value : index);
    int64_t last;
    if (!step || !form || __builtin_mul_overflow(*step, int64_t{index->dtype.lanes} - 1, &last) ||
        __builtin_add_overflow(last, form->constant, &last))
      return false;
    Member member{std::min(last, form->constant), std::max(last, form->constant), load, store};
    form->constant = 0;
    size_t first = first_group_.empty() ? 0 : first_group_.back();
    if (groups_.size() > kMostSearched) first = std::max(first, groups_.size() - kMostSearched);
    for (size_t i = groups_.size(); i-- > first;) {
      Group& g = groups_[i];
      if (g.buffer != b.get() || !same_terms(g.form, *form)) continue;
      g.lo = std::min(g.lo, member.lo);
      g.hi = std::max(g.hi, member.hi);
      g.members.push_back(std::move(member));
      return true;
    }
    const int64_t lo = member.lo, hi = member.hi;
    groups_.push_back({b.get(), std::move(*form), lo, hi, {}});
    groups_.back().members.push_back(std::move(member));
    return true;
  }

  // Proves the groups from `first` on, while their conditions are known, and drops them.
  void prove_from(size_t first) {
    for (size_t i = first; i < groups_.size(); ++i) {
      const Group& g = groups_[i];
      const std::optional<int64_t> extent = elements_of(g.buffer);
      if (extent && prover_.ranges_prove_inside(g.form, g.lo, g.hi, *extent)) continue;
      push_conditions();  // without the conditions a search would take longest where it fails
      const auto proved = [&](int64_t lo, int64_t hi) {
        return extent && prover_.proves_inside(g.form, lo, hi, *extent);
      };
      if (proved(g.lo, g.hi)) continue;
      for (const Member& m : g.members)
        if (g.members.size() == 1 || !proved(m.lo, m.hi)) report(m.load, m.store);
    }
    groups_.resize(first);
  }

  std::optional<int64_t> elements_of(const BufferNode* b) {
    const auto [position, is_new] = elements_.try_emplace(b, 1);
    if (!is_new) return position->second;
    for (const Expr& n : b->shape) {
      const auto extent = as_const_int(n);
      if (!extent || *extent < 0 || !position->second ||
          __builtin_mul_overflow(*position->second, *extent, &*position->second))
        position->second.reset();
    }
    return position->second;
  }

  void report(const Expr& load, const Store* store) {
    const void* node = load ? static_cast<const void*>(load.get()) : store;
    if (reported_.insert(node).second)
      unproved_.push_back({to_string(load ? load : hone::load(store->buffer, store->indices)), node});
  }

  const EmissionContext& context_;
  AccessProver prover_;
  Expr lane_;  // null outside of with_lanes()
  struct Condition {
    Expr condition;
    bool truth;
    AccessProver::Scope scope;
  };
  std::vector<Condition> conditions_;  // conditions around the statement, outermost first
  size_t pushed_ = 0;                  // how many of them, from the outermost, are facts
  std::vector<Group> groups_;
  std::vector<size_t> first_group_;  // for each open scope, its first group
  std::unordered_map<const BufferNode*, std::optional<int64_t>> elements_;
  std::vector<Unproved> unproved_;
  std::unordered_set<const void*> reported_;
};

}  // namespace

UnprovedAccess::UnprovedAccess(const std::vector<Unproved>& unproved)
    : UserError(fmt::format("{} of its accesses cannot be proved to stay within their buffers, and code for GPUs has "
                            "no checks; the first: {}",
                            unproved.size(), unproved.at(0).access)) {}

std::vector<Unproved> unproved_accesses(const Stmt& s, const EmissionContext& context) {
  return EmissionProver(context).run(s);
}

}  // namespace hone
