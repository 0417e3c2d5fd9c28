// The machine code of tuned-looking configs: accumulators never leave the registers in the innermost reduction loop.
#include <gmock/gmock.h>

#include "compiler/build/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "tests/fakes/assembly.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

// A vector stored anywhere, or anything on the stack; %rbp is an ordinary register here.
const char kStore[] = R"(\s+v?mov[a-z0-9]*\s+%[xyz]mm[0-9]+, .*\(|\(%rsp)";

struct Case {
  const char* workload;
  const char* config;
  int accumulators;  // vector registers
  int unrolled;      // copies of the tile in the loop
};

class TunedKernels : public testing::TestWithParam<Case> {};

TEST_P(TunedKernels, KeepAccumulatorsInRegisters) {
  const Case& c = GetParam();
  const Workload w = parse_workload(c.workload);
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  const std::string assembly = emit_asm_text(lower_config(w, target, space, space.parse(c.config)), target);
  int found = 0;
  for (const auto& loop : innermost_loops(assembly)) {
    const int fmas = count_matching(loop, R"(vfmadd\d+ps\s.*zmm)");
    if (fmas == 0) continue;
    ++found;
    EXPECT_EQ(fmas, c.accumulators * c.unrolled);
    EXPECT_EQ(count_matching(loop, kStore), 0) << testing::PrintToString(loop);
  }
  EXPECT_EQ(found, 1) << assembly;
}

INSTANTIATE_TEST_SUITE_P(
    Templates, TunedKernels,
    testing::Values(Case{"conv2d(ci=128,h=28,w=28,co=128)",
                         "algorithm=0,oc_block=32,ic_block=16,tile_ow=2x14,tile_oh=1,tasks_oh=4,pad_at=1,oc_inside=0,"
                         "order=0,unroll_ic=1,unroll_kw=0,vector_bits=512,partition=0",
                         28, 1},
                    Case{"conv2d(ci=64,h=56,w=56,co=64)",
                         "algorithm=0,oc_block=64,ic_block=16,tile_ow=14x4,tile_oh=1,tasks_oh=8,pad_at=2,oc_inside=1,"
                         "order=0,unroll_ic=2,unroll_kw=0,vector_bits=512,partition=0",
                         16, 2},
                    Case{"dense(m=1024,n=1024,k=1024)",
                         "n_block=32,tile_m=8,tasks_m=32,tasks_n=32,m_inside=1,split_k=1,unroll_k=2,pack_a=0,pack_b=0,"
                         "vector_bits=512,partition=0",
                         16, 2}));

// Loops of `fmas` multiply-adds in which nothing is masked.
int clean_loops(const Workload& w, const std::string& config, int fmas, int stores) {
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  const Space space = make_space(w, target);
  int found = 0;
  for (const auto& loop : innermost_loops(emit_asm_text(lower_config(w, target, space, space.parse(config)), target)))
    found += count_matching(loop, R"(vfmadd\d+ps\s.*zmm)") == fmas && count_matching(loop, R"(\{%k)") == 0 &&
             count_matching(loop, kStore) == stores;
  return found;
}

// Columns away from the borders are a loop of their own, where every tap is one multiply-add with the input read in
// place: nothing is masked, skipped or copied first.
TEST(DepthwiseKernels, AreFreeOfPaddingAwayFromTheBorders) {
  const Workload w = parse_workload("depthwise_conv2d(c=32,h=56,w=56)");
  EXPECT_EQ(clean_loops(w,
                        "c_block=16,tile_ow=8x7,tile_oh=2,rows_outer=0,tasks_oh=1,copy_pad=0,unroll_kh=1,unroll_kw=1,"
                        "vector_bits=512,partition=0",
                        2 * 7 * 9, 2 * 7),
            1);
}

