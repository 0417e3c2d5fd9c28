// Every task on ordinary and odd shapes: random configs, compiled and run, against the reference.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "compiler/build.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/local_kernel.h"
#include "compiler/ops/reference.h"

namespace hone {
namespace {

std::vector<char> random_elements(DType t, int64_t count, std::mt19937_64& rng) {
  std::vector<char> bytes(static_cast<size_t>(count * t.bytes()));
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(rng() >> 11) * 0x1p-52 - 1;
    if (t == f32) reinterpret_cast<float*>(bytes.data())[i] = static_cast<float>(x);
    if (t == f64) reinterpret_cast<double*>(bytes.data())[i] = x;
    if (t.bits == 8) bytes[static_cast<size_t>(i)] = static_cast<char>(rng());
    if (t == i32) reinterpret_cast<int32_t*>(bytes.data())[i] = static_cast<int32_t>(rng() % 256) - 128;
  }
  return bytes;
}

double element(const std::vector<char>& bytes, DType t, int64_t i) {
  if (t == f32) return reinterpret_cast<const float*>(bytes.data())[i];
  if (t == f64) return reinterpret_cast<const double*>(bytes.data())[i];
  if (t == i64) return static_cast<double>(reinterpret_cast<const int64_t*>(bytes.data())[i]);
  return reinterpret_cast<const int32_t*>(bytes.data())[i];
}

class Templates : public testing::TestWithParam<const char*> {};

TEST_P(Templates, ComputeWhatTheReferenceComputes) {
  const Workload w = Workload::parse(GetParam());
  const Target target = host_target(2);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(7);

  const int64_t outputs = output_elements(w);
  std::vector<int64_t> samples(static_cast<size_t>(outputs));
  for (int64_t i = 0; i < outputs; ++i) samples[static_cast<size_t>(i)] = i;
  LocalKernel reference(reference_module(w, outputs, 2), target);
  reference.set_input(0, samples.data());
  std::vector<std::vector<char>> inputs;
  const size_t count = reference.module().params.size() - 3;
  for (size_t i = 0; i < count; ++i) {
    const Param& p = reference.module().params[i + 1];
    inputs.push_back(random_elements(p.dtype, element_count(p.shape), rng));
    reference.set_input(i + 1, inputs.back().data());
  }
  ASSERT_EQ(reference.run(), HONE_OK);
  const auto value = reference.get_output(count + 1), magnitude = reference.get_output(count + 2);
  const ErrorBounds bounds = error_bounds(w);

  std::vector<Config> configs{space.default_config()};
  while (configs.size() < 12) {
    const auto c = space.sample(rng);
    if (!c) break;
    configs.push_back(*c);
  }
  for (const Config& config : configs) {
    SCOPED_TRACE(space.print(config));
    const Module m = lower_config(w, target, space, config);
    LocalKernel kernel(m, target);
    for (size_t i = 0; i < count; ++i) kernel.set_input(i, inputs[i].data());
    HostTensor& out = kernel.physical(count);
    std::memset(out.data(), 0xff, static_cast<size_t>(out.bytes()));
    ASSERT_EQ(kernel.run(), HONE_OK);
    const auto got = kernel.get_output(count);
    const DType t = m.params[count].dtype, wide = reference.module().params[count + 1].dtype;
    int64_t wrong = 0;
    for (int64_t i = 0; i < outputs && wrong < 5; ++i) {
      const double want = element(value, wide, i), is = element(got, t, i), allowed = bounds.max_error * element(magnitude, f64, i);
      if (!(std::fabs(is - want) <= allowed)) {
        ++wrong;
        ADD_FAILURE() << "element " << i << " is " << is << ", not " << want;
      }
    }
    if (wrong) return;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Templates,
    testing::Values("dense(m=1,n=37,k=19)", "dense(m=33,n=70,k=64)", "dense(m=16,n=64,k=48,epilogue=bias+relu)", "dense(m=7,n=5,k=3,epilogue=add+bias)",
                    "dense(m=20,n=48,k=32,dtype=f64)", "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32)", "batch_matmul(b=3,m=17,n=29,k=8)", "batch_matmul(b=2,m=32,n=64,k=16)",
                    "batch_matmul(b=1,m=1,n=1,k=1)", "conv2d(ci=16,h=14,w=14,co=32)", "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)",
                    "conv2d(ci=8,h=9,w=11,co=13,pad=0)", "conv2d(ci=16,h=7,w=7,co=24,kh=1,kw=1,pad=0)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
                    "conv2d(ci=12,h=10,w=13,co=18,groups=3,dilation=2,pad=2)", "conv2d(ci=5,h=8,w=8,co=7,pad=0:1:2:3,stride=1x2)",
                    "conv2d(ci=16,h=8,w=8,co=16,epilogue=bias+add+relu)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NCHW)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NHWC)",
                    "conv2d(ci=16,h=8,w=8,co=32,layout=NCHW8c:16c)", "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32)", "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)",
                    "depthwise_conv2d(c=32,h=14,w=14)", "depthwise_conv2d(c=19,h=15,w=9,stride=2)", "depthwise_conv2d(c=16,h=8,w=8,kh=5,kw=5,pad=2,epilogue=bias+relu)",
                    "depthwise_conv2d(c=7,h=12,w=12,pad=0:1:0:2,dilation=2)", "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC)"));

}  // namespace
}  // namespace hone
