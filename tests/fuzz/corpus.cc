#include "tests/fuzz/corpus.h"

#include <random>

#include "compiler/build/build.h"
#include "compiler/lower/lower.h"
#include "rpc/ir/encode.h"
#include "tests/fakes/packed_module.h"
#include "tests/fakes/programs.h"
#include "tests/fakes/sample_modules.h"
#include "tests/fakes/workloads.h"

namespace hone::fuzz {
namespace {

constexpr const char* kWorkloads[] = {
    "conv2d(n=1,ci=4,h=6,w=7,co=5,kh=3,kw=3,stride=1,pad=1)",
    "conv2d(n=1,ci=8,h=5,w=5,co=16,kh=1,kw=1,stride=2,pad=0,epilogue=bias+relu)",
    "depthwise_conv2d(n=1,c=9,h=6,w=6,kh=3,kw=3,stride=1,pad=1)",
    "dense(m=5,n=19,k=8)",
    "dense(m=3,n=9,k=8,dtype=u8:s8:s32:s32)",
    "batch_matmul(b=2,m=5,n=18,k=6)",
};
constexpr int kConfigs = 3;  // random configs, beside the default

void add_template_candidates(std::vector<std::string>* out) {
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  std::mt19937_64 rng(17);
  for (const char* text : kWorkloads) {
    const Workload w = parse_workload(text);
    const Space space = make_space(w, target);
    out->push_back(encode(lower_config(w, target, space, space.default_config())));
    for (int i = 0; i < kConfigs; ++i)
      if (const auto config = space.sample(rng)) out->push_back(encode(lower_config(w, target, space, *config)));
  }
}

// Integer programs: their results are compared.
void add_schedules(std::vector<std::string>* out) {
  for (const Program& p : {matmul_program(), conv_program(), pool_program()}) {
    out->push_back(encode(lower(*p.schedule(), {.workers = 2})));
    const auto s = p.schedule();
    const BlockRef last = s->block(p.output->name);
    const auto loops = s->loops(last);
    const auto [outer, inner] = s->split(loops.back(), 3);
    if (loops.size() == p.output->shape.size())
      s->vectorize(inner);
    else
      s->unroll(inner);  // the innermost loop is a reduction
    s->parallel(loops.front());
    out->push_back(encode(lower(*s, {.workers = 2})));
  }
}

// out[index[i]] += data[i]: accesses that only a run-time check can decide.
Module gather_module() {
  const Buffer index = make_buffer("index", i64, {24}), data = make_buffer("data", i32, {16}),
               out = make_buffer("out", i32, {16});
  const Buffer row = make_buffer("row", i32, {8}, BufferScope::kStack);
  const Var i("i"), j("j"), k("k");
  const Stmt clear = serial(j, 8, make_store(row, {j}, make_int(1, i32)));
  const Expr at = load(index, {i});
  const Stmt gather =
      make_if(le(make_int(0), at), make_store(out, {at}, load(data, {floor_mod(at, 16)}) + load(row, {at})));
  Module m;
  m.kernels = {{"gather",
                {index, data, out},
                {},
                make_allocate(row, -1,
                              make_seq({clear, serial(i, 24, gather),
                                        serial(k, 16, make_store(out, {k}, load(out, {k}) * make_int(3, i32)),
                                               LoopKind::kVectorize)}))}};
  m.params = {{"index", ParamRole::kInput, i64, {24}, Layout::identity({24})},
              {"data", ParamRole::kInput, i32, {16}, Layout::identity({16})},
              {"out", ParamRole::kOutput, i32, {16}, Layout::identity({16})}};
  return m;
}

// Conditions that passes take apart, in the forms in which that once went wrong: sums near 2^62, a condition in two
// loops over a variable, a loop that ends where int64 does. As they are, all stay inside.
Module far_module() {
  const Buffer data = make_buffer("data", i32, {64}), out = make_buffer("out", i32, {64});
  const Var t("t"), u("u"), v("v"), w("w"), i("i"), j("j");
  const Expr at = Expr(t) * 8 + Expr(i);
  const auto add_one = [&](const Expr& x) { return make_store(out, {x}, load(out, {x}) + load(data, {x})); };
  const Expr inside = lt(at, 60), low = Expr(t) * ((int64_t{1} << 61) + 10) + Expr(i),
             high = Expr(u) * -((int64_t{1} << 61) + 10);
  const auto tile = [&](int64_t n, LoopKind kind, const Expr& condition) {
    return make_for(i, make_int(0), make_int(n), kind, make_if(condition, add_one(at)));
  };
  const Stmt shared = make_seq(
      {tile(4, LoopKind::kUnroll, inside), tile(8, LoopKind::kVectorize, inside), tile(8, LoopKind::kUnroll, inside)});
  const Stmt apart = serial(u, 2, serial(t, 2, tile(6, LoopKind::kUnroll, le(low, high))));
  const Expr end = make_int(INT64_MAX - 40);
  const Stmt near = serial(w, 8,
                           make_for(v, end, make_int(8), LoopKind::kSerial,
                                    make_if(logical_not(lt(make_int(INT64_MAX - 20), Expr(w) + Expr(v))),
                                            make_if(lt(Expr(w), 64), add_one(w)))));
  const Stmt clamped = serial(w, 2,
                              make_for(j, Expr(w) * (INT64_MAX - 9), make_int(8), LoopKind::kUnroll,
                                       add_one(max(make_int(0), min(j, make_int(63))))));
  Module m;
  const Var k("k");
  const Stmt clear = serial(k, 64, make_store(out, {k}, make_int(0, i32)), LoopKind::kVectorize);
  m.kernels = {{"far", {data, out}, {}, make_seq({clear, serial(t, 8, shared), apart, near, clamped})}};
  m.params = {{"data", ParamRole::kInput, i32, {64}, Layout::identity({64})},
              {"out", ParamRole::kOutput, i32, {64}, Layout::identity({64})}};
  return m;
}

}  // namespace

std::vector<std::string> corpus() {
  std::vector<std::string> out{encode(sample_module()), encode(vector_module()), encode(gather_module()),
                               encode(far_module()), encode(packed_module())};
  add_schedules(&out);
  add_template_candidates(&out);
  return out;
}

}  // namespace hone::fuzz
