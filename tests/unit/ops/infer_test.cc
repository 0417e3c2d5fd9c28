// Types in, workload and types out.
#include "compiler/ops/infer.h"

#include <gmock/gmock.h>

#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/operator.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/gpu_workloads.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

const OperatorTable& operators() {
  static const OperatorTable table = standard_operators();
  return table;
}

Inferred infer(std::string_view op, const AttributeTexts& given, const std::vector<TensorType>& inputs) {
  return hone::infer(operators(), op, given, inputs);
}

std::string refusal_of(std::string_view op, const AttributeTexts& given, const std::vector<TensorType>& inputs) {
  try {
    return "accepted: " + to_string(infer(op, given, inputs).workload);
  } catch (const UserError& e) {
    return e.what();
  }
}

// The attributes of `w` that the types of its inputs do not say.
AttributeTexts not_said(const Workload& w, const std::vector<TensorType>& inputs) {
  const AttributeTexts said = w.op->infer(inputs);
  AttributeTexts out;
  for (const Attributes::Item& a : w.attributes)
    if (a.name == "dtype" || std::none_of(said.begin(), said.end(), [&](const auto& s) { return s.first == a.name; }))
      out.emplace_back(a.name, a.text);
  return out;
}

TEST(Infer, EveryWorkloadFollowsFromItsInputsAndTheRest) {
  std::vector<std::string> texts(std::begin(kCpuWorkloads), std::end(kCpuWorkloads));
  texts.insert(texts.end(), std::begin(kGpuWorkloads), std::end(kGpuWorkloads));
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    const Inferred known = inferred(parse_workload(text));
    const Inferred found = infer(known.workload.operator_name(), not_said(known.workload, known.inputs), known.inputs);
    EXPECT_EQ(to_string(found.workload), to_string(known.workload));
    EXPECT_EQ(found.outputs, known.outputs);
    ASSERT_GE(found.outputs.size(), 1u);
  }
}

TEST(Infer, SaysTypesAndShapesOfOutputs) {
  const Inferred conv = infer("conv2d", {{"stride", "2"}, {"pad", "1"}, {"epilogue", "bias+relu"}},
                              {{f32, {1, 32, 56, 56}}, {f32, {64, 32, 3, 3}}, {f32, {64}}});
  EXPECT_EQ(conv.outputs, (std::vector<TensorType>{{f32, {1, 64, 28, 28}}}));
  EXPECT_EQ(to_string(conv.workload),
            "conv2d(n=1,ci=32,h=56,w=56,co=64,kh=3,kw=3,stride=2,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,"
            "epilogue=bias+relu)");
  const Inferred depthwise = infer("conv2d", {{"pad", "1"}}, {{f32, {1, 32, 9, 9}}, {f32, {32, 1, 3, 3}}});
  EXPECT_EQ(depthwise.workload.operator_name(), "depthwise_conv2d");
  EXPECT_EQ(infer("dense", {}, {{u8, {4, 8}}, {i8, {16, 8}}}).outputs, (std::vector<TensorType>{{i32, {4, 16}}}));
  EXPECT_EQ(infer("dense", {{"dtype", "u8:s8:s32:s32"}, {"epilogue", "cast:f32+mul[0.5]+round+saturate:u8"}},
                  {{u8, {4, 8}}, {i8, {16, 8}}})
                .outputs,
            (std::vector<TensorType>{{u8, {4, 16}}}));
  EXPECT_EQ(infer("elementwise", {{"op", "mul+add"}}, {{f16, {2, 3}}, {f16, {2, 1}}, {f16, {2, 3}}}).outputs,
            (std::vector<TensorType>{{f16, {2, 3}}}));
  const Inferred wide =
      infer("elementwise", {{"op", "mul+less"}}, {{f32, {1, 3, 1}}, {f32, {2, 1, 1}}, {f32, {1, 1, 5}}});
  EXPECT_EQ(wide.outputs, (std::vector<TensorType>{{boolean, {2, 3, 5}}}));
  EXPECT_EQ(to_string(wide.workload), "elementwise(op=mul+less,shape=2x3x5,operands=2x1x1:1x1x5,dtype=f32,x=1x3x1)");
  EXPECT_EQ(infer("elementwise", {{"op", "where"}}, {{i64, {2, 3}}, {boolean, {2, 1}}, {i64, {1, 1}}}).outputs,
            (std::vector<TensorType>{{i64, {2, 3}}}));
  EXPECT_EQ(to_string(infer("elementwise", {{"op", "not"}}, {{boolean, {2}}}).workload),
            "elementwise(op=not,shape=2,operands=none,dtype=bool)");
  EXPECT_EQ(infer("reduce", {{"op", "max"}, {"axes", "-1"}}, {{i64, {5, 7}}}).outputs,
            (std::vector<TensorType>{{i64, {5}}}));
}

