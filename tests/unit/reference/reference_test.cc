// The outputs that a kernel should have, how far it may be from them, and which are compared.
#include "compiler/reference/reference.h"
#include "compiler/codegen/llvm/machine/host_target.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "compiler/check/checker.h"
#include "compiler/lower/lower.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;
using Doubles = std::vector<double>;

Doubles doubles_of(const std::vector<char>& bytes, DType t) {
  Doubles out(bytes.size() / static_cast<size_t>(t.bytes()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = element(bytes, t, static_cast<int64_t>(i));
  return out;
}

// A definition's reference on random inputs, every element of every output.
struct Computed {
  struct Output {
    DType type;  ///< of `values`
    std::vector<char> values;
    Doubles value, tolerance, typical;
  };
  std::vector<std::vector<char>> inputs;
  std::vector<Output> outputs;

  explicit Computed(const Definition& d, int workers = 1) {
    std::vector<int64_t> counts;
    for (const Tensor& t : d.outputs) counts.push_back(element_count(t->shape));
    LocalKernel kernel(reference_module(d, counts, workers), host_target(workers));
    std::mt19937_64 rng(1);
    for (size_t o = 0; o < counts.size(); ++o) {
      std::vector<int64_t> samples(static_cast<size_t>(counts[o]));
      std::iota(samples.begin(), samples.end(), 0);
      kernel.set_input(o, samples.data());
    }
    for (size_t i = 0; i < d.inputs.size(); ++i) {
      const Tensor& t = d.inputs[i].first;
      inputs.push_back(random_elements(t->buffer->dtype, element_count(t->shape), rng));
      kernel.set_input(counts.size() + i, inputs.back().data());
    }
    EXPECT_EQ(kernel.run(), HONE_OK);
    for (size_t o = 0; o < counts.size(); ++o) {
      const size_t first = counts.size() + d.inputs.size() + 3 * o;
      const DType type = kernel.module().params[first].dtype;
      const auto values = kernel.get_output(first);
      outputs.push_back({type, values, doubles_of(values, type), doubles_of(kernel.get_output(first + 1), f64),
                         doubles_of(kernel.get_output(first + 2), f64)});
    }
  }

  CheckResult check(size_t o, const std::vector<char>& got, DType t) const {
    std::vector<int64_t> samples(outputs[o].value.size());
    std::iota(samples.begin(), samples.end(), 0);
    Expected e{.samples = samples, .values = {}, .int_values = {}, .tolerances = outputs[o].tolerance};
    if (t.is_float())
      e.values = outputs[o].value;
    else
      e.int_values = {reinterpret_cast<const int64_t*>(outputs[o].values.data()), samples.size()};
    if (t.is_float()) e.error_norm = error_norm_of(outputs[o].value, outputs[o].tolerance, outputs[o].typical);
    return check_output(got.data(), t, e);
  }

  // Checks the outputs of the naive program of `d`, which may be another definition, for the same inputs.
  std::vector<CheckResult> check_naive(const Definition& d) const {
    LocalKernel kernel(lower(Schedule(d.inputs, d.outputs), {}), host_target(1));
    for (size_t i = 0; i < inputs.size(); ++i) kernel.set_input(i, inputs[i].data());
    EXPECT_EQ(kernel.run(), HONE_OK);
    std::vector<CheckResult> results;
    for (size_t o = 0; o < d.outputs.size(); ++o)
      results.push_back(check(o, kernel.get_output(inputs.size() + o), d.outputs[o]->buffer->dtype));
    return results;
  }
};

void expect_naive_agrees(const Definition& d) {
  const Computed run(d);
  for (const CheckResult& r : run.check_naive(d)) EXPECT_TRUE(r.ok) << r.message;
}

Tensor product(const char* name, const Tensor& a, const Tensor& b) {
  return compute_reduce(name, {a->shape[0], b->shape[0]}, {"i", "j"}, {a, b}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", a->shape[1]);
    return sum(a(i[0], k) * b(i[1], k), {k});
  });
}

Expr sigmoid(const Expr& x) { return make_float(1) / (make_float(1) + call(Intrinsic::kExp, {make_float(0) - x})); }

Tensor map(const char* name, const Tensor& t, Expr (*f)(const Expr&)) {
  std::vector<std::string> axes;
  for (size_t d = 0; d < t->shape.size(); ++d) axes.push_back("i" + std::to_string(d));
  return compute(name, t->shape, axes, {t}, [&](const Indices& i) { return f(t.at(i)); });
}

Definition of(std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
  Definition d;
  for (Tensor& t : inputs) d.inputs.emplace_back(std::move(t), ParamRole::kInput);
  d.outputs = std::move(outputs);
  return d;
}

Definition softmax(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const auto over_row = [&](const char* name, const Tensor& t, Reduction (*reduce)(Expr, std::vector<Axis>)) {
    return compute_reduce(name, {rows}, {"i"}, {t}, [&](const Indices& i) {
      const Axis k = reduce_axis("k", columns);
      return reduce(t(i[0], k), {k});
    });
  };
  const Tensor highest = over_row("highest", x, &max_over);
  const Tensor e = compute("e", {rows, columns}, {"i", "j"}, {x, highest},
                           [&](const Indices& i) { return call(Intrinsic::kExp, {x.at(i) - highest(i[0])}); });
  const Tensor total = over_row("total", e, &sum);
  const Tensor out =
      compute("out", {rows, columns}, {"i", "j"}, {e, total}, [&](const Indices& i) { return e.at(i) / total(i[0]); });
  return of({x}, {out});
}

// y[t, i] = factor y[t - 1, i] + x[t, i]; z[i] = the sum of y over t.
Definition filtered(double factor, DType t = f32, size_t axis = 0) {
  const Tensor x = placeholder("x", {40, 30}, t);
  const Tensor y = scan(
      "y", {40, 30}, {"t", "i"}, axis, {x}, [&](const Indices&) { return make_const(0, t); },
      [&](const Expr& previous, const Indices& i) { return make_const(factor, t) * previous + x(i[0], i[1]); });
  const Axis r = reduce_axis("r", 40);
  const Tensor z = compute_reduce("z", {30}, {"i"}, {y}, [&](const Indices& i) { return sum(y(r, i[0]), {r}); });
  return {{{x, ParamRole::kInput}}, {y, z}};
}

TEST(Reference, KnowsScansStepByStep) {
  for (const size_t axis : {0U, 1U}) {
    expect_naive_agrees(filtered(0.75, f32, axis));
    expect_naive_agrees(filtered(-1, f64, axis));
    expect_naive_agrees(filtered(3, i32, axis));
  }
  const Computed run(filtered(0.75));
  EXPECT_FALSE(run.check_naive(filtered(0.7501))[0].ok);
  EXPECT_FALSE(run.check_naive(filtered(0.75, f32, 1))[1].ok);
  EXPECT_FALSE(Computed(filtered(3, i32)).check_naive(filtered(2, i32))[0].ok);
  for (const double bound : run.outputs[0].tolerance) EXPECT_LT(bound, 1e-4) << "it does not grow without end";
}

TEST(Reference, OfSoftmaxIsSoftmax) {
  const Definition d = softmax(5, 37);
  const Computed run(d);
  const Doubles x = doubles_of(run.inputs[0], f32);
  for (int i = 0; i < 5; ++i) {
    double total = 0;
    for (int j = 0; j < 37; ++j) total += std::exp(x[static_cast<size_t>(i * 37 + j)]);
    for (size_t at = static_cast<size_t>(i) * 37; at < static_cast<size_t>(i + 1) * 37; ++at) {
      EXPECT_NEAR(run.outputs[0].value[at], std::exp(x[at]) / total, 1e-15);
      EXPECT_GT(run.outputs[0].tolerance[at], 0);
      EXPECT_LT(run.outputs[0].tolerance[at], 1e-5 * run.outputs[0].value[at]);
    }
  }
  expect_naive_agrees(d);
}

// Each row's sum is computed once, not once for each element of the row.
TEST(Reference, OfSoftmaxTakesTimeLinearInItsSize) {
  EXPECT_TRUE(reference_samples(softmax(1000, 1000), 0, 1, 1e7).empty());
  expect_naive_agrees(softmax(64, 2000));
}

TEST(Reference, OfAProductAndASigmoid) {
  const Tensor a = placeholder("a", {6, 300}, f32), b = placeholder("b", {20, 300}, f32);
  const Definition d = of({a, b}, {map("out", product("p", a, b), &sigmoid)});
  const Computed run(d);
  const Doubles x = doubles_of(run.inputs[0], f32), y = doubles_of(run.inputs[1], f32);
  for (size_t i = 0; i < 6; ++i)
    for (size_t j = 0; j < 20; ++j) {
      double p = 0;
      for (size_t k = 0; k < 300; ++k) p += x[i * 300 + k] * y[j * 300 + k];
      EXPECT_NEAR(run.outputs[0].value[i * 20 + j], 1 / (1 + std::exp(-p)), 1e-13);
    }
  expect_naive_agrees(d);
}

TEST(Reference, OfAConvolutionAndASigmoid) {
  Definition d = define(parse_workload("conv2d(ci=16,h=9,w=7,co=8,kh=3,kw=3,pad=1,epilogue=bias)"));
  d.outputs = {map("s", d.output(), &sigmoid)};
  const Computed run(d, 2);
  const Doubles x = doubles_of(run.inputs[0], f32), w = doubles_of(run.inputs[1], f32),
                bias = doubles_of(run.inputs[2], f32);
  const auto pixel = [&](int c, int y, int z) {
    return y < 0 || z < 0 || y >= 9 || z >= 7 ? 0 : x[static_cast<size_t>((c * 9 + y) * 7 + z)];
  };
  for (const auto& [oc, oh, ow] : {std::tuple(0, 0, 0), std::tuple(3, 4, 6), std::tuple(7, 8, 6)}) {
    double sum = bias[static_cast<size_t>(oc)];
    for (int c = 0; c < 16; ++c)
      for (int kh = 0; kh < 3; ++kh)
        for (int kw = 0; kw < 3; ++kw)
          sum += pixel(c, oh + kh - 1, ow + kw - 1) * w[static_cast<size_t>(((oc * 16 + c) * 3 + kh) * 3 + kw)];
    EXPECT_NEAR(run.outputs[0].value[static_cast<size_t>((oc * 9 + oh) * 7 + ow)], 1 / (1 + std::exp(-sum)), 1e-13);
  }
  expect_naive_agrees(d);
}

// The first product is wanted by each element of the second: it is computed as a whole.
TEST(Reference, OfTwoProductsInAChain) {
  const Tensor a = placeholder("a", {7, 40}, f32), b = placeholder("b", {30, 40}, f32),
               c = placeholder("c", {9, 30}, f32);
  const Tensor first = map("relu", product("p", a, b), [](const Expr& x) { return max(x, make_float(0)); });
  const Definition d = of({a, b, c}, {product("q", first, c)});
  const Computed run(d);
  const Doubles x = doubles_of(run.inputs[0], f32), y = doubles_of(run.inputs[1], f32),
                z = doubles_of(run.inputs[2], f32);
  double q = 0;  // element (6, 8)
  for (size_t j = 0; j < 30; ++j) {
    double p = 0;
    for (size_t k = 0; k < 40; ++k) p += x[6 * 40 + k] * y[j * 40 + k];
    q += std::max(p, 0.0) * z[8 * 30 + j];
  }
  EXPECT_NEAR(run.outputs[0].value.back(), q, 1e-12);
  EXPECT_GT(reference_module(d, {63}, 1).workspace_bytes, 0);
  expect_naive_agrees(d);
}

// Too large to be computed as a whole for few samples: where they are wanted.
TEST(Reference, OfFewSamplesComputesNoMoreThanTheyNeed) {
  const Tensor a = placeholder("a", {4000, 3}, f32), b = placeholder("b", {5000, 3}, f32),
               c = placeholder("c", {4, 5000}, f32);
  const Definition d = of({a, b, c}, {product("q", product("p", a, b), c)});
  EXPECT_EQ(reference_module(d, {10}, 1).workspace_bytes, 0);
}

TEST(Reference, OfTwoOutputsHasBoth) {
  const Tensor a = placeholder("a", {6, 50}, f32), b = placeholder("b", {11, 50}, f32);
  const Tensor p = product("p", a, b);
  const Tensor rows = compute_reduce("rows", {6}, {"i"}, {p}, [&](const Indices& i) {
    const Axis j = reduce_axis("j", 11);
    return max_over(p(i[0], j), {j});
  });
  const Definition d = of({a, b}, {p, rows});
  const Computed run(d);
  for (size_t i = 0; i < 6; ++i)
    EXPECT_EQ(run.outputs[1].value[i],
              *std::max_element(run.outputs[0].value.begin() + static_cast<std::ptrdiff_t>(i) * 11,
                                run.outputs[0].value.begin() + static_cast<std::ptrdiff_t>(i + 1) * 11));
  expect_naive_agrees(d);
}

TEST(Reference, SamplesFindTheirElements) {
  const Definition d = define(parse_workload("conv2d(ci=3,h=6,w=5,co=4,kh=3,kw=3,pad=1,stride=2)"));
  const Computed all(d);
  const std::vector<int64_t> samples{35, 0, 17, 17};
  LocalKernel kernel(reference_module(d, {4}, 1), host_target(1));
  kernel.set_input(0, samples.data());
  for (size_t i = 0; i < all.inputs.size(); ++i) kernel.set_input(i + 1, all.inputs[i].data());
  ASSERT_EQ(kernel.run(), HONE_OK);
  const auto value = kernel.get_output(all.inputs.size() + 1);
  for (size_t s = 0; s < samples.size(); ++s)
    EXPECT_EQ(element(value, f64, static_cast<int64_t>(s)), all.outputs[0].value[static_cast<size_t>(samples[s])]);
}

// A template that multiplies in fewer bits than asked for would behave so. Each element is within its own tolerance,
// which holds for the worst order of summation; all together are not.
TEST(Reference, RefusesAKernelThatIsLessExactEverywhere) {
  const Tensor a = placeholder("a", {20, 2000}, f32), b = placeholder("b", {20, 2000}, f32);
  const auto dropped = [](const Expr& x) { return cast(f32, cast(f16, x)); };
  const Tensor exact = product("p", a, b);
  const Tensor narrow = compute_reduce("n", {20, 20}, {"i", "j"}, {a, b}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", 2000);
    return sum(dropped(a(i[0], k)) * dropped(b(i[1], k)), {k});
  });
  for (const auto f : {+[](const Expr& x) { return x; }, +[](const Expr& x) { return x * sigmoid(x); }}) {
    const Computed run(of({a, b}, {map("out", exact, f)}));
    EXPECT_TRUE(run.check_naive(of({a, b}, {map("out", exact, f)}))[0].ok);
    EXPECT_THAT(run.check_naive(of({a, b}, {map("out", narrow, f)}))[0].message,
                testing::HasSubstr("relative error of all 400"));
  }
}

