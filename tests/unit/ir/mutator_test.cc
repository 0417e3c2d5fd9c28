#include "compiler/ir/mutator.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ir/printer.h"
#include "compiler/ir/visitor.h"
#include "tests/fakes/sample_modules.h"

namespace hone {
namespace {

class Nothing final : public Mutator {};

class Collector final : public Visitor {
 public:
  std::set<std::string> loops, loads;
  std::set<const VarNode*> vars;
  int constants = 0, floats = 0, nodes = 0;

 protected:
  using Visitor::visit;
  void visit(const IntImm*) override { ++constants; }
  void visit(const FloatImm*) override { ++floats; }
  void visit(const VarNode* op) override { vars.insert(op); }
  void visit(const Load* op) override {
    loads.insert(op->buffer->name);
    Visitor::visit(op);
  }
  void visit(const For* op) override {
    loops.insert(op->var->name);
    Visitor::visit(op);
  }
};

class BufferRenamer final : public Mutator {
 public:
  Buffer from, to;

 protected:
  using Mutator::visit;
  Expr visit(const Load* op) override {
    const Expr e = Mutator::visit(op);
    return op->buffer.same_as(from) ? load(to, as<Load>(e)->indices) : e;
  }
};

TEST(Visitor, ReachesEveryChild) {
  Collector seen;
  seen(sample_module().kernels[0].body);
  EXPECT_EQ(seen.loops, (std::set<std::string>{"io", "p", "ii", "r", "i", "j"}));
  EXPECT_EQ(seen.loads, (std::set<std::string>{"A", "W", "padded", "sum"}));
  EXPECT_EQ(seen.vars.size(), 6u);
  EXPECT_GE(seen.floats, 4);
  EXPECT_GE(seen.constants, 20);
}

TEST(Mutator, ReturnsTheSameNodeWhenNothingChanges) {
  for (const Module& m : {sample_module(), vector_module(), prefetch_module(), dot_module()})
    EXPECT_TRUE(Nothing()(m.kernels[0].body).same_as(m.kernels[0].body));
  EXPECT_FALSE(Nothing()(Expr()));
  EXPECT_FALSE(Nothing()(Stmt()));
}

TEST(Mutator, RebuildsOnlyThePathToAChange) {
  const Buffer a = make_buffer("A", f32, {4}), b = make_buffer("B", f32, {4}), c = make_buffer("C", f32, {4});
  const Var i("i");
  const Stmt untouched = make_store(c, {i}, make_float(1)), touched = make_store(c, {i}, load(a, {i}));
  const Stmt s = serial(i, 4, make_seq({untouched, touched}));
  BufferRenamer renamer;
  renamer.from = a;
  renamer.to = b;
  const Stmt out = renamer(s);
  EXPECT_EQ(to_string(out), "for i in 0..4 {\n  C[i] = 1.0f\n  C[i] = B[i]\n}\n");
  EXPECT_TRUE(as<Seq>(as<For>(out)->body)->stmts[0].same_as(untouched));
}

TEST(Substitute, ReplacesEveryUseAndFolds) {
  const Var i("i"), j("j");
  const Expr e = Expr(i) * 4 + floor_mod(j, 3) + i;
  EXPECT_EQ(to_string(substitute(e, {{i.get(), make_int(2)}})), "8 + floormod(j, 3) + 2");
  EXPECT_TRUE(substitute(e, {}).same_as(e));
  EXPECT_EQ(to_string(substitute(e, {{i.get(), Expr(j)}, {j.get(), Expr(i)}})), "j * 4 + floormod(i, 3) + j")
      << "all at once";
  EXPECT_TRUE(uses_var(e, j.get()));
  EXPECT_FALSE(uses_var(substitute(e, {{j.get(), Expr(i)}}), j.get()));
}

TEST(CloneWith, InnerLoopsGetFreshVariables) {
  const Var i("i"), j("j");
  const Buffer c = make_buffer("C", i64, {16});
  const Stmt body = serial(j, 4, make_store(c, {Expr(i) * 4 + j}, j));
  const Stmt copy = clone_with(body, i, make_int(3));
  const For* loop = as<For>(copy);
  ASSERT_TRUE(loop);
  EXPECT_FALSE(loop->var.same_as(j));
  EXPECT_EQ(to_string(copy), "for j in 0..4 {\n  C[12 + j] = j\n}\n");
  // The copy uses its own variable and no longer the old ones.
  Collector seen;
  seen(copy);
  EXPECT_EQ(seen.vars, (std::set<const VarNode*>{loop->var.get()}));
}

}  // namespace
}  // namespace hone
