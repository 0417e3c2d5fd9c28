// Weights of 16 bits in f32, where the target multiplies these slowly.
#include <gmock/gmock.h>

#include "compiler/graph/passes/passes.h"
#include "compiler/ops/dtypes.h"
#include "tests/unit/graph/after_pass.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

PassContext slow(std::vector<DType> types) {
  PassContext context = test_context();
  context.slow_products = std::move(types);
  return context;
}

// A product of `rows` and its weights, and the same again.
Graph product(int64_t rows, const std::string& type) {
  const std::string m = std::to_string(rows);
  return read_graph("graph g\ninput \"x\" %x " + type + "[" + m + ", 3]\n%w = constant " + type +
                    "[2, 3] [1, 2, 3, 4, 5, 6.5]\n%c = constant " + type + "[2] [1, 2]\n%y = dense(m=" + m +
                    ",n=2,k=3,dtype=" + type + ",epilogue=bias+relu) %x %w %c\n%z = dense(m=" + m +
                    ",n=2,k=3,dtype=" + type + ":" + type + ":f32:f32,epilogue=none) %x %w\noutput \"y\" %y " + type +
                    "[" + m + ", 2]\noutput \"z\" %z f32[" + m + ", 2]\n");
}

TEST(MultiplyInF32, WeightsOfManyRowsAreConvertedOnce) {
  for (const char* type : {"f16", "bf16"}) {
    const Graph g = product(32, type);
    const Graph made = multiply_in_f32(g, slow({f16, bf16}));
    const std::string text = lines_of(made), t = type;
    EXPECT_THAT(text, HasSubstr("dense(m=32,n=2,k=3,dtype=" + t + ":f32:f32:" + t + ",epilogue=bias+relu) %x %w_f32"));
    EXPECT_THAT(text, HasSubstr("dense(m=32,n=2,k=3,dtype=" + t + ":f32:f32:f32,epilogue=none) %x %w_f32"));
    EXPECT_EQ(text.find("constant f32"), text.rfind("constant f32")) << text;
    expect_same_values(g, made, 0);
  }
}

TEST(MultiplyInF32, FewRowsWaitForTheirWeights) {
  const Graph g = product(31, "f16");
  EXPECT_EQ(to_string(multiply_in_f32(g, slow({f16}))), to_string(g));
}

TEST(MultiplyInF32, OtherTypesStay) {
  const Graph g = product(32, "bf16");
  EXPECT_EQ(to_string(multiply_in_f32(g, slow({f16}))), to_string(g));
}

TEST(MultiplyInF32, MeasuredTimesDecide) {
  const Graph g = product(64, "f16");
  for (const double of_f32 : {0.9, 1.1}) {
    PassContext context = slow({f16});
    context.measured = [&](const Workload& w) -> std::optional<double> {
      return dtypes_of(w).weight == f32 ? of_f32 : 1.0;
    };
    const std::string text = to_string(multiply_in_f32(g, context));
    if (of_f32 < 1)
      EXPECT_THAT(text, HasSubstr("f16:f32:f32:f16"));
    else
      EXPECT_EQ(text, to_string(g));
  }
}

TEST(MultiplyInF32, TellsWhatToMeasure) {
  std::vector<Workload> compared;
  PassContext context = slow({f16});
  context.alternatives = &compared;
  multiply_in_f32(product(32, "f16"), context);
  ASSERT_EQ(compared.size(), 4u);
  EXPECT_EQ(to_string(compared[0]), "dense(m=32,n=2,k=3,dtype=f16:f16:f32:f16,epilogue=bias+relu)");
  EXPECT_EQ(to_string(compared[1]), "dense(m=32,n=2,k=3,dtype=f16:f32:f32:f16,epilogue=bias+relu)");
}

TEST(MultiplyInF32, ComesBeforeLayoutsAreChosen) {
  EXPECT_THAT(names_of(graph_passes(test_context())), Not(HasSubstr("multiply_in_f32")));
  EXPECT_THAT(names_of(graph_passes(slow({f16}))), HasSubstr("lift_numbers, multiply_in_f32, merge_siblings"));
}

}  // namespace
}  // namespace hone
