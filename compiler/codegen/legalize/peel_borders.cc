// for x in 0..8: S(x)   ->   S(0);  for x in 1..7: S(x);  S(7)
// where only the first and the last x can break conditions of S: these are then decided, in the middle by simplify(),
// at the ends by unrolling.
#include <algorithm>

#include "compiler/arith/bounds.h"
#include "compiler/codegen/legalize/conditions.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// Peeling is worth its copies where conditions guard at least this share of the stores, one by one. The stores of a
// tile behind its reduction do not count.
constexpr int64_t kShareOfWork = 4;
constexpr int64_t kMaxPeeled = 2;         // iterations peeled at each end
constexpr int64_t kMaxAllCopies = 4;      // iterations of a loop that is all border
constexpr int64_t kMaxStatements = 4096;  // stores that peeling may add to a kernel, after unrolling
// A condition around more statements than this costs nothing as a branch.
constexpr int64_t kMaxGuarded = 64;

// Finds the iterations of a loop that fulfil all conditions in its body which depend on its variable and on inner loops
// only.
class BorderFinder final : public Visitor {
 public:
  BorderFinder(const VarNode* var, int64_t extent) : last(extent - 1), var_(var), extent_(extent) {}
  int64_t first = 0, last;  // iterations before and after these break conditions
  int64_t guarded = 0;      // stores behind such conditions, in one run of the body

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const auto lo = as_const_int(op->min), n = as_const_int(op->extent);
    const bool known = lo && *lo == 0 && n && *n > 0 && *n <= kMostCounted;
    const int64_t outer = times_;
    if (known) {
      inner_.push_back(op->var.get());
      facts_.push_range(op->var.get(), 0, *n - 1);
      if (op->loop != LoopKind::kVectorize) times_ = saturating_product(times_, *n);
    }
    Visitor::visit(op);
    times_ = outer;
    if (known) inner_.pop_back(), facts_.pop_range();
  }
  void visit(const If* op) override {
    const int64_t stores = size_of(op->then_case).run;
    if (stores <= kMaxGuarded) add(op->condition, stores);
    Visitor::visit(op);
  }
  void visit(const Select* op) override {
    if (op->condition->dtype.lanes == 1) add(op->condition, 1);
    Visitor::visit(op);
  }

 private:
  void add(const Expr& condition, int64_t stores) {
    bool found = false;
    for (const Expr& part : conjuncts(condition)) found = narrow(part) || found;
    if (found) guarded = saturating_sum(guarded, saturating_product(times_, stores));
  }

  // a * var + (inner loops) >= 0 for all values of the inner loops: a bound on var. True when it excludes some
  // iteration.
  bool narrow(const Expr& condition) {
    const auto form = nonnegative_form(condition);
    const int64_t a = form ? form->coefficient_of(var_) : 0;
    if (a == 0 || a == INT64_MIN) return false;
    Linear rest;
    rest.constant = form->constant;
    for (const Linear::Term& t : form->terms) {
      if (t.atom.get() == var_) continue;
      if (!is_inner(t.atom)) return false;
      rest.terms.push_back(t);
    }
    const int64_t least = facts_.bounds(rest).lo;
    if (least == Interval::kMin) return false;
    const int64_t from = a > 0 ? -floor_div(least, a) : 0, to = a < 0 ? floor_div(least, -a) : kMostCounted;
    if (from <= 0 && to >= extent_ - 1) return false;
    first = std::max(first, std::min(from, extent_));
    last = std::min(last, std::max<int64_t>(to, -1));
    return true;
  }

  // Whether `atom` is an inner loop's variable, or made of such alone: v floordiv 4.
  bool is_inner(const Expr& atom) const {
    if (atom->kind == ExprKind::kVar) return std::find(inner_.begin(), inner_.end(), atom.get()) != inner_.end();
    const Binary* op = as<Binary>(atom);
    return op ? is_inner(op->a) && is_inner(op->b) : atom->kind == ExprKind::kIntImm;
  }

  const VarNode* var_;
  const int64_t extent_;
  Facts facts_;
  std::vector<const ExprNode*> inner_;
  int64_t times_ = 1;
};

class BorderPeeler final : public Mutator {
 protected:
  using Mutator::visit;
  Stmt visit(const For* op) override {
    const auto lo = as_const_int(op->min), n = as_const_int(op->extent);
    if (op->loop == LoopKind::kSerial && lo && *lo == 0 && n && *n > 1)
      if (const Stmt peeled = peel(op, *n)) return Mutator::operator()(peeled);
    return Mutator::visit(op);
  }

 private:
  // Null when peeling is not worth it.
  Stmt peel(const For* op, int64_t n) {
    BorderFinder border(op->var.get(), n);
    border(op->body);
    const StatementCount size = size_of(op->body);
    if (border.guarded == 0 || border.guarded < size.run / kShareOfWork) return Stmt();
    const int64_t front = std::clamp<int64_t>(border.first, 0, n),
                  back = std::clamp<int64_t>(n - 1 - border.last, 0, n - front);
    if (front + back == 0) return Stmt();
    if (front + back == n) {
      if (n > kMaxAllCopies) return Stmt();
    } else if (front > kMaxPeeled || back > kMaxPeeled) {
      return Stmt();
    }
    const int64_t middle = n - front - back;
    const int64_t growth = size.written * (front + back - (middle == 0));
    if (growth > kMaxStatements - grown_) return Stmt();
    grown_ += growth;
    std::vector<Stmt> out;
    for (int64_t i = 0; i < front; ++i) out.push_back(clone_with(op->body, op->var, make_int(i)));
    if (middle == 1) out.push_back(clone_with(op->body, op->var, make_int(front)));
    if (middle > 1) {
      // The middle loop is made to start from 0; the border's conditions hold in it for every value of its variable.
      const Var x(op->var->name, op->var->dtype);
      out.push_back(make_for(x, make_int(0), make_int(middle), LoopKind::kSerial,
                             clone_with(op->body, op->var, Expr(x) + front)));
    }
    for (int64_t i = n - back; i < n; ++i) out.push_back(clone_with(op->body, op->var, make_int(i)));
    return make_seq(std::move(out));
  }

  int64_t grown_ = 0;
};

}  // namespace

Stmt peel_borders(const Stmt& s) { return BorderPeeler()(s); }

}  // namespace hone