TEST(Reference, OfIntegersIsExact) {
  const Tensor a = placeholder("a", {6, 50}, u8), b = placeholder("b", {11, 50}, i8);
  const Tensor p = compute_reduce("p", {6, 11}, {"i", "j"}, {a, b}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", 50);
    return sum(cast(i32, a(i[0], k)) * cast(i32, b(i[1], k)), {k});
  });
  const Definition d = of({a, b}, {p});
  EXPECT_THAT(Computed(d).outputs[0].tolerance, testing::Each(0));
  expect_naive_agrees(d);
  // A narrow type wraps around, in the reference as well.
  const Tensor x = placeholder("x", {200}, i8), y = placeholder("y", {200}, i8);
  expect_naive_agrees(of(
      {x, y}, {compute("out", {200}, {"i"}, {x, y}, [&](const Indices& i) { return x.at(i) * y.at(i) + x.at(i); })}));
}

// Rounding to a whole number hides most errors, and makes one of a few.
TEST(Reference, OfWholeNumbersMadeFromFloatsAllowsTheNext) {
  const Tensor a = placeholder("a", {40, 60}, f32), b = placeholder("b", {40, 60}, f32);
  const Tensor p = product("p", a, b);
  const Definition d = of({a, b}, {compute("out", {40, 40}, {"i", "j"}, {p},
                                           [&](const Indices& i) { return cast(i8, p.at(i) * make_float(10)); })});
  const Computed run(d);
  EXPECT_THAT(run.outputs[0].tolerance, testing::Each(testing::AnyOf(0, 1)));
  EXPECT_LT(std::count(run.outputs[0].tolerance.begin(), run.outputs[0].tolerance.end(), 1), 5);
  expect_naive_agrees(d);
}

