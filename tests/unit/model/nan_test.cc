// NaNs in models' artifacts: they come out where the operators say so, fused and alone, in vectors and at their ends.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/graph/evaluate.h"
#include "compiler/graph/text.h"
#include "compiler/model/build_model.h"
#include "compiler/model/check/check_layers.h"
#include "compiler/model/model_data.h"
#include "compiler/model/run_model.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

BuiltModel built_in_nan(const Graph& g, bool assume_finite = false, bool in_c = false) {
  ModelOptions options{"m", host_target(1), [](const Workload&, const Target&, const Space& space) {
                         return ChosenConfig{space.default_config(), "default", ""};
                       }};
  options.assume_finite = assume_finite;
  options.in_c = in_c;
  return build_model(g, options);
}

Graph graph_of(const std::string& text) { return parse_graph(test_operators(), "graph g\n" + text); }

// Seeded inputs with NaNs: one of so many elements, at other places in each input.
std::vector<TensorData> with_nans(const Graph& g, int64_t every) {
  std::vector<TensorData> out;
  for (const TensorData& t : seeded_inputs(g)) {
    std::string bytes(t.bytes().begin(), t.bytes().end());
    const float nan = NAN;
    for (int64_t i = every / 2 + 2 * std::ssize(out); i < t.elements(); i += every)
      std::memcpy(bytes.data() + i * 4, &nan, 4);
    out.emplace_back(t.type(), std::move(bytes));
  }
  return out;
}

std::vector<bool> nans_of(const std::vector<TensorData>& tensors) {
  std::vector<bool> out;
  for (const TensorData& t : tensors)
    for (const double v : t.values()) out.push_back(std::isnan(v));
  return out;
}

// The artifact's NaNs are where the interpreter has them; which those are.
std::vector<bool> nans_in(const std::string& text, int64_t every = 7) {
  const Graph g = graph_of(text);
  const std::vector<TensorData> inputs = with_nans(g, every);
  const std::vector<bool> wanted = nans_of(interpret(g, inputs, &evaluate)),
                          got = nans_of(LoadedModel(built_in_nan(g), "m", 1).run(inputs));
  EXPECT_EQ(got, wanted) << text;
  EXPECT_TRUE(std::find(wanted.begin(), wanted.end(), true) != wanted.end()) << text;
  EXPECT_TRUE(std::find(wanted.begin(), wanted.end(), false) != wanted.end()) << text;
  return got;
}

TEST(NansOfModels, StayInEveryActivation) {
  for (const char* f : {"relu",
                        "relu6",
                        "clip[-0.5;0.5]",
                        "elu[1.0]",
                        "hard_sigmoid[0.2;0.5]",
                        "hard_swish",
                        "leaky_relu",
                        "leaky[0.1]",
                        "selu",
                        "celu",
                        "softplus",
                        "mish",
                        "gelu",
                        "gelu_tanh",
                        "silu",
                        "sigmoid",
                        "tanh",
                        "erf",
                        "exp",
                        "abs",
                        "sign",
                        "softsign",
                        "max[0.1]",
                        "min[0.1]",
                        "maximum[0.1]",
                        "minimum[0.1]",
                        "relu+neg+relu6"}) {
    const std::vector<bool> nans = nans_in(fmt::format(
        "input \"x\" %x f32[77]\n%y = elementwise(op={},shape=77,dtype=f32) %x\noutput \"y\" %y f32[77]\n", f));
    for (size_t i = 0; i < nans.size(); ++i) EXPECT_EQ(nans[i], i % 7 == 3) << f << " " << i;
  }
}

TEST(NansOfModels, StayInMaximaOfTwoTensors) {
  for (const char* f : {"max", "min", "maximum", "minimum", "prelu"})
    nans_in(fmt::format("input \"a\" %a f32[77]\ninput \"b\" %b f32[77]\n"
                        "%y = elementwise(op={},shape=77,operands=same,dtype=f32) %a %b\noutput \"y\" %y f32[77]\n",
                        f),
            11);
}

TEST(NansOfModels, StayInReductions) {
  for (const char* op : {"max", "min", "sum", "mean", "l2"})
    for (const char* axes : {"1", "0"}) {
      const std::string out = std::string(axes) == "1" ? "9" : "35";
      const std::vector<bool> nans =
          nans_in(fmt::format("input \"x\" %x f32[9, 35]\n%y = reduce(op={},shape=9x35,axes={},dtype=f32) %x\n"
                              "output \"y\" %y f32[{}]\n",
                              op, axes, out),
                  67);
      size_t count = 0;
      for (const bool n : nans) count += n;
      EXPECT_EQ(count, 5u) << op << axes << ": elements 33, 100, 167, 234 and 301 lie in rows and columns of their own";
    }
}

