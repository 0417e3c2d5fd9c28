// Elements that parts of kernels touch, for all templates: run by the interpreter, the parts read and write no
// others.
#include "compiler/arith/touched_elements.h"

#include <gmock/gmock.h>

#include <cstring>

#include "compiler/ir/interp.h"
#include "tests/fakes/draws.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using Tensors = std::vector<std::vector<char>>;

bool is_in(const std::vector<ElementRun>& runs, int64_t element) {
  return std::any_of(runs.begin(), runs.end(), [&](const auto& r) { return r.begin <= element && element < r.end; });
}

void run(const Function& f, Tensors& tensors, const std::vector<KernelArgument>& arguments) {
  std::vector<InterpArg> args;
  for (size_t a = 0; a < arguments.size(); ++a) args.push_back({tensors[a].data(), element_count(arguments[a].shape)});
  interpret(f, args);
}

// Runs `part` of a kernel with the elements that it does not read changed to NaNs.
void expect_touches(const Function& part, const TouchedElements& touched, const Module& m, const std::string& what) {
  const std::vector<KernelArgument> arguments = kernel_arguments(m);
  std::mt19937_64 rng(3);
  Tensors before;
  for (const KernelArgument& a : arguments) before.push_back(random_elements(a.dtype, element_count(a.shape), rng));
  Tensors whole = before, poisoned = before;
  for (size_t a = 0; a < arguments.size(); ++a) {
    if (m.params[arguments[a].param].role == ParamRole::kOutput) continue;
    const auto bytes = static_cast<size_t>(arguments[a].dtype.bytes());
    for (int64_t e = 0; e < element_count(arguments[a].shape); ++e)
      if (!is_in(touched.read[a], e)) std::memset(&poisoned[a][static_cast<size_t>(e) * bytes], 0xff, bytes);
  }
  run(part, whole, arguments);
  run(part, poisoned, arguments);
  for (size_t a = 0; a < arguments.size(); ++a) {
    if (m.params[arguments[a].param].role != ParamRole::kOutput) continue;
    ASSERT_EQ(whole[a], poisoned[a]) << what << " reads other elements";
    const auto bytes = static_cast<size_t>(arguments[a].dtype.bytes());
    for (int64_t e = 0; e < element_count(arguments[a].shape); ++e) {
      const size_t at = static_cast<size_t>(e) * bytes;
      if (std::memcmp(&whole[a][at], &before[a][at], bytes) == 0) continue;
      ASSERT_TRUE(is_in(touched.written[a], e)) << what << " writes element " << e << " of " << a;
    }
  }
}

TEST(TouchedElements, AreAllThatIterationsDependOn) {
  int divided = 0;
  for (const char* text :
       {"conv2d(ci=4,h=7,w=9,co=10,epilogue=bias+add+relu)", "conv2d(ci=8,h=6,w=6,co=8,layout=NCHW4c)",
        "conv2d(ci=8,h=5,w=6,co=8,kh=1,kw=1,pad=0,stride=2)", "conv2d(ci=3,h=7,w=5,co=6,layout=NCHW)",
        "dense(m=7,n=19,k=5,epilogue=bias+add)", "dense(m=13,n=32,k=4)", "batch_matmul(b=2,m=5,n=21,k=3)",
        "depthwise_conv2d(c=9,h=7,w=5)", "depthwise_conv2d(c=8,h=6,w=7,layout=NCHW,stride=2)",
        "elementwise(op=mul,shape=5x7x6,operands=1x7x1)", "attention(b=2,m=5,n=7,k=4,v=3)",
        "layer_norm(shape=5x16,axis=1)", "softmax(shape=9x6,axis=1)",
        "max_pool2d(c=8,h=6,w=6,kh=3,kw=3,stride=2,pad=1)", "transpose(shape=6x7x5,perm=1:0:2)",
        "concat(shapes=2x5x3:2x4x3,axis=1)", "reduce(op=sum,shape=6x9,axes=0)", "gather(shape=7x5,indices=6,axis=0)",
        "resize(shape=1x3x5x4,size=1x3x9x7)"}) {
    const Workload w = parse_workload(text);
    for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
      const Target target = Target::parse(std::string("llvm -mtriple=x86_64-linux -l2=512K -threads=2 -mcpu=") + cpu);
      const Space space = make_space(w, target);
      std::mt19937_64 rng(11);
      for (const Config& config : some_configs(space, 4, rng)) {
        const Module m = lower_config(w, target, space, config);
        const std::string what = std::string(text) + " " + space.print(config);
        for (const Function& kernel : m.kernels) {
          const For* loop = whole_parallel_loop(kernel);
          if (m.kernels.size() == 1) expect_touches(kernel, touched_elements(kernel), m, what);
          if (!loop || m.kernels.size() > 1) continue;
          ++divided;
          const int64_t n = *as_const_int(loop->extent);
          for (int64_t i = 0; i < n; i += std::max<int64_t>(1, n / 3)) {
            Function part = kernel;
            part.body =
                make_for(loop->var, make_int(*as_const_int(loop->min) + i), make_int(1), LoopKind::kSerial, loop->body);
            expect_touches(part, touched_elements(kernel, *loop, i), m, what + " iteration " + std::to_string(i));
          }
        }
      }
    }
  }
  EXPECT_GT(divided, draws(30, 60));
}

// Sets that are too large would join work that threads could divide.
TEST(TouchedElements, AreNoMoreThanIterationsTouch) {
  for (const char* text : {"conv2d(ci=32,h=6,w=6,co=32,kh=1,kw=1,pad=0,layout=NCHW16c)", "dense(m=128,n=64,k=64)",
                           "depthwise_conv2d(c=32,h=8,w=8,layout=NCHW16c)", "layer_norm(shape=196x192)",
                           "elementwise(op=relu,shape=64x64x8)"}) {
    const Workload w = parse_workload(text);
    const Target target = Target::parse("llvm -mtriple=x86_64-linux -threads=2 -mcpu=x86-64-v4");
    const Space space = make_space(w, target);
    const Module m = lower_config(w, target, space, space.default_config());
    const For* loop = whole_parallel_loop(m.kernels.at(0));
    ASSERT_TRUE(loop) << text;
    const size_t output = kernel_arguments(m).size() - 1;
    int64_t written = 0;
    for (int64_t i = 0; i < *as_const_int(loop->extent); ++i) {
      const TouchedElements touched = touched_elements(m.kernels[0], *loop, i);
      for (const ElementRun& r : touched.written[output]) written += r.end - r.begin;
    }
    EXPECT_EQ(written, element_count(kernel_arguments(m)[output].shape)) << text;
  }
}

}  // namespace
}  // namespace hone
