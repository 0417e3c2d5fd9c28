#include "compiler/arith/in_place.h"

#include <algorithm>
#include <cstdlib>

#include "compiler/arith/access_proof.h"
#include "compiler/ir/visitor.h"

namespace hone {
namespace {

// A part of a variable's value: floormod(floordiv(var, from), to / from); without a bound above, floordiv(var, from).
struct Digits {
  const VarNode* var = nullptr;
  int64_t from = 1, to = Interval::kMax;
};

std::optional<Digits> digits_of(const Expr& atom) {
  if (const VarNode* v = as<VarNode>(atom)) return Digits{v};
  const Binary* op = as<Binary>(atom);
  if (!op || (op->op != BinaryOp::kFloorDiv && op->op != BinaryOp::kFloorMod)) return std::nullopt;
  const auto by = as_const_int(op->b);
  auto d = digits_of(op->a);
  if (!by || *by < 1 || !d) return std::nullopt;
  int64_t scaled = 0;
  if (__builtin_mul_overflow(d->from, *by, &scaled)) return std::nullopt;
  if (d->to != Interval::kMax && d->to % scaled != 0) return std::nullopt;
  (op->op == BinaryOp::kFloorDiv ? d->from : d->to) = scaled;
  return d;
}

class InPlaceProof final : public Visitor {
 public:
  InPlaceProof(const BufferNode* input, const BufferNode* output) : input_(input), output_(output) {}

  bool holds() const { return holds_; }
  int stores() const { return stores_; }

 protected:
  using Visitor::visit;

  void visit(const For* op) override {
    const auto scope = prover_.push_loop(op->var.get(), op->min, op->extent);
    loops_.push_back(op);
    Visitor::visit(op);
    loops_.pop_back();
    prover_.pop(scope);
  }

  void visit(const If* op) override {
    (*this)(op->condition);
    auto scope = prover_.push_condition(op->condition, true);
    (*this)(op->then_case);
    prover_.pop(scope);
    if (!op->else_case) return;
    scope = prover_.push_condition(op->condition, false);
    (*this)(op->else_case);
    prover_.pop(scope);
  }

  void visit(const Store* op) override {
    if (op->buffer.get() == input_) holds_ = false;
    if (op->buffer.get() != output_) return Visitor::visit(op);
    ++stores_;
    holds_ = holds_ && !op->mask && op->indices.size() == 1 && writes_each_once(op->indices[0]);
    if (!holds_) return;
    own_ = &op->indices[0];
    (*this)(op->value);
    own_ = nullptr;
    (*this)(op->indices[0]);
  }

  void visit(const Load* op) override {
    if (op->buffer.get() == output_) holds_ = false;
    if (op->buffer.get() == input_) holds_ = holds_ && own_ && op->indices.size() == 1 && equal(op->indices[0], *own_);
    Visitor::visit(op);
  }

  void visit(const Prefetch*) override {}  // a hint reads nothing

 private:
  // Whether different iterations of the loops around have different values of `index`. True for a number in mixed radix
  // whose digits are the loops' variables, or parts of them, when the digits determine the iteration. By the ranges and
  // conditions that hold here, the sum of all lower digits spans less than one step of the next.
  bool writes_each_once(const Expr& index) {
    auto form = prover_.form_of(index);
    if (!form) return false;
    std::vector<Linear::Term> digits(form->terms.begin(), form->terms.end());
    for (const Linear::Term& t : digits)
      if (t.coefficient == Interval::kMin) return false;
    std::stable_sort(digits.begin(), digits.end(), [](const Linear::Term& a, const Linear::Term& b) {
      return std::abs(a.coefficient) < std::abs(b.coefficient);
    });
    Linear below;
    for (const Linear::Term& digit : digits) {
      const Interval range = prover_.bounds(below.to_expr());
      int64_t width = 0;
      if (range.lo == Interval::kMin || range.hi == Interval::kMax || range.lo > range.hi ||
          __builtin_sub_overflow(range.hi, range.lo, &width) || width >= std::abs(digit.coefficient))
        return false;
      below.terms.push_back(digit);
    }
    const Interval all = prover_.bounds(below.to_expr());
    if (all.lo == Interval::kMin || all.hi == Interval::kMax) return false;  // it might wrap around
    return std::all_of(loops_.begin(), loops_.end(), [&](const For* op) { return determines(digits, op); });
  }

  // Whether the digits say which iteration of a loop it is.
  static bool determines(const std::vector<Linear::Term>& digits, const For* op) {
    const auto extent = as_const_int(op->extent), min = as_const_int(op->min);
    if (!extent || min != int64_t{0}) return false;
    int64_t known = 1;  // all digits of the variable below this one
    for (bool goes_on = true; goes_on && known < *extent;) {
      goes_on = false;
      for (const Linear::Term& t : digits) {
        const auto d = digits_of(t.atom);
        if (!d || d->var != op->var.get() || d->from != known || d->to <= known) continue;
        known = d->to;
        goes_on = true;
      }
    }
    return known >= *extent;
  }

  const BufferNode* const input_;
  const BufferNode* const output_;
  AccessProver prover_;
  std::vector<const For*> loops_;
  const Expr* own_ = nullptr;  // inside a value that is stored to the output: the element
  int stores_ = 0;
  bool holds_ = true;
};

}  // namespace

bool may_run_in_place(const Module& m, size_t input, size_t output) {
  int stores = 0;
  for (const Function& kernel : m.kernels) {
    if (input >= kernel.params.size() || output >= kernel.params.size()) return false;
    const Buffer &in = kernel.params[input], &out = kernel.params[output];
    if (in->dtype != out->dtype) return false;
    InPlaceProof proof(in.get(), out.get());
    proof(kernel.body);
    if (!proof.holds()) return false;
    stores += proof.stores();
  }
  return stores == 1;
}

}  // namespace hone
