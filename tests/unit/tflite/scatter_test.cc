// Elements written at positions, blocks, and rows of segments.
#include <limits>

#include "compiler/graph/extents.h"
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

const Floats kOneToSix = {1, 2, 3, 4, 5, 6};

// SCATTER_ND of rows of two into [4, 2], at positions that the model knows or a call.
std::vector<double> scattered_at(const std::vector<int32_t>& positions, bool is_known) {
  TfliteModel m;
  m.input("x", {3, 2}).numbers("s", {4, 2});
  if (is_known)
    m.data("at", {3, 1}, kTfInt, bytes_of_numbers(positions));
  else
    m.input("at", {3, 1}, kTfInt);
  m.op(122, {"at", "x", "s"}, {"y"}).output("y");
  std::vector<TensorData> inputs{tensor({3, 2}, kOneToSix)};
  if (!is_known) inputs.push_back(whole({3, 1}, positions));
  return outputs_of(m, inputs);
}

TEST(TfliteScatter, WritesRows) {
  for (const bool is_known : {true, false}) {
    EXPECT_THAT(scattered_at({3, 0, 1}, is_known), ElementsAre(3, 4, 5, 6, 0, 0, 1, 2));
    EXPECT_THAT(scattered_at({2, 0, 2}, is_known), ElementsAre(3, 4, 0, 0, 6, 8, 0, 0));  // sums
  }
}

TEST(TfliteScatter, WritesElements) {
  TfliteModel m;
  m.input("x", {3}).numbers("s", {2, 3}).data("at", {3, 2}, kTfInt, bytes_of_numbers<int32_t>({1, 2, 0, 0, 1, 0}));
  m.op(122, {"at", "x", "s"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({3}, {7, 8, 9})}), ElementsAre(8, 0, 0, 9, 0, 7));
}

TEST(TfliteScatter, MovesBytesAsTheyAre) {
  TfliteModel m;
  const TfliteScales scales{{0.5f}, {3}};
  m.input("x", {2}, kTfSigned, scales).numbers("s", {4}).tensor("y", {4}, kTfSigned, scales);
  m.data("at", {2, 1}, kTfInt, bytes_of_numbers<int32_t>({3, 1})).op(122, {"at", "x", "s"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {TensorData({i8, {2}}, bytes_of_numbers<int8_t>({-5, 100}))}), ElementsAre(0, 100, 0, -5));
}

TEST(TfliteScatter, PositionsOutsideAreRefused) {
  TfliteModel m;
  m.input("x", {1}).numbers("s", {4}).data("at", {1, 1}, kTfInt, bytes_of_numbers<int32_t>({4}));
  m.op(122, {"at", "x", "s"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(m), HasSubstr("place 4 of axis 0 of f32[4]"));
}

TEST(TfliteScatter, SparseToDense) {
  const auto dense = [](const std::vector<int32_t>& shape, const std::vector<int32_t>& at,
                        const std::vector<int32_t>& to, bool is_known, const Floats& values, bool is_one) {
    TfliteModel m;
    m.numbers("to", to).floats("other", {}, {-1});
    m.input("values", is_one ? std::vector<int32_t>{} : std::vector<int32_t>{static_cast<int32_t>(values.size())});
    if (is_known)
      m.data("at", shape, kTfInt, bytes_of_numbers(at));
    else
      m.input("at", shape, kTfInt);
    m.op(68, {"at", "to", "values", "other"}, {"y"}).output("y");
    std::vector<TensorData> inputs{tensor(is_one ? Extents{} : Extents{static_cast<int64_t>(values.size())}, values)};
    if (!is_known) inputs.push_back(whole({shape.begin(), shape.end()}, at));
    return outputs_of(m, inputs);
  };
  for (const bool is_known : {true, false}) {
    EXPECT_THAT(dense({}, {2}, {4}, is_known, {7}, true), ElementsAre(-1, -1, 7, -1));
    EXPECT_THAT(dense({2}, {3, 1}, {4}, is_known, {7, 8}, false), ElementsAre(-1, 8, -1, 7));
    EXPECT_THAT(dense({2, 2}, {0, 1, 1, 0}, {2, 2}, is_known, {7, 8}, false), ElementsAre(-1, 7, 8, -1));
    EXPECT_THAT(dense({2, 2}, {0, 1, 1, 0}, {2, 2}, is_known, {5}, true), ElementsAre(-1, 5, 5, -1));
  }
}

// A block of [2, 1, 2] in [3, 2, 3], by loops.
std::vector<double> with_block(const Extents& begin) {
  const auto at = [&](size_t d, int64_t most) { return std::clamp<int64_t>(begin[d], 0, most); };
  std::vector<double> out(18);
  for (size_t i = 0; i < 18; ++i) out[i] = static_cast<double>(i);
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t k = 0; k < 2; ++k)
      out[static_cast<size_t>((i + at(0, 1)) * 6 + at(1, 1) * 3 + k + at(2, 1))] = static_cast<double>(100 + 2 * i + k);
  return out;
}

