// Every program that verify() accepts as proved must run in the interpreter without leaving a buffer, before and after
// legalize(): on random edits of legal programs. HONE_SOUNDNESS_ROUNDS and HONE_SOUNDNESS_SEED: more of them, and
// others.
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <random>

#include "compiler/arith/bounds.h"
#include "compiler/arith/unproved_accesses.h"
#include "compiler/arith/verify.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/mutator.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

// Changes one node in about `1 / rate`: a constant, a variable, an operator, a loop's extent or kind, a condition, a
// buffer's place in an access. Some become a node that stands elsewhere already: one condition in several places.
class Editor final : public Mutator {
 public:
  Editor(std::mt19937& random, int rate) : random_(random), rate_(rate) {}
  int edits = 0;

 protected:
  using Mutator::visit;

  Expr visit(const IntImm* op) override {
    if (op->dtype != kIndex || !hit()) return Expr(op);
    static constexpr int64_t kSteps[] = {-8, -2, -1, 1, 2, 7, 16};
    static constexpr int64_t kSizes[] = {int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 61, int64_t{1} << 62};
    switch (below(10)) {
      case 0: return make_int(0);
      case 1: return make_int(static_cast<int64_t>(static_cast<uint64_t>(op->value) * 2));
      case 2: return make_int(below(2) ? INT64_MAX - below(10) : INT64_MIN + below(10));
      case 3: return make_int(int64_t{1} << (40 + below(23)));
      case 4: return make_int((below(2) ? 1 : -1) * (kSizes[below(4)] + below(21) - 10));
      default:
        return make_int(
            static_cast<int64_t>(static_cast<uint64_t>(op->value) + static_cast<uint64_t>(kSteps[below(7)])));
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
      conditions_.push_back(e);
      if (below(3) == 0) return conditions_[static_cast<size_t>(below(static_cast<int>(conditions_.size())))];
      static constexpr BinaryOp kComparisons[] = {BinaryOp::kLt, BinaryOp::kLe, BinaryOp::kEq, BinaryOp::kNe};
      const BinaryOp chosen = kComparisons[below(4)];
      return below(3) ? binary(chosen, b->a, b->b) : logical_not(binary(chosen, b->b, b->a));
    }
    static constexpr BinaryOp kArithmetic[] = {BinaryOp::kAdd,      BinaryOp::kSub, BinaryOp::kMul, BinaryOp::kFloorDiv,
                                               BinaryOp::kFloorMod, BinaryOp::kMin, BinaryOp::kMax};
    return below(3) ? binary(kArithmetic[below(7)], b->a, b->b) : floor_mod(e, 1 + below(9));
  }
  Stmt visit(const For* op) override {
    Expr lo = (*this)(op->min), n = (*this)(op->extent);
    scope_.push_back(op->var);
    Stmt body = (*this)(op->body);
    scope_.pop_back();
    if (is_innermost(body) && hit()) {
      static constexpr LoopKind kKinds[] = {LoopKind::kSerial, LoopKind::kUnroll, LoopKind::kVectorize};
      return make_for(op->var, lo, n, kKinds[below(3)], body);
    }
    if (below(4) == 0 && hit())
      return make_seq({make_for(op->var, lo, n, op->loop, body), make_for(op->var, lo, n + 8, op->loop, body)});
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

  static bool is_innermost(const Stmt& body) {
    for (LoopKind kind : {LoopKind::kSerial, LoopKind::kUnroll, LoopKind::kVectorize})
      if (holds_loop(body, kind)) return false;
    return true;
  }

  std::mt19937& random_;
  int rate_;
  std::vector<Var> scope_;
  std::vector<Expr> conditions_;  // seen so far
};

// Programs of the shapes that templates make, in multi-dimensional and flat form.
std::vector<Function> seeds() {
  const Var io("io"), ii("ii"), j("j"), k("k");
  const Buffer a = make_buffer("A", f32, {30}), b = make_buffer("B", f32, {5, 6}), c = make_buffer("C", f32, {30});
  const Expr x = Expr(io) * 8 + ii, padded = x + j - 1;
  const Stmt tails = serial(io, 4, serial(ii, 8, make_if(lt(x, 30), make_store(c, {x}, load(a, {x})))));
  const Expr inside = logical_and(le(make_int(0), padded), lt(padded, 30));
  const Stmt pads = serial(
      io, 4,
      serial(ii, 8,
             make_if(lt(x, 30), serial(j, 3, make_store(c, {x}, select(inside, load(a, {padded}), make_float(0)))))));
  const Stmt fused = serial(
      k, 32,
      make_if(logical_and(lt(k, 30), ge(k, 0)),
              make_store(b, {floor_div(k, 6), floor_mod(k, 6)}, load(c, {floor_div(k, 6) * 6 + floor_mod(k, 6)}))));
  const Expr n = min(make_int(8), make_int(30) - Expr(io) * 8);
  const Stmt shrunk = serial(io, 4, make_for(ii, make_int(0), n, LoopKind::kSerial, make_store(c, {x}, load(a, {x}))));
  const Stmt triangle = serial(
      io, 5, make_for(ii, io, make_int(6) - io, LoopKind::kSerial, make_store(b, {io, ii}, load(a, {Expr(ii) - io}))));
  const Expr ramp(new Ramp(Expr(io) * 8, make_int(1), 8));
  const Stmt masked =
      serial(io, 4, make_store(c, {ramp}, load(a, {ramp}), lt(ramp, make_const(30, kIndex.with_lanes(8)))));
  const Expr f = Expr(io) * 12 + Expr(ii) * 4 + j, q = floor_div(f, 5);
  const Stmt deep = serial(
      io, 3,
      serial(ii, 3,
             serial(j, 4,
                    make_if(lt(f, 30), make_store(c, {floor_div(q, 2) * 10 + floor_mod(q, 2) * 5 + floor_mod(f, 5)},
                                                  load(b, {floor_div(f, 6), floor_mod(f, 6)}))))));
  const Buffer t = make_buffer("t", f32, {10}, BufferScope::kStack);
  const Stmt staged = serial(
      io, 4,
      make_allocate(
          t, -1,
          make_seq(
              {serial(j, 10,
                      make_store(t, {j}, select(lt(Expr(io) * 8 + j, 30), load(a, {Expr(io) * 8 + j}), make_float(0)))),
               serial(ii, 8, make_if(lt(x, 30), make_store(c, {x}, load(t, {ii}) + load(t, {Expr(ii) + 2}))))})));
  // Tiles of unrolled and vector loops behind their conditions, which passes take apart; one node is the condition of
  // several loops over a variable.
  const Expr in_tile = lt(x, 30);
  const auto tile = [&](LoopKind kind, int64_t n) {
    return make_for(ii, make_int(0), make_int(n), kind, make_if(in_tile, make_store(c, {x}, load(a, {x}))));
  };
  const Stmt tiles =
      serial(io, 4, make_seq({tile(LoopKind::kUnroll, 4), tile(LoopKind::kVectorize, 8), tile(LoopKind::kUnroll, 8)}));
  const Expr low = Expr(io) * (int64_t{1} << 61) + ii, high = Expr(j) * -(int64_t{1} << 61);
  const Stmt apart = make_if(le(low, high), make_store(c, {Expr(io) * 8 + ii}, load(a, {ii})));
  const Stmt far = serial(j, 4, serial(io, 4, make_for(ii, make_int(0), make_int(6), LoopKind::kUnroll, apart)));
  const Expr clamped = max(make_int(0), min(ii, make_int(29)));
  const Stmt wraps = serial(io, 2,
                            make_for(ii, Expr(io) * (INT64_MAX - 3), make_int(8), LoopKind::kUnroll,
                                     make_store(c, {clamped}, load(a, {io}))));
  std::vector<Function> all;
  for (const Stmt& s : {tails, pads, fused, shrunk, triangle, masked, deep, staged, tiles, far, wraps})
    all.push_back({"f", {a, b, c}, {}, s});
  all.push_back(sample_module().kernels[0]);
  return all;
}

// An upper bound of the loops' steps: programs that would run for ever are left out.
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

// The fault of a run, if it left a buffer or divided by zero; empty when it did not.
std::string fault_of(const Function& f) {
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
    if (what.find("outside its extent") != std::string::npos || what.find("by zero") != std::string::npos) return what;
  }
  return "";
}

