// Operators that move elements.
#include <algorithm>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Floats kMovementSix = {1, 2, 3, 4, 5, 6};

// Elements and shape of the first output of a model with one input.
std::pair<std::vector<double>, Extents> result_of(TfliteModel& m, const TensorData& x) {
  const std::vector<TensorData> out = tensors_of(m, {x});
  return {out.at(0).values(), out.at(0).type().shape};
}

TEST(TfliteMovement, ReshapeTakesItsShapeFromAnInputAnOptionOrTheFile) {
  TfliteModel by_input;
  by_input.input("x", {2, 3}).numbers("s", {3, -1}).op(22, {"x", "s"}, {"y"}).output("y");
  EXPECT_EQ(result_of(by_input, tensor({2, 3}, kMovementSix)).second, (Extents{3, 2}));
  TfliteModel by_option;
  by_option.input("x", {2, 3});
  const std::vector<int32_t> shape{-1};
  by_option.op(22, {"x"}, {"y"}, tables::CreateReshapeOptionsDirect(by_option.b, &shape)).output("y");
  EXPECT_EQ(result_of(by_option, tensor({2, 3}, kMovementSix)).second, (Extents{6}));
  TfliteModel by_file;
  by_file.input("x", {2, 3}).tensor("y", {1, 6}).op(22, {"x"}, {"y"}).output("y");
  EXPECT_EQ(result_of(by_file, tensor({2, 3}, kMovementSix)).second, (Extents{1, 6}));
}

TEST(TfliteMovement, AxesComeAndGo) {
  TfliteModel m;
  m.input("x", {2, 3}).number("one", 1).number("last", -1);
  m.op(70, {"x", "one"}, {"a"}).op(70, {"a", "last"}, {"b"});
  const std::vector<int32_t> axes{1};
  m.op(43, {"b"}, {"c"}, tables::CreateSqueezeOptionsDirect(m.b, &axes)).output("b").output("c");
  const std::vector<TensorData> out = tensors_of(m, {tensor({2, 3}, kMovementSix)});
  EXPECT_EQ(out[0].type().shape, (Extents{2, 1, 3, 1}));
  EXPECT_EQ(out[1].type().shape, (Extents{2, 3, 1}));
}

TEST(TfliteMovement, Transposes) {
  TfliteModel m;
  m.input("x", {2, 3}).numbers("p", {1, 0}).op(39, {"x", "p"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 3}, kMovementSix)}), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(TfliteMovement, JoinsAndParts) {
  TfliteModel joined;
  joined.input("x", {2, 3}).floats("c", {2, 1}, {10, 20});
  joined.op(2, {"x", "c"}, {"y"}, tables::CreateConcatenationOptions(joined.b, -1)).output("y");
  EXPECT_THAT(outputs_of(joined, {tensor({2, 3}, kMovementSix)}), ElementsAre(1, 2, 3, 10, 4, 5, 6, 20));
  TfliteModel packed;
  packed.input("x", {3}).op(83, {"x", "x"}, {"y"}, tables::CreatePackOptions(packed.b, 2, 1)).output("y");
  EXPECT_THAT(outputs_of(packed, {tensor({3}, {1, 2, 3})}), ElementsAre(1, 1, 2, 2, 3, 3));
  TfliteModel unpacked;
  unpacked.input("x", {2, 3}).op(88, {"x"}, {"a", "b", "c"}, tables::CreateUnpackOptions(unpacked.b, 3, 1));
  unpacked.output("c").output("a");
  EXPECT_THAT(outputs_of(unpacked, {tensor({2, 3}, kMovementSix)}), ElementsAre(3, 6, 1, 4));
  TfliteModel halves;
  halves.number("axis", 0)
      .input("x", {2, 3})
      .op(49, {"axis", "x"}, {"a", "b"}, tables::CreateSplitOptions(halves.b, 2));
  halves.output("b");
  EXPECT_THAT(outputs_of(halves, {tensor({2, 3}, kMovementSix)}), ElementsAre(4, 5, 6));
  TfliteModel parts;
  parts.input("x", {2, 3}).numbers("sizes", {1, -1}).number("axis", 1).op(102, {"x", "sizes", "axis"}, {"a", "b"});
  parts.output("a").output("b");
  EXPECT_THAT(outputs_of(parts, {tensor({2, 3}, kMovementSix)}), ElementsAre(1, 4, 2, 3, 5, 6));
}