TEST(Reference, OfNarrowFloatsAllowsTheirRounding) {
  for (const char* dtype : {"f16", "bf16", "f16:f16:f32:f32", "tf32"})
    expect_naive_agrees(
        define(parse_workload(std::string("dense(m=20,n=30,k=100,epilogue=bias+relu,dtype=") + dtype + ")")));
  const Computed run(define(parse_workload("dense(m=20,n=30,k=100,dtype=f16)")));
  for (size_t i = 0; i < 600; ++i) {
    EXPECT_GE(run.outputs[0].tolerance[i], std::fabs(run.outputs[0].value[i]) * 0x1p-11);
    EXPECT_LT(run.outputs[0].tolerance[i], 0.1);
  }
}

// A value beyond exp's range is infinite on the way, and the result is not.
TEST(Reference, SurvivesWhatOverflowsOnTheWay) {
  const Tensor x = placeholder("x", {100}, i32);
  const auto steep = [](const Expr& v) {
    const Expr wide = cast(f32, v) * make_float(1e4);
    return wide * sigmoid(wide);
  };
  const Definition d = of({x}, {compute("out", {100}, {"i"}, {x}, [&](const Indices& i) { return steep(x.at(i)); })});
  for (const double t : Computed(d).outputs[0].tolerance) EXPECT_FALSE(std::isnan(t));
  expect_naive_agrees(d);
}