// Whether all accesses are flat, as passes take them.
bool is_flat(const Function& f) {
  class Shapes final : public Visitor {
   public:
    bool flat = true;

   protected:
    using Visitor::visit;
    void visit(const Load* op) override {
      flat = flat && op->buffer->shape.size() == 1;
      Visitor::visit(op);
    }
    void visit(const Store* op) override {
      flat = flat && op->buffer->shape.size() == 1;
      Visitor::visit(op);
    }
  } shapes;
  shapes(f.body);
  return shapes.flat;
}

// As legalize() leaves it; nothing where it refuses to copy that much.
std::optional<Function> legalized(const Function& f, int vector_bits) {
  try {
    Function out = f;
    out.body = legalize(f.body, vector_bits);
    return out;
  } catch (const UserError&) {
    return std::nullopt;
  }
}

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

TEST(VerifySoundness, WhatIsProvedRunsInsideItsBuffersAsItIsAndLegalized) {
  std::mt19937 random(static_cast<uint32_t>(from_environment("HONE_SOUNDNESS_SEED", 3)));
  const std::vector<Function> programs = seeds();
  for (const Function& f : programs) EXPECT_TRUE(verify(f).empty()) << to_string(f);
  int proved = 0, edited = 0, refused = 0, unproved = 0, faults = 0, rewritten = 0, proved_again = 0;
  for (int round = 0, rounds = from_environment("HONE_SOUNDNESS_ROUNDS", 30000); round < rounds; ++round) {
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
    const std::string fault = fault_of(f);
    faults += !fault.empty();
    ASSERT_TRUE(!accepted || fault.empty()) << fault << "\n" << to_string(f);
    proved += accepted;
    const std::optional<Function> legal = accepted && is_flat(f) ? legalized(f, round % 2 ? 128 : 512) : std::nullopt;
    if (!legal) continue;
    ++rewritten;
    const std::string late = fault_of(*legal);
    ASSERT_TRUE(late.empty()) << late << "\n" << to_string(f) << "legalized:\n" << to_string(*legal);
    proved_again += unproved_accesses(legal->body).empty();
  }
  // The test means something: much was proved, much was not, and of that some was right to be doubted.
  EXPECT_GT(proved, 1500) << edited;
  EXPECT_GT(unproved, 3000) << edited;
  EXPECT_GT(refused, 1000) << edited;
  EXPECT_GT(faults, 1000) << edited;
  EXPECT_GT(rewritten, 1000) << edited;
  EXPECT_GT(proved_again, rewritten * 9 / 10) << edited;
}

}  // namespace
}  // namespace hone