// A window with a NaN is one, wherever in it the NaN stands and however the window lies at the border.
TEST(NansOfModels, StayInWindows) {
  constexpr int64_t kSize = 11;
  for (const int64_t kernel : {2, 3})
    for (const int64_t stride : {1, 2}) {
      const int64_t pad = kernel / 2, size = (kSize + 2 * pad - kernel) / stride + 1;
      const std::vector<bool> nans = nans_in(
          fmt::format("input \"x\" %x f32[1, 3, {0}, {0}]\n%y = max_pool2d(c=3,h={0},w={0},kh={1},kw={1},stride={2},"
                      "pad={3},layout=NCHW,dtype=f32) %x\noutput \"y\" %y f32[1, 3, {4}, {4}]\n",
                      kSize, kernel, stride, pad, size),
          37);
      for (int64_t c = 0; c < 3; ++c)
        for (int64_t y = 0; y < size; ++y)
          for (int64_t x = 0; x < size; ++x) {
            bool has_nan = false;
            for (int64_t i = std::max<int64_t>(0, y * stride - pad); i < std::min(kSize, y * stride - pad + kernel);
                 ++i)
              for (int64_t j = std::max<int64_t>(0, x * stride - pad); j < std::min(kSize, x * stride - pad + kernel);
                   ++j)
                has_nan = has_nan || ((c * kSize + i) * kSize + j) % 37 == 18;
            EXPECT_EQ(nans[static_cast<size_t>((c * size + y) * size + x)], has_nan)
                << kernel << " " << stride << ": " << c << " " << y << " " << x;
          }
    }
}

TEST(NansOfModels, StayBehindConvolutionsAndProducts) {
  for (const char* epilogue : {"relu", "bias+relu", "relu6", "hard_swish", "clip[-1.0;1.0]"}) {
    const bool bias = std::string(epilogue).find("bias") == 0;
    nans_in(fmt::format("input \"x\" %x f32[1, 3, 9, 9]\n%w = constant f32[5, 3, 3, 3] fill 1\n{}"
                        "%y = conv2d(ci=3,h=9,w=9,co=5,kh=3,kw=3,pad=1,layout=NCHW,dtype=f32,epilogue={}) %x %w{}\n"
                        "output \"y\" %y f32[1, 5, 9, 9]\n",
                        bias ? "%b = constant f32[5] fill 1\n" : "", epilogue, bias ? " %b" : ""),
            101);
    nans_in(fmt::format("input \"x\" %x f32[8, 19]\n%w = constant f32[33, 19] fill 1\n{}"
                        "%y = dense(m=8,n=33,k=19,dtype=f32,epilogue={}) %x %w{}\noutput \"y\" %y f32[8, 33]\n",
                        bias ? "%b = constant f32[33] fill 1\n" : "", epilogue, bias ? " %b" : ""),
            50);
  }
}

TEST(NansOfModels, MakeWholeRowsOfASoftmax) {
  const std::vector<bool> nans = nans_in(
      "input \"x\" %x f32[6, 20]\n%y = softmax(shape=6x20,axis=1,dtype=f32) %x\noutput \"y\" %y f32[6, 20]\n", 67);
  for (size_t i = 0; i < nans.size(); ++i) EXPECT_EQ(nans[i], i / 20 == 1 || i / 20 == 5) << i;
}

TEST(NansOfModels, MayBeLostWhereNobodyWantsThem) {
  const Graph g = graph_of(
      "input \"x\" %x f32[9, 35]\n%r = elementwise(op=relu,shape=9x35,dtype=f32) %x\n"
      "%y = reduce(op=max,shape=9x35,axes=1,dtype=f32) %r\noutput \"y\" %y f32[9]\n");
  const BuiltModel kept = built_in_nan(g), lost = built_in_nan(g, true);
  EXPECT_THAT(kept.json, HasSubstr("\"assume_finite\":false"));
  EXPECT_THAT(lost.json, HasSubstr("\"assume_finite\":true"));
  EXPECT_THAT(kept.header, testing::Not(HasSubstr("NaN")));
  EXPECT_THAT(lost.header, HasSubstr("what becomes of a NaN is not said"));
  const std::vector<TensorData> inputs = seeded_inputs(g);
  EXPECT_EQ(LoadedModel(kept, "m", 1).run(inputs)[0].values(), LoadedModel(lost, "m", 1).run(inputs)[0].values());
  for (const Kernel& k : lost.variants[0].layers.kernels) EXPECT_TRUE(k.module.assume_finite);
  EXPECT_EQ(check_layers(g, lost.variants[0].layers, host_target(1), inputs).wrong, "");
}

TEST(NansOfModels, AreInTheTextOfC) {
  const Graph g = graph_of(
      "input \"x\" %x f32[9, 35]\n%r = elementwise(op=relu,shape=9x35,dtype=f32) %x\n"
      "%y = reduce(op=max,shape=9x35,axes=1,dtype=f32) %r\noutput \"y\" %y f32[9]\n");
  const std::string kept = built_in_nan(g, false, true).c_source, lost = built_in_nan(g, true, true).c_source;
  EXPECT_THAT(kept, HasSubstr("maximum_f32"));
  EXPECT_THAT(lost, testing::Not(HasSubstr("maximum_f32")));
}

}  // namespace
}  // namespace hone
