// Outputs as long as a call finds out.
#include "compiler/graph/extents.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The outputs, each as long as the call found.
std::vector<TensorData> cut_outputs_of(TfliteModel& m, const std::vector<TensorData>& inputs) {
  const Graph g = TfliteFolder().import(m).graph;
  return cut_to_extents(g, interpret(g, inputs, &evaluate));
}

TEST(TfliteLengths, PlacesOfWhatIsTrue) {
  TfliteModel m;
  m.input("x", {2, 3}).tensor("at", {}, kTfLong).op(109, {"x"}, {"at"}).output("at");
  const TensorData at = cut_outputs_of(m, {tensor({2, 3}, {0, 5, 0, 7, 0, -1})}).at(0);
  EXPECT_EQ(at.type().shape, (Extents{3, 2}));
  EXPECT_THAT(at.values(), ElementsAre(0, 1, 1, 0, 1, 2));
  TfliteModel none;
  none.input("x", {2, 3}).tensor("at", {}, kTfLong).op(109, {"x"}, {"at"}).output("at");
  EXPECT_EQ(cut_outputs_of(none, {tensor({2, 3}, Floats(6))}).at(0).type().shape, (Extents{0, 2}));
}

TEST(TfliteLengths, ElementsOfTheseAreGathered) {
  TfliteModel m;
  m.input("x", {2, 3}).tensor("at", {}, kTfLong).op(109, {"x"}, {"at"}).op(107, {"x", "at"}, {"y"}).output("y");
  const TensorData y = cut_outputs_of(m, {tensor({2, 3}, {0, 5, 0, 7, 0, -1})}).at(0);
  EXPECT_EQ(y.type().shape, Extents{3});
  EXPECT_THAT(y.values(), ElementsAre(5, 7, -1));
  TfliteModel other;
  other.input("x", {2, 3}).tensor("at", {}, kTfLong).op(109, {"x"}, {"at"}).tensor("y", {}, kTfLong);
  other.op(59, {"at"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(other), HasSubstr("only a call finds out how long 'at' is"));
}

TEST(TfliteLengths, DifferentElementsInTheirOrder) {
  TfliteModel m;
  m.input("x", {6}, kTfInt).tensor("y", {}, kTfInt).tensor("which", {}, kTfInt);
  m.op(103, {"x"}, {"y", "which"}).output("y").output("which");
  const std::vector<TensorData> out = cut_outputs_of(m, {whole({6}, {7, 3, 7, 7, 9, 3})});
  EXPECT_THAT(out.at(0).values(), ElementsAre(7, 3, 9));
  EXPECT_THAT(out.at(1).values(), ElementsAre(0, 1, 0, 0, 2, 1));
}

}  // namespace
}  // namespace hone::tflite