// Half of the inputs have no root and no logarithm: that says nothing of the others, and hides nothing.
TEST(Reference, OfWhatIsNoNumberStillJudgesTheRest) {
  for (const char* op : {"sqrt", "log", "rsqrt", "sqrt+relu", "reciprocal"})
    expect_naive_agrees(define(parse_workload(std::string("elementwise(op=") + op + ",shape=50x20)")));
  const Definition d = define(parse_workload("elementwise(op=sqrt,shape=50x20)"));
  const Tensor x = d.inputs[0].first;
  const Definition wrong = of({x}, {compute("out", {50, 20}, {"i", "j"}, {x}, [&](const Indices& i) {
                                return call(Intrinsic::kSqrt, {x.at(i)}) * make_float(1.00001);
                              })});
  EXPECT_FALSE(Computed(d).check_naive(wrong)[0].ok);
}

// Where a sum is about 0 its root may be as far off as the root of its error, and no farther.
TEST(Reference, OfARootOfWhatIsAboutNothingHasABound) {
  const Definition d = define(parse_workload("dense(m=20,n=20,k=100,epilogue=relu+sqrt)"));
  for (const double t : Computed(d).outputs[0].tolerance) EXPECT_LT(t, 0.01);
  expect_naive_agrees(d);
}

TEST(Reference, OfLargeUnsignedNumbersHasNoSign) {
  for (const char* text :
       {"elementwise(op=sub+max,shape=300,dtype=u64)", "elementwise(op=neg+relu,shape=300,dtype=u64)",
        "elementwise(op=sub:f32,shape=300,dtype=u64)", "elementwise(op=sub+saturate:u8,shape=300,dtype=u64)",
        "elementwise(op=neg:s8+add,shape=300,dtype=u8)", "elementwise(op=neg+saturate:s64,shape=300,dtype=u64)"})
    expect_naive_agrees(define(parse_workload(text)));
  const Tensor x = placeholder("x", {10, 30}, u64);
  const Tensor negative =
      compute("n", {10, 30}, {"i", "j"}, {x}, [&](const Indices& i) { return make_int(3, u64) - x.at(i); });
  const Tensor most = compute_reduce("most", {10}, {"i"}, {negative}, [&](const Indices& i) {
    const Axis j = reduce_axis("j", 30);
    return max_over(negative(i[0], j), {j});
  });
  expect_naive_agrees(of({x}, {most}));
}

