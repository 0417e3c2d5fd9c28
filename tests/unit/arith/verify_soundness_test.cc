// Whatever verify() accepts as proved, the interpreter runs without leaving a buffer: on random edits of legal programs.
#include <gtest/gtest.h>

#include <random>

#include "compiler/arith/bounds.h"
#include "compiler/arith/verify.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

// Changes one node in about `1 / rate`: a constant, a variable, an operator, a loop's extent, a condition, a buffer's place in an access.
class Editor final : public Mutator {
 public:
  Editor(std::mt19937& random, int rate) : random_(random), rate_(rate) {}
  int edits = 0;

 protected:
  using Mutator::visit;

  Expr visit(const IntImm* op) override {
    if (op->dtype != kIndex || !hit()) return Expr(op);
    static constexpr int64_t kSteps[] = {-8, -2, -1, 1, 2, 7, 16};
    switch (below(8)) {
      case 0: return make_int(0);
      case 1: return make_int(op->value * 2);
      case 2: return make_int(below(2) ? INT64_MAX - below(10) : INT64_MIN + below(10));
      case 3: return make_int(int64_t{1} << (40 + below(23)));
      default: return make_int(op->value + kSteps[below(7)]);
    }
  }
  Expr visit(const VarNode* op) override {
    if (scope_.empty() || !hit()) return Expr(op);
    return Expr(scope_[static_cast<size_t>(below(static_cast<int>(scope_.size())))]);
  }
  Expr visit(const Binary* op) override {
    const Expr e = Mutator::visit(op);
    const Binary* b = as<Binary>(e);
    if (!b || b->a->dtype != kIndex || !hit()) return e;
    if (b->dtype.is_bool()) {
      static constexpr BinaryOp kComparisons[] = {BinaryOp::kLt, BinaryOp::kLe, BinaryOp::kEq, BinaryOp::kNe};
      const BinaryOp chosen = kComparisons[below(4)];
      return below(3) ? binary(chosen, b->a, b->b) : logical_not(binary(chosen, b->b, b->a));
    }
    static constexpr BinaryOp kArithmetic[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kFloorDiv, BinaryOp::kFloorMod, BinaryOp::kMin, BinaryOp::kMax};
    return below(3) ? binary(kArithmetic[below(7)], b->a, b->b) : floor_mod(e, 1 + below(9));
  }
  Stmt visit(const For* op) override {
    Expr lo = (*this)(op->min), n = (*this)(op->extent);
    scope_.push_back(op->var);
    Stmt body = (*this)(op->body);
    scope_.pop_back();
    if (scope_.empty() || !hit()) return make_for(op->var, lo, n, op->loop, body);
    // An extent or minimum that depends on an outer loop.
    const Expr outer = scope_.back();
    if (below(2)) return make_for(op->var, lo, max(min(n, n + 2 - outer), make_int(0)), LoopKind::kSerial, body);
    return make_for(op->var, outer, n, LoopKind::kSerial, body);
  }
  Stmt visit(const If* op) override {
    const Stmt s = Mutator::visit(op);
    const If* i = as<If>(s);
    if (!i || !hit()) return s;
    return below(2) ? make_if(logical_not(i->condition), i->then_case, i->else_case) : i->then_case;
  }