TEST(TfliteScatter, BlocksBeginWhereTheyFit) {
  Floats all, block = {100, 101, 102, 103};
  for (int i = 0; i < 18; ++i) all.push_back(static_cast<float>(i));
  for (const std::vector<int32_t>& begin :
       std::vector<std::vector<int32_t>>{{0, 0, 0}, {1, 1, 1}, {9, -4, 1}, {0, 1, 7}})
    for (const bool is_known : {true, false}) {
      TfliteModel m;
      m.input("x", {3, 2, 3}).input("b", {2, 1, 2});
      if (is_known)
        m.numbers("at", begin);
      else
        m.input("at", {3}, kTfInt);
      m.op(151, {"x", "b", "at"}, {"y"}).output("y");
      std::vector<TensorData> inputs{tensor({3, 2, 3}, all), tensor({2, 1, 2}, block)};
      if (!is_known) inputs.push_back(whole({3}, begin));
      EXPECT_THAT(outputs_of(m, inputs), ElementsAreArray(with_block({begin.begin(), begin.end()})))
          << begin[0] << begin[1] << begin[2] << is_known;
    }
}

// A cache that a call adds a row to.
TEST(TfliteScatter, BlocksMayFillAllLaterAxes) {
  TfliteModel m;
  m.input("x", {1, 3, 2}).input("b", {1, 1, 2}).input("at", {3}, kTfInt).op(151, {"x", "b", "at"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({1, 3, 2}, kOneToSix), tensor({1, 1, 2}, {8, 9}), whole({3}, {0, 1, 0})}),
              ElementsAre(1, 2, 8, 9, 5, 6));
}

TEST(TfliteSegments, SumsOfThoseThatAscend) {
  TfliteModel m;
  m.input("x", {3, 2}).numbers("ids", {0, 0, 2}).op(125, {"x", "ids"}, {"y"}).output("y");
  const TensorData out = tensors_of(m, {tensor({3, 2}, kOneToSix)}).at(0);
  EXPECT_EQ(out.type().shape, (Extents{3, 2}));
  EXPECT_THAT(out.values(), ElementsAre(4, 6, 0, 0, 5, 6));
  TfliteModel unsorted;
  unsorted.input("x", {3, 2}).numbers("ids", {0, 1, 0}).op(125, {"x", "ids"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(unsorted), HasSubstr("its segments do not ascend from 0 on"));
}

// As many as a call says, told by an output of its own; a call whose segments do not begin with 0 and ascend by one has
// no result.
TEST(TfliteSegments, SumsOfThoseOfACall) {
  TfliteModel m;
  m.input("x", {3, 2}).input("ids", {3}, kTfInt).op(125, {"x", "ids"}, {"y"}).output("y");
  const Graph g = TfliteFolder().import(m).graph;
  ASSERT_TRUE(g.outputs[0].extent);
  const auto sums_of = [&](const std::vector<int32_t>& ids) {
    return cut_to_extents(g, interpret(g, {tensor({3, 2}, kOneToSix), whole({3}, ids)}, &evaluate))[0];
  };
  EXPECT_EQ(sums_of({0, 0, 1}).type().shape, (Extents{2, 2}));
  EXPECT_THAT(sums_of({0, 0, 1}).values(), ElementsAre(4, 6, 5, 6));
  EXPECT_THAT(sums_of({0, 0, 0}).values(), ElementsAre(9, 12));
  for (const std::vector<int32_t>& ids : {std::vector{1, 1, 2}, {0, 2, 2}, {0, 1, 0}}) EXPECT_ANY_THROW(sums_of(ids));
}

TEST(TfliteSegments, OfAnyOrder) {
  const double least = static_cast<double>(std::numeric_limits<float>::lowest()), most = -least;
  const std::vector<std::pair<int32_t, std::vector<double>>> wanted{{153, {5, 12, 1, 1, 3, 4}},
                                                                    {154, {5, 6, least, least, 3, 4}},
                                                                    {155, {6, 8, 0, 0, 3, 4}},
                                                                    {157, {1, 2, most, most, 3, 4}}};
  for (const auto& [number, values] : wanted)
    for (const bool is_known : {true, false}) {
      TfliteModel m;
      m.input("x", {3, 2}).number("n", 3);
      if (is_known)
        m.numbers("ids", {0, 2, 0});
      else
        m.input("ids", {3}, kTfInt);
      m.op(number, {"x", "ids", "n"}, {"y"}).output("y");
      std::vector<TensorData> inputs{tensor({3, 2}, kOneToSix)};
      if (!is_known) inputs.push_back(whole({3}, {0, 2, 0}));
      EXPECT_THAT(outputs_of(m, inputs), ElementsAreArray(values)) << number;
    }
}

TEST(TfliteSegments, OfWholeNumbersAndSeveralAxes) {
  TfliteModel m;
  m.input("x", {2, 3}, kTfInt).tensor("y", {2}, kTfInt).number("n", 2);
  m.data("ids", {2, 3}, kTfInt, bytes_of_numbers<int32_t>({1, 0, 1, 1, 1, 0}));
  m.op(154, {"x", "ids", "n"}, {"y"}).output("y");
  EXPECT_THAT(outputs_of(m, {whole({2, 3}, {-5, -7, -9, -6, -2, -8})}), ElementsAre(-7, -2));
  TfliteModel beyond;
  beyond.input("x", {3, 2}).numbers("ids", {0, 2, 0}).number("n", 2).op(155, {"x", "ids", "n"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(beyond), HasSubstr("segment 2 of 2"));
}

}  // namespace
}  // namespace hone::tflite