TEST(TfliteMovement, Slices) {
  TfliteModel m;
  m.input("x", {2, 3}).numbers("begin", {0, 1}).numbers("size", {-1, 2}).op(65, {"x", "begin", "size"}, {"y"});
  m.output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 3}, kMovementSix)}), ElementsAre(2, 3, 5, 6));
  TfliteModel reversed;
  reversed.input("x", {2, 3}).numbers("axes", {1}).op(105, {"x", "axes"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(reversed, {tensor({2, 3}, kMovementSix)}), ElementsAre(3, 2, 1, 6, 5, 4));
}

struct Masks {
  int begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink = 0;
};

std::pair<std::vector<double>, Extents> strided(const std::vector<int32_t>& begin, const std::vector<int32_t>& end,
                                                const std::vector<int32_t>& step, const Masks& k = {}) {
  TfliteModel m;
  m.input("x", {2, 3}).numbers("b", begin).numbers("e", end).numbers("s", step);
  m.op(45, {"x", "b", "e", "s"}, {"y"},
       tables::CreateStridedSliceOptions(m.b, k.begin, k.end, k.ellipsis, k.new_axis, k.shrink));
  m.output("y");
  return result_of(m, tensor({2, 3}, kMovementSix));
}

TEST(TfliteMovement, StridedSlicesAreNumpys) {
  EXPECT_EQ(strided({0, 0}, {2, 3}, {1, 2}), std::pair(std::vector<double>{1, 3, 4, 6}, Extents{2, 2}));
  EXPECT_EQ(strided({0, -2}, {1, 100}, {1, 1}), std::pair(std::vector<double>{2, 3}, Extents{1, 2}));
  EXPECT_EQ(strided({1, 2}, {0, 0}, {1, -1}, {.end = 3}), std::pair(std::vector<double>{6, 5, 4}, Extents{1, 3}));
  EXPECT_EQ(strided({0, 0}, {0, 0}, {1, -1}, {.begin = 3, .end = 3}),
            std::pair(std::vector<double>{3, 2, 1, 6, 5, 4}, Extents{2, 3}));
  EXPECT_EQ(strided({-1, 0}, {0, 3}, {1, 1}, {.shrink = 1}), std::pair(std::vector<double>{4, 5, 6}, Extents{3}));
  EXPECT_EQ(strided({0, 1}, {0, 2}, {1, 1}, {.ellipsis = 1}), std::pair(std::vector<double>{2, 5}, Extents{2, 1}));
  EXPECT_EQ(strided({0, 1}, {0, 2}, {1, 1}, {.new_axis = 1}),
            std::pair(std::vector<double>{4, 5, 6}, Extents{1, 1, 3}));
}

TEST(TfliteMovement, Borders) {
  const auto padded = [](int32_t number, int8_t mode, const std::vector<int32_t>& pads) {
    TfliteModel m;
    m.input("x", {1, 3}).data("p", {2, 2}, kTfInt, bytes_of_numbers(pads)).floats("v", {1}, {9});
    if (number == 100)
      m.op(100, {"x", "p"}, {"y"}, tables::CreateMirrorPadOptions(m.b, mode));
    else
      m.op(number, number == 60 ? std::vector<std::string>{"x", "p", "v"} : std::vector<std::string>{"x", "p"}, {"y"});
    m.output("y");
    return outputs_of(m, {tensor({1, 3}, {1, 2, 3})});
  };
  EXPECT_THAT(padded(34, 0, {0, 0, 1, 2}), ElementsAre(0, 1, 2, 3, 0, 0));
  EXPECT_THAT(padded(60, 0, {1, 0, 0, 1}), ElementsAre(9, 9, 9, 9, 1, 2, 3, 9));
  EXPECT_THAT(padded(100, 0, {0, 0, 2, 1}), ElementsAre(3, 2, 1, 2, 3, 2));
  EXPECT_THAT(padded(100, 1, {0, 0, 2, 1}), ElementsAre(2, 1, 1, 2, 3, 3));
  const TfliteFolder f;
  TfliteModel m;
  m.input("x", {1, 3}).data("p", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 0, 0, 3}));
  m.op(100, {"x", "p"}, {"y"}, tables::CreateMirrorPadOptions(m.b, 0)).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("it mirrors 3 elements of axis 1 of f32[1, 3]"));
}

