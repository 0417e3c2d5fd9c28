// The generic template on definitions that no workload names, against the naive program in the interpreter; and the
// rewrites it begins with.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/arith/verify.h"
#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/host/local_kernel.h"
#include "compiler/ir/interp.h"
#include "compiler/ir/printer.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/rewrite/collapse.h"
#include "compiler/ops/rewrite/split_reduction.h"
#include "compiler/ops/templates/fused.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

// out[i, j] = exp(x[i, j] - m[i]): a row's operand.
Definition shifted_exp(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, 1, columns}, f32), m = placeholder("m", {rows, 1, 1}, f32);
  const Tensor e = compute("e", {rows, 1, columns}, {"i", "u", "j"}, {x, m}, [&](const Indices& i) {
    return call(Intrinsic::kExp, {x.at(i) - m(i[0], make_int(0), make_int(0))});
  });
  return {{{x, ParamRole::kInput}, {m, ParamRole::kInput}}, {e}};
}

// A sum of squares between two elementwise stages: 1 / sqrt(mean(x^2) + eps).
Definition inverse_rms(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor square =
      compute("square", {rows, columns}, {"i", "j"}, {x}, [&](const Indices& i) { return x.at(i) * x.at(i); });
  const Tensor total = compute_reduce("total", {rows}, {"i"}, {square}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", columns);
    return sum(square(i[0], k), {k});
  });
  const Tensor mean = compute("mean", {rows}, {"i"}, {total}, [&](const Indices& i) {
    return total.at(i) * make_float(1.0 / static_cast<double>(columns)) + make_float(1e-5);
  });
  const Tensor out = compute("out", {rows}, {"i"}, {mean},
                             [&](const Indices& i) { return make_float(1) / call(Intrinsic::kSqrt, {mean.at(i)}); });
  return {{{x, ParamRole::kInput}}, {out}};
}

// x - mean(x) over the last axis: the mean is read at other elements than it is made for.
Definition centred(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32);
  const Tensor total = compute_reduce("total", {rows}, {"i"}, {x}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", columns);
    return sum(x(i[0], k), {k});
  });
  const Tensor mean = compute("mean", {rows}, {"i"}, {total}, [&](const Indices& i) {
    return total.at(i) * make_float(1.0 / static_cast<double>(columns));
  });
  const Tensor out =
      compute("out", {rows, columns}, {"i", "j"}, {x, mean}, [&](const Indices& i) { return x.at(i) - mean(i[0]); });
  return {{{x, ParamRole::kInput}}, {out}};
}

// Two operands, one transposed: nothing can be joined.
Definition transposed_add(int64_t rows, int64_t columns) {
  const Tensor x = placeholder("x", {rows, columns}, f32), y = placeholder("y", {columns, rows}, f32);
  const Tensor out = compute("out", {rows, columns}, {"i", "j"}, {x, y},
                             [&](const Indices& i) { return max(x.at(i) + y(i[1], i[0]), make_float(0)); });
  return {{{x, ParamRole::kInput}, {y, ParamRole::kInput}}, {out}};
}

// A chain in which every stage reads the last one twice: too long to be one statement.
Definition doubling(int64_t n, int stages) {
  const Tensor x = placeholder("x", {n}, f32);
  Tensor value = x;
  for (int s = 0; s < stages; ++s) {
    const Tensor before = value;
    value = compute("s" + std::to_string(s), {n}, {"i"}, {before}, [&](const Indices& i) {
      return before.at(i) * make_float(0.5) + call(Intrinsic::kTanh, {before.at(i)});
    });
  }
  return {{{x, ParamRole::kInput}}, {value}};
}

// max over a window that is described by two axes: the indices of its loads are sums.
Definition window_max(int64_t n, int64_t taps) {
  const Tensor x = placeholder("x", {n + taps - 1}, f32);
  const Tensor out = compute_reduce("out", {n}, {"i"}, {x}, [&](const Indices& i) {
    const Axis k = reduce_axis("k", taps);
    return max_over(x(i[0] + Expr(k)), {k});
  });
  return {{{x, ParamRole::kInput}}, {out}};
}