 private:
  bool hit() {
    const bool yes = below(rate_) == 0;
    edits += yes;
    return yes;
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  std::mt19937& random_;
  int rate_;
  std::vector<Var> scope_;
};

// Programs of the shapes that templates make, in multi-dimensional and flat form.
std::vector<Function> seeds() {
  const Var io("io"), ii("ii"), j("j"), k("k");
  const Buffer a = make_buffer("A", f32, {30}), b = make_buffer("B", f32, {5, 6}), c = make_buffer("C", f32, {30});
  const Expr x = Expr(io) * 8 + ii, padded = x + j - 1;
  const Stmt tails = serial(io, 4, serial(ii, 8, make_if(lt(x, 30), make_store(c, {x}, load(a, {x})))));
  const Expr inside = logical_and(le(make_int(0), padded), lt(padded, 30));
  const Stmt pads = serial(io, 4, serial(ii, 8, make_if(lt(x, 30), serial(j, 3, make_store(c, {x}, select(inside, load(a, {padded}), make_float(0)))))));
  const Stmt fused = serial(k, 32, make_if(logical_and(lt(k, 30), ge(k, 0)), make_store(b, {floor_div(k, 6), floor_mod(k, 6)}, load(c, {floor_div(k, 6) * 6 + floor_mod(k, 6)}))));
  const Expr n = min(make_int(8), make_int(30) - Expr(io) * 8);
  const Stmt shrunk = serial(io, 4, make_for(ii, make_int(0), n, LoopKind::kSerial, make_store(c, {x}, load(a, {x}))));
  const Stmt triangle = serial(io, 5, make_for(ii, io, make_int(6) - io, LoopKind::kSerial, make_store(b, {io, ii}, load(a, {Expr(ii) - io}))));
  const Expr ramp(new Ramp(Expr(io) * 8, make_int(1), 8));
  const Stmt masked = serial(io, 4, make_store(c, {ramp}, load(a, {ramp}), lt(ramp, make_const(30, kIndex.with_lanes(8)))));
  const Expr f = Expr(io) * 12 + Expr(ii) * 4 + j, q = floor_div(f, 5);
  const Stmt deep = serial(io, 3, serial(ii, 3, serial(j, 4, make_if(lt(f, 30), make_store(c, {floor_div(q, 2) * 10 + floor_mod(q, 2) * 5 + floor_mod(f, 5)}, load(b, {floor_div(f, 6), floor_mod(f, 6)}))))));
  const Buffer t = make_buffer("t", f32, {10}, BufferScope::kStack);
  const Stmt staged = serial(io, 4, make_allocate(t, -1, make_seq({serial(j, 10, make_store(t, {j}, select(lt(Expr(io) * 8 + j, 30), load(a, {Expr(io) * 8 + j}), make_float(0)))),
                                                                   serial(ii, 8, make_if(lt(x, 30), make_store(c, {x}, load(t, {ii}) + load(t, {Expr(ii) + 2}))))})));
  std::vector<Function> all;
  for (const Stmt& s : {tails, pads, fused, shrunk, triangle, masked, deep, staged}) all.push_back({"f", {a, b, c}, {}, s});
  all.push_back(sample_module().kernels[0]);
  return all;
}

// Loop steps at most: to leave out what would run for ever.
class Cost final : public Visitor {
 public:
  double steps = 0;

 protected:
  using Visitor::visit;
  void visit(const For* op) override {
    const Interval lo = ranges_.bounds(op->min), n = ranges_.bounds(op->extent);
    const double outer = factor_;
    factor_ *= std::max(static_cast<double>(n.hi), 1.0);
    steps += factor_;
    const bool known = lo.lo > -1000 && lo.hi < 1000 && n.hi < 1000;
    ranges_.push_range(op->var.get(), known ? lo.lo : Interval::kMin, known ? lo.hi + n.hi : Interval::kMax);
    Visitor::visit(op);
    ranges_.pop_range();
    factor_ = outer;
  }

 private:
  double factor_ = 1;
  Facts ranges_;
};

TEST(VerifySoundness, WhatIsProvedRunsInsideItsBuffers) {
  std::mt19937 random(3);
  const std::vector<Function> programs = seeds();
  for (const Function& f : programs) EXPECT_TRUE(verify(f).empty()) << to_string(f);
  int proved = 0, edited = 0, refused = 0, unproved = 0, faults = 0;
  for (int round = 0; round < 30000; ++round) {
    Function f = programs[static_cast<size_t>(round) % programs.size()];
    Editor edit(random, 12 + round % 30);
    f.body = edit(f.body);
    if (edit.edits == 0) continue;
    ++edited;
    Cost cost;
    cost(f.body);
    bool accepted = false;
    try {
      accepted = verify(f).empty();
      unproved += !accepted;
    } catch (const UserError&) {
      ++refused;
      continue;
    }
    if (cost.steps > 20000) continue;
    std::vector<std::vector<float>> tensors;
    std::vector<InterpArg> args;
    for (const Buffer& b : f.params) {
      int64_t size = 1;
      for (const Expr& n : b->shape) size *= *as_const_int(n);
      tensors.emplace_back(static_cast<size_t>(size), 1.0f);
      args.push_back({tensors.back().data(), size});
    }
    try {
      interpret(f, args);
    } catch (const UserError& e) {
      const std::string what = e.what();
      const bool left = what.find("outside its extent") != std::string::npos || what.find("by zero") != std::string::npos;
      faults += left;
      ASSERT_FALSE(accepted && left) << what << "\n" << to_string(f);
    }
    proved += accepted;
  }
  // The test means something: much was proved, much was not, and of that some was right to be doubted.
  EXPECT_GT(proved, 1500) << edited;
  EXPECT_GT(unproved, 3000) << edited;
  EXPECT_GT(refused, 1000) << edited;
  EXPECT_GT(faults, 1000) << edited;
}

}  // namespace
}  // namespace hone
