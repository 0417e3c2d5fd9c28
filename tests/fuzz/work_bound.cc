#include "tests/fuzz/work_bound.h"

#include <algorithm>

#include "compiler/arith/bounds.h"
#include "compiler/ir/visitor.h"

namespace hone::fuzz {
namespace {

class Counter final : public Visitor {
 public:
  int64_t total = 0;

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const Interval n = facts_.bounds(op->extent);
    if (n.hi != Interval::kMax && n.hi <= 0) return;
    facts_.push_loop(op->var.get(), op->min, op->extent);
    const int64_t outer = times_;
    if (n.hi == Interval::kMax || __builtin_mul_overflow(times_, n.hi, &times_)) times_ = INT64_MAX;
    add();
    (*this)(op->body);
    times_ = outer;
    facts_.pop_range();
  }
  void visit(const Store* op) override {
    const int64_t outer = times_;
    if (__builtin_mul_overflow(times_, int64_t{op->value->dtype.lanes}, &times_)) times_ = INT64_MAX;
    Visitor::visit(op);
    times_ = outer;
  }
  void visit(const Allocate* op) override {
    // The interpreter clears a buffer's marks when it allocates it.
    const auto n = op->buffer->shape.empty() ? std::optional<int64_t>(1) : as_const_int(op->buffer->shape[0]);
    for (int64_t i = 0; i < std::min<int64_t>(n.value_or(1) / 64, 1 << 20); ++i) add();
    Visitor::visit(op);
  }
  void visit(const IntImm*) override { add(); }
  void visit(const FloatImm*) override { add(); }
  void visit(const VarNode*) override { add(); }

 private:
  void add() {
    if (__builtin_add_overflow(total, times_, &total)) total = INT64_MAX;
  }

  int64_t times_ = 1;
  Facts facts_;
};

}  // namespace

int64_t work_bound(const Function& f) {
  Counter count;
  count(f.body);
  return count.total;
}

int64_t work_bound(const Module& m) {
  int64_t total = 0;
  const auto add = [&](const Function& f) {
    if (__builtin_add_overflow(total, work_bound(f), &total)) total = INT64_MAX;
  };
  for (const Function& f : m.kernels) add(f);
  for (const Prepack& p : m.prepacks) add(p.function);
  return total;
}

}  // namespace hone::fuzz