struct FusedCase {
  const char* name;
  Definition (*make)();
};
const FusedCase kCases[] = {
    {"shifted_exp", [] { return shifted_exp(7, 45); }},
    {"shifted_exp_of_one_row", [] { return shifted_exp(1, 100); }},
    {"inverse_rms", [] { return inverse_rms(6, 101); }},
    {"inverse_rms_of_one_row", [] { return inverse_rms(1, 2000); }},
    {"centred", [] { return centred(5, 70); }},
    {"transposed_add", [] { return transposed_add(9, 20); }},
    {"doubling", [] { return doubling(50, 7); }},
    {"window_max", [] { return window_max(40, 5); }},
};

class FusedGroups : public testing::TestWithParam<int> {};

TEST_P(FusedGroups, ComputeWhatTheNaiveProgramDoes) {
  const Definition d = kCases[GetParam()].make();
  const Target target = host_target(2);
  std::mt19937_64 rng(3);
  std::vector<std::vector<char>> inputs;
  std::vector<InterpArg> args;
  for (const auto& [tensor, role] : d.inputs) inputs.push_back(random_elements(f32, element_count(tensor->shape), rng));
  for (auto& bytes : inputs) args.push_back({bytes.data(), static_cast<int64_t>(bytes.size() / 4)});
  std::vector<float> want(static_cast<size_t>(element_count(d.output()->shape)));
  args.push_back({want.data(), static_cast<int64_t>(want.size())});
  interpret(lower(Schedule(d.inputs, d.outputs), {}), args);

  const Space space("fused_cpu", 1, [&](Knobs& knobs) { fused_cpu(d, target, knobs, nullptr); });
  for (int n = 0; n < 40; ++n) {
    const Config config = n == 0 ? space.default_config() : *space.sample(rng);
    SCOPED_TRACE(space.print(config));
    std::unique_ptr<Schedule> s;
    Knobs knobs = space.reader(config);
    fused_cpu(d, target, knobs, &s);
    const Module m = lower(*s, {.workers = 2});
    const auto unproved = verify(m);
    ASSERT_TRUE(unproved.empty()) << unproved[0].access << "\n" << to_string(m);
    ASSERT_EQ(m.params.back().shape, d.output()->shape) << "the caller's shape";
    LocalKernel kernel(m, target);
    for (size_t i = 0; i < inputs.size(); ++i) kernel.set_input(i, inputs[i].data());
    ASSERT_EQ(kernel.run(), HONE_OK);
    const auto got = kernel.get_output(inputs.size());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(element(got, f32, static_cast<int64_t>(i)), want[i], 2e-5 * std::max(1.0f, std::fabs(want[i])))
          << "element " << i << "\n"
          << s->text();
  }
}

INSTANTIATE_TEST_SUITE_P(Each, FusedGroups, testing::Range(0, static_cast<int>(std::size(kCases))),
                         [](const auto& info) { return std::string(kCases[info.param].name); });

TEST(FusedGroups, HaveAtMostOneReduction) {
  const Tensor x = placeholder("x", {4, 4}, f32);
  const auto total = [](const char* name, const Tensor& of) {
    return compute_reduce(name, {4}, {"i"}, {of}, [&](const Indices& i) {
      const Axis k = reduce_axis("k", 4);
      return sum(of->shape.size() == 2 ? of(i[0], k) : of(k), {k});
    });
  };
  const Tensor rows = total("rows", x);
  const Definition d{{{x, ParamRole::kInput}}, {total("again", rows)}};
  const Target target = host_target(2);
  try {
    Space("fused_cpu", 1, [&](Knobs& knobs) { fused_cpu(d, target, knobs, nullptr); });
    FAIL() << "accepted";
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("stages 'rows' and 'again' are both reductions"));
  }
}

TEST(Collapse, JoinsWhatEveryAccessWalksThroughTogether) {
  const Definition d =
      collapse(define(parse_workload("elementwise(op=mul+add,shape=2x1x3x4x5,operands=2x1x3x1x1:same)")));
  EXPECT_EQ(d.output()->shape, (std::vector<int64_t>{6, 20}));
  EXPECT_EQ(d.output()->caller_shape, (std::vector<int64_t>{2, 1, 3, 4, 5}));
  EXPECT_EQ(d.inputs[1].first->shape, (std::vector<int64_t>{6}));
  EXPECT_EQ(collapse(define(parse_workload("elementwise(op=add,shape=2x3x4)"))).output()->shape,
            (std::vector<int64_t>{24}));
  EXPECT_EQ(collapse(define(parse_workload("elementwise(op=add,shape=2x3x4,operands=1x3x1)"))).output()->shape,
            (std::vector<int64_t>{2, 3, 4}));
  EXPECT_EQ(collapse(define(parse_workload("elementwise(op=relu,shape=1x1)"))).output()->shape,
            (std::vector<int64_t>{1}));
}