// The tolerance of each element of an elementwise workload.
Doubles allowed_errors(const std::string& text) { return Computed(define(parse_workload(text))).outputs[0].tolerance; }

TEST(Reference, AllowsElementwiseAFewUnitsInTheLastPlace) {
  // Inputs lie in [-1, 1), u = 6e-8: a wrong coefficient of a polynomial or a lost term is far outside.
  EXPECT_THAT(allowed_errors("elementwise(op=relu,shape=500)"), testing::Each(0));
  EXPECT_THAT(allowed_errors("elementwise(op=max,shape=500)"), testing::Each(0));
  EXPECT_THAT(allowed_errors("elementwise(op=mul,shape=500)"), testing::Each(testing::Lt(1.3e-7)));
  EXPECT_THAT(allowed_errors("elementwise(op=exp,shape=500)"), testing::Each(testing::Lt(2.7e-6)));
  EXPECT_THAT(allowed_errors("elementwise(op=gelu,shape=500)"), testing::Each(testing::Lt(1.5e-6)));
  EXPECT_THAT(allowed_errors("elementwise(op=sigmoid,shape=500)"), testing::Each(testing::Lt(1e-6)));
}

// A kernel to which denormals are zeros may lose the numbers that they grow to, and nothing of normal numbers.
TEST(Reference, LetsDenormalInputsAndConstantsVanish) {
  const Tensor x = placeholder("x", {4}, f32);
  const Tensor y = compute("y", {4}, {"i"}, {x}, [&](const Indices& i) {
    return call(Intrinsic::kSqrt, {x.at(i)}) + x.at(i) * make_float(1e30) + make_float(1e-40) * make_float(1e20);
  });
  const Definition d = of({x}, {y});
  const std::vector<float> inputs{0, 1e-39F, 3e-38F, 1};
  const auto bounds = [&](Denormals denormals, size_t parameter) {
    LocalKernel kernel(reference_module(d, {4}, 1, denormals), host_target(1));
    const std::vector<int64_t> samples{0, 1, 2, 3};
    kernel.set_input(0, samples.data());
    kernel.set_input(1, inputs.data());
    EXPECT_EQ(kernel.run(), HONE_OK);
    return doubles_of(kernel.get_output(parameter), f64);
  };
  const Doubles keep = bounds(Denormals::kKeep, 3), zero = bounds(Denormals::kZero, 3);
  const double grown = 1e-39 * 1e30 + std::sqrt(1e-39);
  EXPECT_LT(keep[1], 1e-6 * grown);
  EXPECT_GE(zero[1], grown);
  EXPECT_LT(zero[1], 1.01 * grown) << "no more than that";
  for (const size_t normal : {2, 3}) {
    EXPECT_GE(zero[normal], 1e-20 + keep[normal] * 0.99) << "the constant";
    EXPECT_LT(zero[normal], 1.1e-20 + keep[normal] * 1.0001);
  }
  EXPECT_EQ(bounds(Denormals::kZero, 2), bounds(Denormals::kKeep, 2)) << "values";
}

