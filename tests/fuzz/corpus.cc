#include "tests/fuzz/corpus.h"

#include <random>

#include "compiler/build.h"
#include "compiler/lower/lower.h"
#include "rpc/ir/encode.h"
#include "tests/fakes/programs.h"
#include "tests/fakes/sample_modules.h"

namespace hone::fuzz {
namespace {

constexpr const char* kWorkloads[] = {
    "conv2d(n=1,ci=4,h=6,w=7,co=5,kh=3,kw=3,stride=1,pad=1)", "conv2d(n=1,ci=8,h=5,w=5,co=16,kh=1,kw=1,stride=2,pad=0,epilogue=bias+relu)",
    "depthwise_conv2d(n=1,c=9,h=6,w=6,kh=3,kw=3,stride=1,pad=1)", "dense(m=5,n=19,k=8)", "dense(m=3,n=9,k=8,dtype=u8:s8:s32:s32)", "batch_matmul(b=2,m=5,n=18,k=6)",
};
constexpr int kConfigs = 3;  // random ones, besides the default

void add_template_candidates(std::vector<std::string>* out) {
  const Target target = Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4 -threads=2");
  std::mt19937_64 rng(17);
  for (const char* text : kWorkloads) {
    const Workload w = Workload::parse(text);
    const Space space = make_space(w, target);
    out->push_back(encode(lower_config(w, target, space, space.default_config())));
    for (int i = 0; i < kConfigs; ++i)
      if (const auto config = space.sample(rng)) out->push_back(encode(lower_config(w, target, space, *config)));
  }
}

// Integer programs: what they compute is compared.
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
  const Buffer index = make_buffer("index", i64, {24}), data = make_buffer("data", i32, {16}), out = make_buffer("out", i32, {16});
  const Buffer row = make_buffer("row", i32, {8}, BufferScope::kStack);
  const Var i("i"), j("j"), k("k");
  const Stmt clear = serial(j, 8, make_store(row, {j}, make_int(1, i32)));
  const Expr at = load(index, {i});
  const Stmt gather = make_if(le(make_int(0), at), make_store(out, {at}, load(data, {floor_mod(at, 16)}) + load(row, {at})));
  Module m;
  m.kernels = {{"gather", {index, data, out}, {}, make_allocate(row, -1, make_seq({clear, serial(i, 24, gather), serial(k, 16, make_store(out, {k}, load(out, {k}) * make_int(3, i32)), LoopKind::kVectorize)}))}};
  m.params = {{"index", ParamRole::kInput, i64, {24}, Layout::identity({24})}, {"data", ParamRole::kInput, i32, {16}, Layout::identity({16})}, {"out", ParamRole::kOutput, i32, {16}, Layout::identity({16})}};
  return m;
}

}  // namespace

std::vector<std::string> corpus() {
  std::vector<std::string> out{encode(sample_module()), encode(vector_module()), encode(gather_module())};
  add_schedules(&out);
  add_template_candidates(&out);
  return out;
}

}  // namespace hone::fuzz
