// Refusals of extents that a model's nodes do not fit.
#include <gmock/gmock.h>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

// Two halvings, twice their output's extents twice, beside their input.
TestModel joined_scales() {
  TestModel m;
  m.input("x", {"batch", 2, "h", "w"}).floats("scales", {4}, {1, 1, 4, 4});
  m.node("MaxPool", {"x"}, {"p"}).ints("kernel_shape", {2, 2}).ints("strides", {2, 2});
  m.node("MaxPool", {"p"}, {"q"}).ints("kernel_shape", {2, 2}).ints("strides", {2, 2});
  m.node("Resize", {"q", "", "scales"}, {"r"}).node("Concat", {"x", "r"}, {"joined"}).number("axis", 1);
  return m.output("joined");
}

TEST(FittingOptions, AreTheNearestMultiplesThatFit) {
  const ModelFolder f;
  const TestModel m = joined_scales();
  EXPECT_EQ(f.refusal(m, {.shapes = {{"x", {3, 2, 8, 12}}}}), "accepted");
  const std::string shape = f.refusal(m, {.shapes = {{"x", {3, 2, 30, 9}}}});
  EXPECT_THAT(shape, StartsWith("these nodes do not fit with --shape x=3x2x30x9; they do with --shape x=3x2x32x8:\n"));
  EXPECT_THAT(shape, HasSubstr("Concat (opset"));
  EXPECT_THAT(shape, EndsWith("1 node: Concat_joined"));
  // Only names that change are listed.
  EXPECT_THAT(f.refusal(m, {.bind = {{"batch", 3}, {"h", 8}, {"w", 9}}}),
              StartsWith("these nodes do not fit with --bind w=9; they do with --bind w=8:\n"));
}

TEST(FittingOptions, AreNotOfferedWhereMultiplesDoNotHelp) {
  const ModelFolder f;
  TestModel fixed;
  fixed.input("x", {1, "n"}).numbers("to", {2}, {1, 100}).node("Reshape", {"x", "to"}, {"y"}).output("y");
  EXPECT_EQ(f.refusal(fixed, {.shapes = {{"x", {1, 100}}}}), "accepted");
  const std::string refused = f.refusal(fixed, {.shapes = {{"x", {1, 90}}}});
  EXPECT_THAT(refused, StartsWith("it has nodes that are not supported:\n  Reshape (opset"));
  EXPECT_THAT(refused, EndsWith("1 node: Reshape_y"));
  TestModel unknown = joined_scales();
  unknown.node("NoSuchOperator", {"x"}, {"z"}).output("z");
  EXPECT_THAT(f.refusal(unknown, {.shapes = {{"x", {1, 2, 30, 30}}}}), testing::Not(HasSubstr("they do with")));
}

}  // namespace
}  // namespace hone