TEST(Reference, AllowsMaximaAndMinimaNothing) {
  for (const char* text :
       {"max_pool2d(c=2,h=9,w=9)", "reduce(op=max,shape=3x50,axes=1)", "reduce(op=min,shape=3x50,axes=1)"})
    EXPECT_THAT(allowed_errors(text), testing::Each(0)) << text;
}

// (K + 4) u sum|a b|, see approximate_sum(); typically 4 sqrt((K + 2) / 3) u of the most that any of its terms add up
// to.
TEST(Reference, AllowsASumItsRoundings) {
  const Computed run(define(parse_workload("dense(m=10,n=10,k=100)")));
  const Doubles x = doubles_of(run.inputs[0], f32), y = doubles_of(run.inputs[1], f32);
  const double u = 0x1p-24;
  for (size_t i = 0; i < 10; ++i)
    for (size_t j = 0; j < 10; ++j) {
      double sizes = 0;
      for (size_t k = 0; k < 100; ++k) sizes += std::fabs(x[i * 100 + k] * y[j * 100 + k]);
      const Computed::Output& o = run.outputs[0];
      EXPECT_NEAR(o.tolerance[i * 10 + j], 104 * u * sizes, 1e-12);
      const double most = (sizes + std::fabs(o.value[i * 10 + j])) / 2;
      EXPECT_NEAR(o.typical[i * 10 + j], 4 * std::sqrt(102 / 3.0) * u * most, 1e-12);
    }
}