// Rows, columns and k all leave a tail, and neither operand is packed.
TEST(ProductKernels, AreFreeOfTailsInsideWholeTiles) {
  const Workload w = parse_workload("batch_matmul(b=5,m=333,n=217,k=101)");
  EXPECT_EQ(clean_loops(w,
                        "n_block=32,tile_m=8,tasks_m=2,tasks_n=2,m_inside=1,split_k=1,unroll_k=4,pack_a=0,pack_b=0,"
                        "vector_bits=512,partition=0",
                        2 * 8 * 4, 0),
            1);
}

// The innermost loops with products of f16 of a default config: lines that match `product`, of `lanes` each, and in the
// best of them, away from borders, at most so many instructions a multiply-add.
void expect_loops_of_products(const char* text, const char* target_text, const char* product, int lanes,
                              double most_instructions, const char* never = "fcvt") {
  SCOPED_TRACE(text);
  const Workload w = parse_workload(text);
  const Target target = Target::parse(target_text);
  const Space space = make_space(w, target);
  const std::string assembly = emit_asm_text(lower_config(w, target, space, space.default_config()), target);
  constexpr int kLeast = 16;
  double least = 1;
  std::vector<std::string> best;
  for (const auto& loop : innermost_loops(assembly)) {
    const int products = count_matching(loop, product);
    if (products < kLeast) continue;
    const double each = static_cast<double>(loop.size()) / (products * lanes);
    if (each < least) least = each, best = loop;
  }
  EXPECT_EQ(count_matching(best, never), 0) << testing::PrintToString(best);
  EXPECT_EQ(count_matching(best, kArmStore), 0) << testing::PrintToString(best);
  EXPECT_LE(least, most_instructions) << assembly;
}

// Twice the lanes of f32, whose loops take 0.32 instructions a multiply-add: nothing is widened inside.
TEST(ProductsOfF16, AreSummedInLanesOfF16) {
  for (const char* text :
       {"dense(m=128,n=768,k=768,dtype=f16:f16:f16:f16)", "batch_matmul(b=2,m=96,n=128,k=256,dtype=f16:f16:f16:f32)",
        "conv2d(ci=64,h=56,w=56,co=64,dtype=f16:f16:f16:f16)",
        "conv2d(ci=64,h=28,w=28,co=128,kh=1,kw=1,pad=0,dtype=f16:f16:f16:f16,layout=NCHW16c)"})
    expect_loops_of_products(text, "llvm -mtriple=aarch64-linux -mcpu=cortex-a76 -threads=4", R"(fmla\s+v\d+\.8h)", 8,
                             0.19);
}

// Elsewhere elements of a row are widened four at a time: none by itself.
TEST(ProductsOfF16, AreWidenedTogether) {
  for (const char* text : {"dense(m=128,n=768,k=768,dtype=f16)",
                           "conv2d(ci=64,h=28,w=28,co=128,kh=1,kw=1,pad=0,dtype=f16,layout=NCHW16c)"})
    expect_loops_of_products(text, "llvm -mtriple=aarch64-linux -mcpu=cortex-a72 -threads=4", R"(fmla\s+v\d+\.4s)", 4,
                             0.42, R"(fcvt\s)");
}

TEST(ProductsOfF16, AreWidenedByTheMultiplyAdd) {
  const char* const target = "llvm -mtriple=aarch64-linux -mcpu=neoverse-v1 -threads=4";
  for (const char* text : {"dense(m=128,n=768,k=768,dtype=f16)", "conv2d(ci=64,h=56,w=56,co=64,dtype=f16)",
                           "conv2d(ci=64,h=28,w=28,co=128,kh=1,kw=1,pad=0,dtype=f16,layout=NCHW16c)"}) {
    expect_loops_of_products(text, target, R"(fmlal2?\s+v\d+\.4s)", 4, 0.37);
    // Every second one takes the upper halves.
    expect_loops_of_products(text, target, R"(fmlal2\s+v\d+\.4s)", 8, 0.37);
  }
}

}  // namespace
}  // namespace hone
