// Reports of --explain on loop form and on machine code.
#include <gtest/gtest.h>

#include "compiler/arith/simplify.h"
#include "compiler/codegen/legalize/legalize.h"
#include "compiler/codegen/legalize/operation_counts.h"
#include "compiler/codegen/llvm/code_report.h"

namespace hone {
namespace {

// for i in 0..8: for v in 0..16 vectorize: s[v] = s[v] + a[i * 16 + v] * b[i], with s on the stack, then c = s
TEST(OperationCounts, CountsLanesAndBytes) {
  const Buffer a = make_buffer("a", f32, {128}), b = make_buffer("b", f32, {8}), c = make_buffer("c", f32, {16}),
               s = make_buffer("s", f32, {16}, BufferScope::kStack);
  const Var i("i"), v("v"), u("u");
  const Stmt sum = make_store(s, {v}, load(s, {v}) + load(a, {Expr(i) * 16 + v}) * load(b, {i}));
  const Stmt nest = make_for(i, make_int(0), make_int(8), LoopKind::kSerial,
                             make_for(v, make_int(0), make_int(16), LoopKind::kVectorize, sum));
  const Stmt copy = make_for(u, make_int(0), make_int(16), LoopKind::kVectorize, make_store(c, {u}, load(s, {u})));
  const OperationCounts counts = count_operations(legalize(make_allocate(s, -1, make_seq({nest, copy})), 512));
  EXPECT_EQ(counts.flops, 8 * 16 * 2);
  EXPECT_EQ(counts.loaded_bytes, 8 * (16 * 4 + 4));
  EXPECT_EQ(counts.stored_bytes, 64);
  EXPECT_EQ(counts.stack_bytes, 64);
}

TEST(OperationCounts, TakesTheDearerSideAndTheFirstVersion) {
  const Buffer a = make_buffer("a", f32, {8}), c = make_buffer("c", f32, {8});
  const Var i("i");
  const Expr x = load(a, {i});
  const Stmt choose = make_store(c, {i}, select(lt(i, int64_t{3}), x * x + x, x));
  const OperationCounts counts = count_operations(make_for(i, make_int(0), make_int(8), LoopKind::kSerial,
                                                           make_if(lt(i, int64_t{7}), choose, make_store(c, {i}, x))));
  EXPECT_EQ(counts.flops, 16);
}

TEST(CodeReport, TellsSpillsFromOtherStackAccesses) {
  const CodeReport r = report_assembly(
      "kernel:\n\tvmovaps\t%zmm0, 64(%rsp)                  # 64-byte Spill\n.LBB0_1:                                # "
      "%loop\n\tvmovaps\t(%rsp), %zmm4\n"
      "\tvfmadd231ps\t64(%rsp), %zmm1, %zmm2  # 64-byte Folded Reload\n\tvfmadd231ps\t(%rdi){1to16}, %ymm1, "
      "%ymm3\n\tjne\t.LBB0_1\n\tretq\n");
  EXPECT_EQ(r.instructions, 6);
  EXPECT_EQ(r.fmas, 2);
  EXPECT_EQ(r.spills, 1);
  EXPECT_EQ(r.reloads, 1);
  EXPECT_EQ(r.spills_in_loops, 1);
  EXPECT_EQ(r.vector_registers, 5);
}

}  // namespace
}  // namespace hone
