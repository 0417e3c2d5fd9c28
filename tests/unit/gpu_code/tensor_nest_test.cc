// Warp loops: which of them become mma instructions or shuffles in a kernel's text, and which stay plain sums.
#include "compiler/codegen/gpu/tensor_nest.h"

#include <gmock/gmock.h>

#include <functional>

#include "compiler/build/build.h"
#include "compiler/codegen/gpu/emit.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/gpu_code/programs.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string text_of(const std::string& workload, const std::string& arch, const std::string& config = "") {
  const Workload w = parse_workload(workload);
  const Target target = Target::parse("cuda -arch=" + arch);
  const Space space = make_space(w, target);
  return emit_gpu(lower_config(w, target, space, config.empty() ? space.default_config() : space.parse(config)), "cuda")
      .text;
}

std::string kernels_of(const std::string& text) { return text.substr(text.find("extern \"C\"")); }

TEST(TensorNests, OfEachTypeAreRecognised) {
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=f16)", "sm_80")), HasSubstr("mma_f16("));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=f16)", "sm_75")), HasSubstr("mma_f16("));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=bf16)", "sm_80")), HasSubstr("mma_bf16("));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=tf32)", "sm_90")), HasSubstr("mma_tf32("));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=s8:s8:s32:s32)", "sm_80")), HasSubstr("mma_s8s8("));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=u8:s8:s32:s32)", "sm_75")), HasSubstr("mma_u8s8("));
  EXPECT_THAT(kernels_of(text_of("batch_matmul(b=2,m=128,n=128,k=64,dtype=f16)", "sm_80")),
              HasSubstr("read_columns_4("));
  EXPECT_THAT(kernels_of(text_of("batch_matmul(b=2,m=128,n=128,k=64,dtype=tf32)", "sm_80")), HasSubstr("read_rows_4("));
}

TEST(TensorNests, OfRaggedProductsToo) {
  EXPECT_THAT(kernels_of(text_of("dense(m=100,n=77,k=64,dtype=f16,epilogue=bias+relu)", "sm_80")),
              HasSubstr("mma_f16("));
  EXPECT_THAT(kernels_of(text_of("batch_matmul(b=3,m=33,n=41,k=48,dtype=f16)", "sm_80")), HasSubstr("mma_f16("));
}

TEST(TensorNests, AreNotForFullFloatsNorForDevicesWithoutUnits) {
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64)", "sm_90")), testing::Not(HasSubstr("mma_")));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=bf16)", "sm_75")), testing::Not(HasSubstr("mma_")));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=64,dtype=f16)", "sm_61")), testing::Not(HasSubstr("mma_")));
  EXPECT_THAT(kernels_of(text_of("dense(m=128,n=128,k=60,dtype=f16)", "sm_80")), testing::Not(HasSubstr("mma_")));
}

TEST(WarpSums, AreShuffledWhereRowsLieTogether) {
  const std::string sum = kernels_of(text_of("reduce(op=sum,shape=64x4096,axes=1)", "sm_80")),
                    most = kernels_of(text_of("reduce(op=max,shape=64x4096,axes=1)", "sm_75"));
  for (const char* apart : {"16", "8", "4", "2", "1"}) {
    EXPECT_THAT(sum, HasSubstr(std::string("part = part + __shfl_xor_sync(0xffffffffu, part, ") + apart + ");"));
    EXPECT_THAT(most,
                HasSubstr(std::string("part = maximum_f32(part, __shfl_xor_sync(0xffffffffu, part, ") + apart + "));"));
  }
  EXPECT_THAT(kernels_of(text_of("reduce(op=sum,shape=4096x64,axes=0)", "sm_80")), testing::Not(HasSubstr("__shfl")));
}

