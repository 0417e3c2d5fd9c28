// for i in 0..3 unroll: S(i)   ->   S(0); S(1); S(2)
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/mutator.h"

namespace hone {
namespace {

// One walk per final copy: the values of all enclosing unrolled variables travel along, so nested loops are not copied
// level by level.
class LoopUnroller final : public Mutator {
 public:
  using Mutator::operator();

 protected:
  using Mutator::visit;

  Expr visit(const VarNode* op) override {
    for (auto it = values_.rbegin(); it != values_.rend(); ++it)
      if (it->first == op) return it->second;
    return Expr(op);
  }

  Stmt visit(const For* op) override {
    const Expr lo = (*this)(op->min), n = (*this)(op->extent);
    if (op->loop != LoopKind::kUnroll) {
      count_branch();
      if (values_.empty()) {
        Stmt body = (*this)(op->body);
        if (lo.same_as(op->min) && n.same_as(op->extent) && body.same_as(op->body)) return Stmt(op);
        return make_for(op->var, lo, n, op->loop, std::move(body));
      }
      const Var fresh(op->var->name, op->var->dtype);  // a copy must not define a variable twice
      values_.emplace_back(op->var.get(), fresh);
      Stmt body = (*this)(op->body);
      values_.pop_back();
      return make_for(fresh, lo, n, op->loop, std::move(body));
    }
    const auto extent = as_const_int(n);
    HONE_ICHECK(extent) << "unrolled loop " << op->var->name << " has no constant extent";
    std::vector<Stmt> copies;
    for (int64_t i = 0; i < *extent; ++i) {
      count_branch();
      values_.emplace_back(op->var.get(), lo + i);
      copies.push_back((*this)(op->body));
      values_.pop_back();
    }
    return make_seq(std::move(copies));
  }

  Stmt visit(const Store* op) override {
    count_copy();
    return Mutator::visit(op);
  }
  Stmt visit(const Prefetch* op) override {
    count_copy();
    return Mutator::visit(op);
  }
  Stmt visit(const If* op) override {
    count_branch();
    return Mutator::visit(op);
  }

 private:
  // verify() limits these too; a Module that skipped it must not take the machine's memory.
  void count_copy() {
    HONE_USER_CHECK(++stores_ <= kMaxStores) << "unrolling makes more than " << kMaxStores << " statements";
  }
  void count_branch() {
    HONE_USER_CHECK(++branches_ <= kMaxBranches)
        << "unrolling makes more than " << kMaxBranches << " loops and branches";
  }

  static constexpr int64_t kMaxStores = 1 << 16, kMaxBranches = 1 << 18;
  VarMap values_;
  int64_t stores_ = 0, branches_ = 0;
};

}  // namespace

Stmt unroll_loops(const Stmt& s) { return LoopUnroller()(s); }

}  // namespace hone