double norm(const Doubles& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// Terms in whatever order, all negative ones first among them.
TEST(Reference, TypicalErrorsHoldForEveryOrderOfASum) {
  constexpr size_t kTerms = 10000;
  const Computed run(define(parse_workload("dense(m=8,n=8,k=10000)")));
  const Doubles x = doubles_of(run.inputs[0], f32), y = doubles_of(run.inputs[1], f32);
  const auto in_lanes = [](const std::vector<float>& terms, size_t lanes) {
    std::vector<float> sums(lanes, 0.0F);
    for (size_t k = 0; k < terms.size(); ++k) sums[k % lanes] += terms[k];
    return std::accumulate(sums.begin(), sums.end(), 0.0F);
  };
  std::map<std::string, Doubles> errors;
  for (size_t e = 0; e < 64; ++e) {
    std::vector<float> terms(kTerms);
    for (size_t k = 0; k < kTerms; ++k)
      terms[k] = static_cast<float>(x[e / 8 * kTerms + k]) * static_cast<float>(y[e % 8 * kTerms + k]);
    const auto keep = [&](const char* order, float sum) { errors[order].push_back(sum - run.outputs[0].value[e]); };
    keep("as they are", in_lanes(terms, 1));
    keep("in lanes", in_lanes(terms, 16));
    std::sort(terms.begin(), terms.end());
    keep("ascending", in_lanes(terms, 1));
    keep("ascending in lanes", in_lanes(terms, 8));
  }
  for (const auto& [order, of] : errors) EXPECT_LE(norm(of), norm(run.outputs[0].typical)) << order;
  EXPECT_GT(norm(errors["ascending"]), 3 * norm(errors["as they are"])) << "the order matters";
}

// The errors of a definition's naive program, for each element.
Doubles errors_of(const Computed& run, const Definition& d) {
  LocalKernel kernel(lower(Schedule(d.inputs, d.outputs), {}), host_target(1));
  for (size_t i = 0; i < run.inputs.size(); ++i) kernel.set_input(i, run.inputs[i].data());
  EXPECT_EQ(kernel.run(), HONE_OK);
  Doubles errors = doubles_of(kernel.get_output(run.inputs.size()), f32);
  for (size_t e = 0; e < errors.size(); ++e) errors[e] -= run.outputs[0].value[e];
  return errors;
}

// Few elements are not saturated; they are small differences of large sums, and have all of the error.
TEST(Reference, TypicalErrorsHoldWhereFewElementsCarryThem) {
  constexpr size_t kRows = 200, kColumns = 208;
  const Tensor a = placeholder("a", {kRows, 52}, f32), b = placeholder("b", {kColumns, 52}, f32);
  for (const auto f : {+[](const Expr& x) { return sigmoid(x * make_float(300)); },
                       +[](const Expr& x) { return call(Intrinsic::kTanh, {x * make_float(1000)}); }}) {
    const Definition d = of({a, b}, {map("out", product("p", a, b), f)});
    const Computed run(d);
    const Doubles errors = errors_of(run, d), &typical = run.outputs[0].typical;
    const auto row = [](const Doubles& of_all, size_t r) {
      const auto begin = of_all.begin() + static_cast<std::ptrdiff_t>(r * kColumns);
      return norm({begin, begin + kColumns});
    };
    for (size_t r = 0; r < kRows; ++r) EXPECT_LE(row(errors, r), row(typical, r)) << r;
    // And saturated elements are held to the roundings of their function.
    EXPECT_LT(*std::min_element(run.outputs[0].tolerance.begin(), run.outputs[0].tolerance.end()), 2e-6);
    const auto wide = std::count_if(run.outputs[0].tolerance.begin(), run.outputs[0].tolerance.end(),
                                    [](double t) { return t > 2e-6; });
    EXPECT_LT(wide, std::ssize(errors) / 5);
  }
}

// Terms that are two numbers: each loses the same part beyond the sum's last place every time.
TEST(Reference, TypicalErrorsHoldForTermsThatAreAlike) {
  const Tensor x = placeholder("x", {64, 20000}, f32);
  const Tensor total = compute_reduce("total", {64}, {"i"}, {x}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", 20000);
    return sum(min(max(x(i[0], k) * make_float(1e4), make_float(-0.1)), make_float(0.7)), {k});
  });
  const Definition d = of({x}, {total});
  const Computed run(d);
  const double error = norm(errors_of(run, d)), most = norm(run.outputs[0].typical);
  EXPECT_LE(error, most);
  EXPECT_LT(most, 0.6 * norm(run.outputs[0].tolerance));
}

// Six runs of 128, each (K + 4) u of its own terms; the sum of the runs rounds in f32.
TEST(Reference, AllowsSumsInF16TheRoundingsOfTheirRuns) {
  const Computed run(define(parse_workload("dense(m=4,n=6,k=768,dtype=f16:f16:f16:f32)")));
  const Doubles x = doubles_of(run.inputs[0], f16), y = doubles_of(run.inputs[1], f16);
  const double u = 0x1p-11;
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 6; ++j) {
      double sizes = 0, runs = 0;
      for (size_t r = 0; r < 6; ++r) {
        double sum = 0, of_run = 0;
        for (size_t k = r * 128; k < (r + 1) * 128; ++k) {
          const double product = x[i * 768 + k] * y[j * 768 + k];
          of_run += std::fabs(product), sum += product;
        }
        sizes += of_run, runs += (of_run + std::fabs(sum)) / 2;
      }
      const Computed::Output& o = run.outputs[0];
      EXPECT_NEAR(o.tolerance[i * 6 + j], 132 * u * sizes, 1e-4);
      EXPECT_NEAR(o.typical[i * 6 + j], 4 * std::sqrt(130 / 3.0) * u * runs, 1e-4);
    }
}

