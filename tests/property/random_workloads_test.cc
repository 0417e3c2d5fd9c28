// Workloads that no list contains: random small shapes of every task, random configs, compiled, against the reference.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/functions/functions.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

std::string random_workload(std::mt19937_64& rng) {
  const auto number = [&](int64_t most) { return 1 + static_cast<int64_t>(rng() % static_cast<uint64_t>(most)); };
  const auto one_of = [&](std::initializer_list<const char*> choices) {
    return *(choices.begin() + rng() % choices.size());
  };
  const std::string epilogue = one_of({"none", "none", "relu", "bias", "bias+relu", "add+relu", "bias+add+relu"});
  const auto shape = [&](int axes, int64_t most) {
    std::string text;
    for (int a = 0; a < axes; ++a) text += fmt::format("{}{}", a ? "x" : "", rng() % 4 == 0 ? 1 : number(most));
    return text;
  };
  switch (rng() % 10) {
    case 0: return fmt::format("dense(m={},n={},k={},epilogue={})", number(40), number(100), number(70), epilogue);
    case 1:
      return fmt::format("batch_matmul(b={},m={},n={},k={},epilogue={})", number(4), number(33), number(70), number(40),
                         epilogue);
    case 2:
      return fmt::format(
          "depthwise_conv2d(n={},c={},h={},w={},kh={},kw={},stride={}x{},pad={}:{}:{}:{},dilation={},layout={},"
          "epilogue={})",
          number(2), number(40), 4 + number(14), 4 + number(14), number(3), number(3), number(2), number(3), rng() % 3,
          rng() % 3, rng() % 3, rng() % 3, number(2), one_of({"NCHWc", "NCHW", "NHWC"}), epilogue);
    case 3:
      return fmt::format("{}(n={},c={},h={},w={},kh={},kw={},stride={}x{},pad={}:{}:{}:{},dilation={}x{},layout={})",
                         one_of({"max_pool2d", "avg_pool2d"}), number(2), number(40), 4 + number(14), 4 + number(14),
                         number(4), number(4), number(3), number(3), rng() % 3, rng() % 3, rng() % 3, rng() % 3,
                         number(2), number(2), one_of({"NCHWc", "NCHW", "NHWC", "NCHW8c"}));
    case 4: {
      const int axes = static_cast<int>(number(4));
      std::string ops, operands;
      for (int64_t f = 0, count = number(4); f < count; ++f) {
        static const FunctionTable kFunctions = standard_functions();
        const ScalarFunction& function = *kFunctions.rows()[rng() % kFunctions.rows().size()];
        // Where rounding decides between a NaN and a number.
        constexpr std::string_view kLeftOut[] = {"log", "rsqrt", "div", "reciprocal", "rdiv", "pow", "rpow", "fmod"};
        if (function.needs_result || function.arguments.size() > function.operands() ||
            std::find(std::begin(kLeftOut), std::end(kLeftOut), function.name) != std::end(kLeftOut))
          continue;
        ops += fmt::format("{}{}", ops.empty() ? "" : "+", function.name);
        for (size_t o = 0; o < function.operands(); ++o) operands += fmt::format("{}same", operands.empty() ? "" : ":");
      }
      if (ops.empty()) ops = "relu";
      return fmt::format("elementwise(op={},shape={},operands={})", ops, shape(axes, 40),
                         operands.empty() ? "none" : operands);
    }
    case 5: {
      const int64_t axes = number(4);
      std::string reduced;
      for (int64_t a = 0; a < axes; ++a)
        if (rng() % 2) reduced += fmt::format("{}{}", reduced.empty() ? "" : ":", a);
      return fmt::format("reduce(op={},shape={},axes={},keepdims={})", one_of({"sum", "mean", "max", "min"}),
                         shape(static_cast<int>(axes), axes == 1 ? 3000 : 40), reduced.empty() ? "all" : reduced,
                         rng() % 2);
    }
    case 6: {
      const int64_t axes = number(4);
      if (rng() % 4 == 0)
        return fmt::format("{}(shape={},axis={},keepdims={},last={},dtype={})", one_of({"argmax", "argmin"}),
                           shape(static_cast<int>(axes), axes == 1 ? 3000 : 40), number(axes) - 1, rng() % 2, rng() % 2,
                           one_of({"f32", "f16", "s8", "s64"}));
      return fmt::format("{}(shape={},axis={},dtype={},epilogue={},prologue={})",
                         one_of({"softmax", "log_softmax", "layer_norm", "rms_norm", "l2_norm"}),
                         shape(static_cast<int>(axes), axes == 1 ? 3000 : 40), number(axes) - 1,
                         one_of({"f32", "f32", "f16", "f64"}), one_of({"none", "add+relu", "mul[0.5]"}),
                         one_of({"none", "add", "tanh"}));
    }
    default: {
      const int64_t groups = rng() % 4 == 0 ? number(3) + 1 : 1;
      return fmt::format(
          "conv2d(n={},ci={},h={},w={},co={},kh={},kw={},stride={}x{},pad={}:{}:{}:{},dilation={}x{},groups={},layout={"
          "},epilogue={})",
          number(2), groups * number(9), 4 + number(14), 4 + number(14), groups * number(20), number(4), number(4),
          number(2), number(2), rng() % 3, rng() % 3, rng() % 3, rng() % 3, number(2), number(2), groups,
          groups == 1 ? one_of({"NCHWc", "NCHWc", "NCHW", "NHWC", "NCHW4c:16c"}) : "NCHWc", epilogue);
    }
  }
}

class RandomWorkloads : public testing::TestWithParam<int> {};

TEST_P(RandomWorkloads, MatchTheReference) {
  std::mt19937_64 rng(static_cast<uint64_t>(GetParam()));
  int checked = 0;
  for (int tries = 0; checked < 4 && tries < 40; ++tries) {
    const std::string text = random_workload(rng);
    SCOPED_TRACE(text);
    Workload w;
    try {
      w = parse_workload(text);
      make_space(w, host_target(2));
    } catch (const UserError&) {
      continue;  // a kernel larger than its input; a fixed block that does not divide
    }
    expect_configs_match_reference(w, 3, rng());
    if (HasFailure()) return;
    ++checked;
  }
  EXPECT_EQ(checked, 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWorkloads, testing::Range(1, 13));

}  // namespace
}  // namespace hone
