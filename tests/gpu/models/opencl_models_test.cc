// Models on an OpenCL device against the interpreter: nets by hand, and random graphs (HONE_GPU_GRAPHS takes more,
// HONE_GPU_GRAPHS_SEED others).
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_gpu.h"
#include "tests/gpu/models/gpu_model_run.h"
#include "tests/property/graphs/random_graph.h"

namespace hone {
namespace {

using testing::HasSubstr;

class OpenclModels : public testing::Test {
 protected:
  void SetUp() override {
    auto here = open_local_gpu(Target::parse("opencl"));
    if (!here.ok()) GTEST_SKIP() << message_of(here.status());
    gpu_ = std::move(*here);
  }

  // Floats are off by no more than 1e-5 of the largest value; all else is equal.
  void expect_as_interpreted(const Graph& g) {
    const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate),
                                  got = run_on_gpu(g, gpu_.target, *gpu_.device, inputs);
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t o = 0; o < got.size(); ++o)
      EXPECT_LT(difference(got[o], wanted[o]).largest, 1e-5) << g.outputs[o].name << "\n" << to_string(g, 16);
  }

  LocalGpu gpu_;
};

TEST_F(OpenclModels, AConvolutionalNetWithAResidual) {
  expect_as_interpreted(read_graph(R"(graph g
input "image" %image f32[1, 3, 20, 20]
%w1 = constant f32[16, 3, 3, 3] fill 1
%b1 = constant f32[16] fill 2
%w2 = constant f32[16, 16, 3, 3] fill 3
%b2 = constant f32[16] fill 4
%w3 = constant f32[10, 16] fill 5
%b3 = constant f32[10] fill 6
%c1 = conv2d(n=1,ci=3,h=20,w=20,co=16,kh=3,kw=3,stride=1,pad=1,dtype=f32,epilogue=bias+relu) %image %w1 %b1
%p1 = max_pool2d(n=1,c=16,h=20,w=20,kh=3,kw=3,stride=2,pad=0,dtype=f32) %c1
%c2 = conv2d(n=1,ci=16,h=9,w=9,co=16,kh=3,kw=3,stride=1,pad=1,dtype=f32,epilogue=bias) %p1 %w2 %b2
%s = elementwise(op=add,shape=1x16x9x9,dtype=f32) %c2 %p1
%r = elementwise(op=silu,shape=1x16x9x9,dtype=f32) %s
%a = reduce(op=mean,shape=1x16x9x9,axes=2:3,keepdims=1,dtype=f32) %r
%f = reshape(shape=1x16x1x1,to=1x16,dtype=f32) %a
%z = dense(m=1,n=10,k=16,dtype=f32,epilogue=bias) %f %w3 %b3
%y = softmax(shape=1x10,axis=1,dtype=f32) %z
output "classes" %y f32[1, 10]
output "features" %r f32[1, 16, 9, 9]
)"));
}

TEST_F(OpenclModels, AttentionAndNorms) {
  expect_as_interpreted(read_graph(R"(graph g
input "x" %x f32[1, 12, 32]
%g = constant f32[32] fill 1
%b = constant f32[32] fill 2
%wq = constant f32[32, 32] fill 3
%bq = constant f32[32] fill 4
%wk = constant f32[32, 32] fill 5
%wv = constant f32[32, 32] fill 6
%n = layer_norm(shape=1x12x32,axis=2,dtype=f32) %x %g %b
%m = reshape(shape=1x12x32,to=12x32,dtype=f32) %n
%q0 = dense(m=12,n=32,k=32,dtype=f32,epilogue=bias) %m %wq %bq
%k0 = dense(m=12,n=32,k=32,dtype=f32) %m %wk
%v0 = dense(m=12,n=32,k=32,dtype=f32) %m %wv
%q1 = reshape(shape=12x32,to=12x4x8,dtype=f32) %q0
%k1 = reshape(shape=12x32,to=12x4x8,dtype=f32) %k0
%v1 = reshape(shape=12x32,to=12x4x8,dtype=f32) %v0
%q = transpose(shape=12x4x8,perm=1:0:2,dtype=f32) %q1
%k = transpose(shape=12x4x8,perm=1:2:0,dtype=f32) %k1
%v = transpose(shape=12x4x8,perm=1:0:2,dtype=f32) %v1
%s = batch_matmul(b=4,m=12,n=12,k=8,dtype=f32) %q %k
%p = softmax(shape=4x12x12,axis=2,dtype=f32) %s
%o = batch_matmul(b=4,m=12,n=8,k=12,dtype=f32) %p %v
%t = transpose(shape=4x12x8,perm=1:0:2,dtype=f32) %o
%y = reshape(shape=12x4x8,to=1x12x32,dtype=f32) %t
output "y" %y f32[1, 12, 32]
)"));
}

// A value that lies in another's memory on a CPU does so here only where a device's buffer may begin: at 512 bytes.
TEST_F(OpenclModels, PartsAtPlacesWhereBuffersBeginAndWhereTheyDoNot) {
  for (const int columns : {128, 5}) {
    SCOPED_TRACE(columns);
    const std::string text = fmt::format(R"(graph g
input "x" %x f32[4, {0}]
%a = elementwise(op=relu,shape=4x{0},dtype=f32) %x
%first = slice(shape=4x{0},begin=1:0,step=1,size=1x{0},dtype=f32) %a
%rest = slice(shape=4x{0},begin=2:0,step=1,size=2x{0},dtype=f32) %a
%f = elementwise(op=exp,shape=1x{0},dtype=f32) %first
%r = elementwise(op=neg,shape=2x{0},dtype=f32) %rest
%y = concat(shapes=1x{0}:2x{0},axis=0,dtype=f32) %f %r
%z = elementwise(op=abs,shape=3x{0},dtype=f32) %y
output "y" %y f32[3, {0}]
output "z" %z f32[3, {0}]
)",
                                         columns);
    expect_as_interpreted(read_graph(text));
  }
}

TEST_F(OpenclModels, RowsByTheirNumbersAndTensorsThatNobodyComputes) {
  expect_as_interpreted(read_graph(R"(graph g
input "ids" %ids s64[3]
input "x" %x f32[7]
%table = constant f32[9, 6] fill 1
%known = constant f32[5] fill 2
%rows = gather(shape=9x6,axis=0,indices=3,dtype=f32) %table %ids
%t = transpose(shape=3x6,perm=1:0,dtype=f32) %rows
output "t" %t f32[6, 3]
output "again" %t f32[6, 3]
output "x" %x f32[7]
output "known" %known f32[5]
)"));
}

// Functions in C on the host, between layers on the device.
TEST_F(OpenclModels, WhatTheHostComputes) {
  expect_as_interpreted(read_graph(R"(graph g
input "x" %x f32[40, 4]
input "s" %s f32[2, 200]
%zero = constant f32[1] [0]
%y = elementwise(op=mul[2],shape=40x4) %x
%first = slice(shape=40x4,begin=0:0,size=40x1) %y
%flat = reshape(shape=40x1,to=40) %first
%mask = elementwise(op=greater,shape=40,operands=1) %flat %zero
%places, %count = nonzero(n=40) %mask
%rows = gather(shape=40x4,indices=40) %y %places
%out = elementwise(op=relu,shape=40x4) %rows
%best = top_k(shape=2x200,k=70) %s
output "rows" %out f32[40, 4] extent 0 by 2
output "best" %best s64[2, 70]
output "rows.count" %count s64[1]
)"));
  const Graph scattered = read_graph(R"(graph g
input "x" %x f32[5]
input "at" %at s64[5]
%d = elementwise(op=mul[2],shape=5) %x
%s = scatter(n=5,to=9,dtype=f32) %d %at
%y = elementwise(op=neg,shape=9) %s
output "y" %y f32[9]
)");
  std::vector<TensorData> inputs = seeded_inputs(scattered);
  inputs[1] = TensorData::of_numbers({8, 0, 3, 3, 1});
  EXPECT_EQ(difference(run_on_gpu(scattered, gpu_.target, *gpu_.device, inputs)[0],
                       interpret(scattered, inputs, &evaluate)[0])
                .largest,
            0);
  inputs[1] = TensorData::of_numbers({8, 0, 9, 3, 1});
  EXPECT_THAT(refusal_of([&] { run_on_gpu(scattered, gpu_.target, *gpu_.device, inputs); }),
              HasSubstr("branch that its shapes do not allow"));
}

TEST_F(OpenclModels, RecurrentLayersStepByStep) {
  expect_as_interpreted(read_graph(R"(graph g
input "x" %x f32[5, 3, 80]
input "h" %h f32[3, 20]
input "c" %c f32[3, 20]
%r = constant f32[4, 20, 20] fill 1
%b = constant f32[20] fill 2
%y, %cell = lstm(batch=3,hidden=20,steps=5,reverse=1) %x %r %h %c
%u = slice(shape=5x3x80,begin=0:0:20,size=5x3x60) %x
%q = constant f32[3, 20, 20] fill 3
%z = gru(batch=3,hidden=20,steps=5) %u %q %h %b
output "y" %y f32[5, 3, 20]
output "cell" %cell f32[3, 20]
output "z" %z f32[5, 3, 20]
)"));
}

TEST_F(OpenclModels, VariantsShareKernelsAndWeights) {
  const auto net = [](int batch) {
    return read_graph(fmt::format(R"(graph g
input "x" %x f32[{0}, 16]
%w = constant f32[8, 16] fill 1
%d = dense(m={0},n=8,k=16,dtype=f32) %x %w
%c = constant f32[1, 8] fill 2
%s = softmax(shape=1x8,axis=1,dtype=f32) %c
output "d" %d f32[{0}, 8]
output "s" %s f32[1, 8]
)",
                                  batch));
  };
  const Graph one = net(1), four = net(4);
  ModelOptions options{"gpu_variants", gpu_.target, &default_config};
  options.host = host_target(1);
  const BuiltModel built = build_model({{"batch=1", &one, gpu_.target}, {"batch=4", &four, gpu_.target}}, options);
  EXPECT_EQ(built.kernels, 3) << "the softmax is one of both";
  EXPECT_EQ(built.more_weight_bytes, 0);
  size_t variant = 0;
  for (const Graph* g : {&one, &four}) {
    LoadedModel model(built, "gpu_variants", 1, variant++, gpu_.device.get());
    const std::vector<TensorData> inputs = seeded_inputs(*g), wanted = interpret(*g, inputs, &evaluate),
                                  got = model.run(inputs);
    for (size_t o = 0; o < got.size(); ++o) EXPECT_LT(difference(got[o], wanted[o]).largest, 1e-5) << o;
  }
}

// The fault of the graph on the device; empty: none.
std::string fault_on_gpu(const Graph& g, const Target& target, Device& device) {
  try {
    const std::vector<TensorData> inputs = seeded_inputs(g), wanted = interpret(g, inputs, &evaluate),
                                  got = run_on_gpu(g, target, device, inputs);
    for (size_t o = 0; o < got.size(); ++o) {
      const DType t = g.outputs[o].type.dtype;
      const double allowed = t == f16 || t == bf16 ? 2e-2 : t.is_float() ? 1e-4 : 0;
      const std::vector<double> a = got[o].values(), b = wanted[o].values();
      double largest = 1;
      for (const double v : b)
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
      for (size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i])) && !(std::abs(a[i] - b[i]) <= allowed * largest))
          return fmt::format("output {}, element {}: {} instead of {}", o, i, a[i], b[i]);
    }
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST_F(OpenclModels, RandomGraphsComputeTheSame) {
  const auto setting = [](const char* name, uint64_t otherwise) {
    const char* value = std::getenv(name);
    return value ? std::strtoull(value, nullptr, 10) : otherwise;
  };
  const uint64_t first = setting("HONE_GPU_GRAPHS_SEED", 0), count = setting("HONE_GPU_GRAPHS", 12);
  const std::vector<std::vector<DType>> types{{f32}, {f32, i32, boolean, i64}, {f16, bf16, f32}, {u8, i8, i32, f32}};
  size_t layers = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Graph g = RandomGraph(test_operators(), test_functions(), seed, {types[seed % 4], true, 8}).make();
    layers += g.nodes.size();
    EXPECT_EQ(fault_on_gpu(g, gpu_.target, *gpu_.device), "") << "seed " << seed << "\n" << to_string(g, 1 << 10);
  }
  EXPECT_GT(layers, count);
}

}  // namespace
}  // namespace hone