TEST(TfliteMovement, Places) {
  TfliteModel m;
  m.input("x", {2, 3})
      .numbers("at", {2, 0})
      .op(36, {"x", "at"}, {"y"}, tables::CreateGatherOptions(m.b, 1))
      .output("y");
  EXPECT_THAT(outputs_of(m, {tensor({2, 3}, kMovementSix)}), ElementsAre(3, 1, 6, 4));
  TfliteModel nd;
  nd.input("x", {2, 3}).data("at", {2, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 2, 0, 1}));
  nd.op(107, {"x", "at"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(nd, {tensor({2, 3}, kMovementSix)}), ElementsAre(6, 2));
  const TfliteFolder f;
  TfliteModel outside;
  outside.input("x", {2, 3}).numbers("at", {3}).op(36, {"x", "at"}, {"y"}, tables::CreateGatherOptions(outside.b, 1));
  outside.output("y");
  EXPECT_THAT(f.refusal(outside), HasSubstr("place 3 of axis 1 of f32[2, 3]"));
}

TEST(TfliteMovement, Repeats) {
  TfliteModel tiled;
  tiled.input("x", {1, 3}).numbers("r", {2, 2}).op(69, {"x", "r"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(tiled, {tensor({1, 3}, {1, 2, 3})}), ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  TfliteModel wide;
  wide.input("x", {2, 1}).numbers("s", {2, 2}).op(130, {"x", "s"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(wide, {tensor({2, 1}, {1, 2})}), ElementsAre(1, 1, 2, 2));
}

TEST(TfliteMovement, TensorsMadeOfShapesAndNumbers) {
  TfliteModel m;
  m.input("x", {2, 3}).tensor("s", {2}, kTfInt).op(77, {"x"}, {"s"}).floats("v", {}, {7});
  m.op(94, {"s", "v"}, {"f"}).op(93, {"x"}, {"z"}).op(0, {"f", "z"}, {"y"}).output("y");
  m.number("b", 1).number("e", 8).number("d", 3).tensor("r", {3}, kTfInt).op(96, {"b", "e", "d"}, {"r"}).output("r");
  m.tensor("k", {}, kTfInt).op(110, {"x"}, {"k"}).output("k");
  EXPECT_THAT(outputs_of(m, {tensor({2, 3}, kMovementSix)}), ElementsAre(7, 7, 7, 7, 7, 7, 1, 4, 7, 2));
}

TEST(TfliteMovement, OneHot) {
  TfliteModel m;
  m.input("x", {2}, kTfInt).number("depth", 3).floats("on", {}, {5}).floats("off", {}, {-1});
  m.op(85, {"x", "depth", "on", "off"}, {"y"}, tables::CreateOneHotOptions(m.b, -1));
  m.op(85, {"x", "depth", "on", "off"}, {"z"}, tables::CreateOneHotOptions(m.b, 0)).output("y").output("z");
  const auto out = tensors_of(m, {TensorData::of_numbers({2, 7}, i32)});
  EXPECT_THAT(out[0].values(), ElementsAre(-1, -1, 5, -1, -1, -1));
  EXPECT_EQ(out[1].type().shape, (Extents{3, 2}));
  EXPECT_THAT(out[1].values(), ElementsAre(-1, -1, -1, -1, 5, -1));
}

TEST(TfliteMovement, RowsOfATable) {
  TfliteModel m;
  m.input("x", {2}, kTfInt).floats("t", {3, 2}, kMovementSix).op(7, {"x", "t"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {TensorData::of_numbers({2, 0}, i32)}), ElementsAre(5, 6, 1, 2));
}

TEST(TfliteMovement, ShapesOfTwo) {
  TfliteModel m;
  m.input("x", {3}).numbers("a", {2, 1}).numbers("b", {3}).tensor("s", {2}, kTfInt).op(145, {"a", "b"}, {"s"});
  m.op(130, {"x", "s"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({3}, {1, 2, 3})}), ElementsAre(1, 2, 3, 1, 2, 3));
}

}  // namespace
}  // namespace hone::tflite