TEST(Infer, SaysWhereElementsAreMovedTo) {
  EXPECT_EQ(infer("concat", {{"axis", "-1"}}, {{boolean, {2, 3}}, {boolean, {2, 4}}, {boolean, {2, 1}}}).outputs,
            (std::vector<TensorType>{{boolean, {2, 8}}}));
  EXPECT_EQ(infer("gather", {{"axis", "1"}}, {{f16, {2, 3, 4}}, {i32, {5, 6}}}).outputs,
            (std::vector<TensorType>{{f16, {2, 5, 6, 4}}}));
  EXPECT_EQ(infer("gather_nd", {}, {{f16, {2, 3, 4}}, {i64, {5, 2}}}).outputs,
            (std::vector<TensorType>{{f16, {5, 4}}}));
  EXPECT_EQ(infer("slice", {{"begin", "0:5"}, {"step", "2:-1"}}, {{u8, {5, 6}}}).outputs,
            (std::vector<TensorType>{{u8, {3, 6}}}));
  EXPECT_EQ(infer("space_to_depth", {{"block", "2"}}, {{f32, {1, 3, 4, 6}}}).outputs,
            (std::vector<TensorType>{{f32, {1, 12, 2, 3}}}));
  EXPECT_EQ(refusal_of("concat", {{"axis", "1"}}, {{f32, {2, 3}}, {f16, {2, 4}}}),
            "concat: input 1 is f16[2, 4]; the others ask for f32[2, 4]");
  EXPECT_EQ(refusal_of("concat", {}, {}), "concat: input 0, 'x1', is missing");
  EXPECT_EQ(refusal_of("gather", {}, {{f32, {3}}}), "gather: input 1, 'indices', is missing");
  EXPECT_EQ(refusal_of("gather", {}, {{f32, {3}}, {f32, {2}}}), "index=f32 is unknown; allowed: s32, s64");
  EXPECT_THAT(refusal_of("gather", {}, {{f32, {3}}, {i64, {}}}), testing::HasSubstr("indices=scalar is not supported"));
}

TEST(Infer, RefusesInOneLine) {
  const TensorType data{f32, {1, 32, 9, 9}}, weight{f32, {64, 32, 3, 3}};
  EXPECT_EQ(refusal_of("conv2d", {}, {data}), "conv2d: input 1, 'weight', is missing");
  EXPECT_EQ(refusal_of("conv2d", {}, {{f32, {32, 9, 9}}, weight}),
            "conv2d: 'data' is f32[32, 9, 9]; it must have 4 dimensions");
  EXPECT_EQ(refusal_of("conv2d", {}, {data, {f32, {64, 5, 3, 3}}}),
            "conv2d: 'weight' is f32[64, 5, 3, 3], and its 5 channels do not divide the 32 of 'data'");
  EXPECT_EQ(refusal_of("conv2d", {}, {data, {f32, {64, 0, 3, 3}}}),
            "conv2d: 'weight' is f32[64, 0, 3, 3], and its 0 channels do not divide the 32 of 'data'");
  EXPECT_EQ(refusal_of("conv2d", {}, {data, {i32, {64, 32, 3, 3}}}),
            "conv2d: there is no product of f32 and s32; there is one of f32, f64, f16, bf16, f32 and s8, u8 and s8, "
            "s8 and s8, s8 and u8, s16 and s16, and of whole numbers of 8 or 16 bits and f32");
  EXPECT_EQ(refusal_of("conv2d", {{"n", "1"}}, {data, weight}), "conv2d: attribute 'n' follows from the inputs");
  EXPECT_EQ(refusal_of("conv2d", {}, {data, weight, data}), "conv2d: it takes 2 inputs, not 3");
  EXPECT_EQ(refusal_of("conv2d", {{"epilogue", "bias"}}, {data, weight, {f32, {63}}}),
            "conv2d: input 2 is f32[63]; the others ask for f32[64]");
  EXPECT_EQ(refusal_of("dense", {}, {{f32, {4, 8}}, {f32, {16, 9}}}),
            "dense: input 1 is f32[16, 9]; the others ask for f32[16, 8]");
  EXPECT_EQ(refusal_of("dense", {{"dtype", "f16"}}, {{f32, {4, 8}}, {f32, {16, 8}}}),
            "dense: input 0 is f32[4, 8]; the others ask for f16[4, 8]");
  EXPECT_THAT(refusal_of("elementwise", {{"op", "add"}}, {{f32, {4, 8}}, {f32, {3, 8}}}),
              testing::HasSubstr("3x8 does not fit shape=4x8"));
  EXPECT_EQ(refusal_of("elementwise", {{"op", "add"}}, {{f32, {4, 8}}, {f32, {8}}}),
            "elementwise: an input is f32[8] and 'x' f32[4, 8]; all must be of one rank");
  EXPECT_EQ(refusal_of("elementwise", {{"op", "where"}}, {{f32, {8}}, {f32, {8}}, {f32, {8}}}),
            "elementwise: input 1 is f32[8]; the others ask for bool[8]");
  EXPECT_EQ(refusal_of("reduce", {}, {}), "reduce: input 0, 'data', is missing");
  EXPECT_EQ(refusal_of("elementwise", {}, {}), "elementwise: input 0, 'x', is missing");
  EXPECT_EQ(refusal_of("softmin", {}, {}),
            "unknown operator 'softmin'; did you mean softmax? known: " + operators().names());
}

}  // namespace
}  // namespace hone