// Terms of a run that reach 65504 in some order do not show what a kernel's sum reaches.
TEST(Reference, AllowsSumsInF16ToOverflow) {
  const Tensor x = placeholder("x", {2, 2}, f16);
  const Tensor total = compute_reduce("total", {2}, {"i"}, {x}, [&](const std::vector<Expr>& i) {
    const Axis j = reduce_axis("j", 2);
    return sum(x(i[0], j) * make_const(40000, f16), {j});
  });
  const Computed run(of({x}, {total}));
  const Doubles in = doubles_of(run.inputs[0], f16);
  for (size_t i = 0; i < 2; ++i) {
    const bool may = (std::fabs(in[2 * i]) + std::fabs(in[2 * i + 1])) * 40000 * (1 + 4 * 0x1p-11) > 65504;
    EXPECT_EQ(run.outputs[0].tolerance[i] > 1e100, may) << in[2 * i] << " " << in[2 * i + 1];
  }
}

TEST(ReferenceSamples, AreAllOutputsWhereThatIsCheap) {
  EXPECT_TRUE(reference_samples(define(parse_workload("dense(m=16,n=64,k=32)")), 0, 1).empty());
}

TEST(ReferenceSamples, OfLargeWorkloadsAreEnoughAndFitAMessage) {
  for (const char* text : {"dense(m=1024,n=1024,k=1024)", "dense(m=2048,n=4096,k=4096)",
                           "conv2d(ci=256,h=112,w=112,co=256)", "batch_matmul(b=64,m=512,n=512,k=128)"}) {
    const Definition d = define(parse_workload(text));
    const std::vector<int64_t> samples = reference_samples(d, 0, 1);
    EXPECT_GE(samples.size(), 16384u) << text;
    EXPECT_LE(samples.size(), 131072u) << text;
    EXPECT_EQ(samples.front(), 0) << text;
    EXPECT_EQ(samples.back(), element_count(d.output()->shape) - 1) << text;
  }
}

TEST(ReferenceSamples, OfManyOutputsFitAMessageTogether) {
  const Tensor x = placeholder("x", {1 << 24}, f32);
  std::vector<Tensor> outputs;
  for (int i = 0; i < 20; ++i) outputs.push_back(map(("o" + std::to_string(i)).c_str(), x, &sigmoid));
  const Definition d = of({x}, outputs);
  size_t all = 0;
  for (size_t o = 0; o < outputs.size(); ++o) all += reference_samples(d, o, 1).size();
  EXPECT_LE(all, 131072u);
  EXPECT_GE(all, 100000u);
}

TEST(ReferenceSamples, AreTheSameForASeed) {
  const Definition d = define(parse_workload("dense(m=1024,n=1024,k=1024)"));
  EXPECT_EQ(reference_samples(d, 0, 3), reference_samples(d, 0, 3));
  EXPECT_NE(reference_samples(d, 0, 3), reference_samples(d, 0, 4));
}

// An element at each position, which is a float.
Definition at_positions(const std::function<Expr(const Expr&)>& position) {
  const Tensor x = placeholder("x", {16}, f32), p = placeholder("p", {40}, f32);
  const Tensor y = compute("y", {40}, {"i"}, {x, p}, [&](const Indices& i) {
    return x(max(min(cast(i64, position(p(i[0]))), make_int(15)), make_int(0)));
  });
  return of({x, p}, {y});
}

TEST(Reference, ReadsAtPositionsThatAreFloats) {
  const auto whole = [](const Expr& p) { return call(Intrinsic::kRint, {p * make_float(4) + make_float(7)}); };
  const auto cut = [](const Expr& p) { return p * make_float(4.5) + make_float(7); };
  expect_naive_agrees(at_positions(whole));
  expect_naive_agrees(at_positions(cut));
  const auto next = [&](const Expr& p) { return whole(p) + make_float(1); };
  EXPECT_FALSE(Computed(at_positions(whole)).check_naive(at_positions(next))[0].ok);
}

}  // namespace
}  // namespace hone
