// Models of floats that are rounded to bytes.
#include "compiler/quantize/quantize_graph.h"

#include <gmock/gmock.h>

#include <fstream>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/model/prepare.h"
#include "compiler/quantize/calibrate.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Two convolutions behind each other and a residual around the second.
Graph small_graph() {
  return read_graph(R"(graph g
input "x" %x f32[1, 4, 5, 5]
%w = constant f32[4, 4, 3, 3] fill 1
%b = constant f32[4] [0.1, -0.2, 0.3, 0.4]
%c = conv2d(n=1,ci=4,h=5,w=5,co=4,kh=3,kw=3,stride=1,pad=1,layout=NCHW,epilogue=bias) %x %w %b   # first
%r = elementwise(op=relu,shape=1x4x5x5) %c
%v = constant f32[4, 4, 1, 1] fill 2
%d = conv2d(n=1,ci=4,h=5,w=5,co=4,kh=1,kw=1,stride=1,pad=0,layout=NCHW) %r %v   # second
%s = elementwise(op=add,shape=1x4x5x5,operands=same) %d %r
output "s" %s f32[1, 4, 5, 5]
)");
}
const Ranges kRanges{{"x", {-1, 1}}, {"r", {0, 8}}};

TEST(QuantizeGraph, ProductsAndWhatTheyReadArePlanned) {
  const Graph g = small_graph();
  const QuantizationPlan plan = plan_quantization(g, {});
  std::vector<std::string> names;
  for (const ValueId v : plan.values) names.push_back(g.value(v).name);
  EXPECT_THAT(names, ElementsAre("x", "r"));
  EXPECT_EQ(plan.products.size(), 2u);
  const QuantizationPlan less = plan_quantization(g, {"first"});
  EXPECT_EQ(less.products.size(), 1u);
  EXPECT_EQ(g.value(less.values[0]).name, "r");
  EXPECT_EQ(refusal_of([&] { plan_quantization(g, {"third"}); }),
            "--keep third: no layer that can be quantised has this name; there are first, second");
  EXPECT_EQ(refusal_of(
                [&] { plan_quantization(read_graph("graph g\ninput \"x\" %x f32[2]\noutput \"x\" %x f32[2]\n"), {}); }),
            "--quantize: the model has no convolution or product of f32 with known weights");
}

TEST(QuantizeGraph, WhatIsRoundedIsNear) {
  const Graph g = small_graph();
  const Graph made = quantized(g, plan_quantization(g, {}), kRanges, test_context());
  expect_same_values(g, made, 0.1);
  const std::string text = to_string(made);
  EXPECT_THAT(text, HasSubstr("op=div[0.007843138]+round+add[127]+saturate:u8"));
  EXPECT_THAT(text, HasSubstr("op=cast:f32+mul[0.03137255],"));
  EXPECT_EQ(refusal_of([&] {
              quantized(g, plan_quantization(g, {}), {{"x", {0, 1}}}, test_context());
            }),
            "the ranges have nothing for 'r': they are of another model, or of other flags");
}

// The passes make sums of bytes of it, and the residual goes on in bytes.
TEST(QuantizeGraph, PassesMakeSumsOfBytes) {
  const Graph g = small_graph();
  const Graph rounded = quantized(g, plan_quantization(g, {}), kRanges, test_context());
  const Graph made = prepare_graph(rounded, test_context(), host_target(1));
  // One is a 1x1 convolution of planes, a product of its weights by them.
  for (const Node& n : made.nodes) {
    if (n.workload.operator_name() == "conv2d") {
      EXPECT_THAT(to_string(n.workload), HasSubstr("dtype=u8:s8:s32:s32"));
    }
    if (n.workload.operator_name() == "batch_matmul") {
      EXPECT_THAT(to_string(n.workload), HasSubstr("dtype=s8:u8:s32:s32"));
    }
  }
  EXPECT_EQ(count_of(made, "conv2d"), 1);
  EXPECT_EQ(count_of(made, "batch_matmul"), 1);
  expect_same_values(rounded, made, 0.04);
}