// Each of 64 threads combines the values of the threads of its group of 8. Planted errors: groups that are not aligned,
// a source that moves with the thread's own number.
TEST(WarpSums, StayPlainWhereGroupsAreNotWhole) {
  const auto text = [](const std::function<Expr(Expr)>& first) {
    const Buffer in = buffer("IN", 64), s = buffer("S", 128, BufferScope::kShared), out = buffer("OUT", 64),
                 c = buffer("C", 64, BufferScope::kStack);
    const Var t("t"), u("u"), v("v"), j("j");
    const Stmt body =
        make_seq({loop(t, 64, LoopKind::kThread, make_store(s, {Expr(t)}, load(in, {Expr(t)}))),
                  loop(u, 64, LoopKind::kThread,
                       make_seq({make_store(c, {Expr(u)}, make_float(0)),
                                 loop(j, 8, LoopKind::kWarp,
                                      make_store(c, {Expr(u)}, load(c, {Expr(u)}) + load(s, {first(u) + j})))})),
                  loop(v, 64, LoopKind::kThread, make_store(out, {Expr(v)}, load(c, {Expr(v)})))});
    Module m;
    m.kernels.push_back(function_of({in, out}, make_allocate(s, -1, make_allocate(c, -1, body))));
    m.params = {{"IN", ParamRole::kInput, f32, {64}, Layout::identity({64})},
                {"OUT", ParamRole::kOutput, f32, {64}, Layout::identity({64})}};
    return kernels_of(emit_gpu(m, "cuda").text);
  };
  EXPECT_THAT(text([](const Expr& u) { return floor_div(u, 8) * 8; }), HasSubstr("__shfl_xor_sync"));
  EXPECT_THAT(text([](const Expr& u) { return floor_div(u, 16) * 16; }), HasSubstr("__shfl_xor_sync"));
  EXPECT_THAT(text([](const Expr& u) { return floor_div(u, 4) * 4; }), testing::Not(HasSubstr("__shfl_xor_sync")));
  EXPECT_THAT(text([](const Expr& u) { return u; }), testing::Not(HasSubstr("__shfl_xor_sync")));
}

// One warp's tile, in loop form. Planted errors: a row stride that is not aligned, a condition inside.
struct Tile {
  int64_t stride = 24;
  bool conditional = false, fills_beside = false;
  Buffer a = buffer("A", 16 * 24, BufferScope::kShared, f16), b = buffer("B", 8 * 24, BufferScope::kShared, f16),
         c = buffer("C", 128, BufferScope::kStack), out = buffer("OUT", 128),
         in = buffer("IN", 16 * 24, BufferScope::kParam, f16);
  std::string text() const {
    const Var g("g"), q("q"), h("h"), j("c"), k("k"), t("t"), u("u"), i("i");
    const Expr row = Expr(h) * 8 + g, column = Expr(q) * 2 + j, at = row * 8 + column;
    const auto threads = [&](Stmt s) {
      return loop(g, 8, LoopKind::kThread, loop(q, 4, LoopKind::kThread, std::move(s)));
    };
    const auto elements = [&](LoopKind kind, Stmt s) { return loop(h, 2, kind, loop(j, 2, kind, std::move(s))); };
    const Stmt fill = loop(
        t, 32, LoopKind::kThread,
        make_seq({loop(i, 12, LoopKind::kSerial, make_store(a, {Expr(i) * 32 + t}, load(in, {Expr(i) * 32 + t}))),
                  loop(u, 6, LoopKind::kSerial, make_store(b, {Expr(u) * 32 + t}, load(in, {Expr(u) * 32 + t})))}));
    Stmt sum = elements(LoopKind::kWarp, loop(k, 16, LoopKind::kWarp,
                                              make_store(c, {at},
                                                         load(c, {at}) + cast(f32, load(a, {row * stride + k})) *
                                                                             cast(f32, load(b, {column * 24 + k})))));
    if (conditional) sum = make_if(lt(g, 5), sum);
    if (fills_beside) sum = make_seq({make_store(a, {Expr(g) * 24}, load(in, {Expr(g)})), sum});
    const Stmt body =
        make_seq({threads(elements(LoopKind::kUnroll, make_store(c, {at}, make_float(0)))), fill, threads(sum),
                  threads(elements(LoopKind::kUnroll, make_store(out, {at}, load(c, {at}))))});
    Module m;
    m.kernels.push_back(function_of({in, out}, make_allocate(a, -1, make_allocate(b, -1, make_allocate(c, -1, body)))));
    m.params = {{"IN", ParamRole::kInput, f16, {16 * 24}, Layout::identity({16 * 24})},
                {"OUT", ParamRole::kOutput, f32, {128}, Layout::identity({128})}};
    return kernels_of(emit_gpu(m, "cuda").text);
  }
};

TEST(TensorNests, StayPlainWhereTheUnitCannotReadOrWarpsDiverge) {
  EXPECT_THAT(Tile().text(), HasSubstr("mma_f16(C[0], C[1], C[2], C[3], a_parts, b_parts + 2 * 0);"));
  EXPECT_THAT(Tile{.stride = 20}.text(), testing::Not(HasSubstr("mma_")));
  EXPECT_THAT(Tile{.conditional = true}.text(), testing::Not(HasSubstr("mma_")));
  EXPECT_THAT(Tile{.fills_beside = true}.text(), testing::Not(HasSubstr("mma_")));
}

}  // namespace
}  // namespace hone