TEST(Collapse, JoinsReductionAxes) {
  const Definition d = collapse(define(parse_workload("reduce(op=mean,shape=2x3x4x5,axes=2:3)")));
  EXPECT_EQ(d.output()->shape, (std::vector<int64_t>{6}));
  EXPECT_EQ(d.inputs[0].first->shape, (std::vector<int64_t>{6, 20}));
  EXPECT_EQ(only_reduction(d)->reduce_axes.size(), 1u);
  EXPECT_EQ(collapse(define(parse_workload("reduce(shape=2x3x4,axes=0:2)"))).inputs[0].first->shape,
            (std::vector<int64_t>{2, 3, 4}));
}

TEST(Collapse, LeavesWhatIsReadInAnotherOrderOrByHalves) {
  EXPECT_EQ(collapse(transposed_add(3, 4)).output()->shape, (std::vector<int64_t>{3, 4}));
  const Tensor x = placeholder("x", {4, 6}, f32);
  const Tensor half = compute("half", {4, 3}, {"i", "j"}, {x}, [&](const Indices& i) { return x.at(i); });
  EXPECT_EQ(collapse({{{x, ParamRole::kInput}}, {half}}).output()->shape, (std::vector<int64_t>{4, 3}));
}

TEST(SplitReduction, NamesItsStages) {
  const Definition d = collapse(define(parse_workload("reduce(shape=6x70,axes=1)")));
  EXPECT_EQ(split_reduction(d, 1, 8).partials,
            (std::vector<std::string>{"reduce_main", "reduce_tail", "reduce_lanes", "reduce_4", "reduce_2"}));
  EXPECT_EQ(split_reduction(d, 1, 2).partials, (std::vector<std::string>{"reduce_main"}));
  EXPECT_EQ(split_reduction(d, 1, 8, 4).partials,
            (std::vector<std::string>{"reduce_main", "reduce_tail", "reduce_lanes", "reduce_warps"}));
  const ReductionSplit chunks = split_reduction(d, 7, 4);
  EXPECT_EQ(chunks.chunk, "reduce_chunk");
  EXPECT_EQ(chunks.partials, (std::vector<std::string>{"reduce_chunk_main", "reduce_chunk_tail", "reduce_chunk_lanes",
                                                       "reduce_chunk_2"}));
}

TEST(SplitReduction, KeepsTheValue) {
  for (const char* text : {"reduce(shape=3x70,axes=1)", "reduce(op=max,shape=70x3,axes=0)",
                           "reduce(op=mean,shape=5x3x13,axes=0:2)", "reduce(op=min,shape=97,axes=0)"}) {
    const Definition d = collapse(define(parse_workload(text)));
    std::mt19937_64 rng(1);
    auto input = random_elements(f32, element_count(d.inputs[0].first->shape), rng);
    const auto value = [&](const Definition& of) {
      std::vector<float> out(static_cast<size_t>(element_count(of.output()->shape)));
      interpret(lower(Schedule(of.inputs, of.outputs), {}), {{input.data(), static_cast<int64_t>(input.size() / 4)},
                                                             {out.data(), static_cast<int64_t>(out.size())}});
      return out;
    };
    const auto want = value(d);
    for (const auto& [chunks, lanes] : {std::pair<int64_t, int64_t>{1, 4}, {2, 1}, {2, 8}, {5, 2}, {1, 64}})
      for (const int64_t warp : {int64_t{1}, std::min<int64_t>(lanes, 32)})
        EXPECT_THAT(value(split_reduction(d, chunks, lanes, warp).definition),
                    testing::Pointwise(testing::FloatNear(1e-5f), want))
            << text << " " << chunks << " " << lanes << " " << warp;
  }
}

}  // namespace
}  // namespace hone