TEST(QuantizeGraph, ScalesOfOneAndNoRange) {
  const Graph g = small_graph();
  for (const Ranges& r : {Ranges{{"x", {0, 255}}, {"r", {0, 0}}}, Ranges{{"x", {-1, 254}}, {"r", {-255, 0}}}}) {
    const Graph made = quantized(g, plan_quantization(g, {}), r, test_context());
    verify(made);
    verify(prepare_graph(made, test_context(), host_target(1)));
  }
}

// A file as numpy writes it.
void write_npy(const std::string& path, const std::vector<int>& shape, const std::vector<float>& values) {
  std::string dims;
  for (const int d : shape) dims += std::to_string(d) + ",";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + "), }";
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\x01' << '\0' << static_cast<char>(header.size() & 255)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

struct Calibration : testing::Test {
  const TemporaryFolder temporary;
  const Graph g = small_graph();
  const Target here = host_target(1);
  void SetUp() override {
    for (int s = 0; s < 3; ++s) {
      std::vector<float> x(100);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + static_cast<size_t>(s)) % 13) / 6 - 1;
      write_npy(temporary.path() + "/s" + std::to_string(s) + ".npy", {1, 4, 5, 5}, x);
    }
  }
};

TEST_F(Calibration, RangesAreThoseOfTheSamples) {
  const Samples samples(temporary.path());
  ASSERT_EQ(samples.count(), 3u);
  const QuantizationPlan plan = plan_quantization(g, {});
  size_t told = 0;
  const Ranges ranges =
      calibrate(g, plan, test_context(), here, samples, RangeMethod::kMinMax, [&](size_t done, size_t all) {
        EXPECT_EQ(all, 3u);
        told = done;
      });
  EXPECT_EQ(told, 3u);
  EXPECT_EQ(ranges.at("x"), (Range{-1, 1}));
  // The interpreter finds this range.
  Range r{0, 0};
  for (size_t s = 0; s < 3; ++s)
    for (const double v : interpret(with_outputs(g, plan.values), samples.read(s, g.inputs), &evaluate)[2].values())
      r.most = std::max(r.most, v);
  EXPECT_NEAR(ranges.at("r").most, r.most, 1e-5);
  EXPECT_EQ(ranges.at("r").least, 0);

  const Graph made = quantized(g, plan, ranges, test_context());
  const QuantizationErrors errors =
      compare_quantized(g, made, plan, test_context(), here, samples, 2, [](size_t, size_t) {});
  ASSERT_EQ(errors.products.size(), 2u);
  ASSERT_EQ(errors.outputs.size(), 1u);
  EXPECT_EQ(errors.tops, 2 * 4 * 5);
  for (const double e : {errors.products[0], errors.products[1], errors.outputs[0]}) {
    EXPECT_GT(e, 0);
    EXPECT_LT(e, 0.02);
  }
  EXPECT_GE(errors.equal_tops, 36);
}

TEST_F(Calibration, OtherSamplesAreRefused) {
  EXPECT_THAT(refusal_of([&] { Samples(temporary.path() + "/none"); }), HasSubstr("none: No such file"));
  const TemporaryFolder empty;
  EXPECT_THAT(refusal_of([&] { Samples s(empty.path()); }), HasSubstr("there is no sample"));
  write_npy(empty.path() + "/a.npy", {1, 4, 5, 4}, std::vector<float>(80));
  EXPECT_THAT(refusal_of([&] { Samples(empty.path()).read(0, g.inputs); }),
              HasSubstr("a.npy: it is f32[1, 4, 5, 4]; 'x' is f32[1, 4, 5, 5]"));
  std::vector<float> wild(100);
  wild[3] = INFINITY;
  write_npy(empty.path() + "/a.npy", {1, 4, 5, 5}, wild);
  EXPECT_THAT(refusal_of([&] {
                calibrate(g, plan_quantization(g, {}), test_context(), here, Samples(empty.path()),
                          RangeMethod::kMinMax, [](size_t, size_t) {});
              }),
              HasSubstr("--calibrate: of 'x' in sample 1 an element is inf"));
}

}  // namespace
}  // namespace hone
