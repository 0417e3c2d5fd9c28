// Diagonals, sequences, bounds, gathers of each image its own.
#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

TEST(TflitePositions, Diagonals) {
  TfliteModel m;
  m.input("x", {2, 2}).op(113, {"x"}, {"y"}).output("y");
  const TensorData out = tensors_of(m, {tensor({2, 2}, {1, 2, 3, 4})}).at(0);
  EXPECT_EQ(out.type().shape, (Extents{2, 2, 2}));
  EXPECT_THAT(out.values(), ElementsAre(1, 0, 0, 2, 3, 0, 0, 4));
}

TEST(TflitePositions, DiagonalsOfMatricesThatAreNotSquare) {
  const auto set = [](int32_t rows, int32_t columns) {
    TfliteModel m;
    m.input("x", {1, rows, columns}).input("d", {1, 2}).op(115, {"x", "d"}, {"y"}).output("y");
    return outputs_of(m, {tensor({1, rows, columns}, {1, 2, 3, 4, 5, 6}), tensor({1, 2}, {-1, -2})});
  };
  EXPECT_THAT(set(2, 3), ElementsAre(-1, 2, 3, 4, -2, 6));
  EXPECT_THAT(set(3, 2), ElementsAre(-1, 2, 3, -2, 5, 6));
  TfliteModel wrong;
  wrong.input("x", {2, 3}).input("d", {3}).op(115, {"x", "d"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(wrong), HasSubstr("a diagonal f32[3] of f32[2, 3]"));
}

TEST(TflitePositions, SequencesTheOtherWayAround) {
  for (const bool is_known : {true, false}) {
    TfliteModel m;
    m.input("x", {2, 3, 2});
    const std::vector<int32_t> lengths{3, 2};
    if (is_known)
      m.numbers("n", lengths);
    else
      m.input("n", {2}, kTfInt);
    m.op(112, {"x", "n"}, {"y"}, tables::CreateReverseSequenceOptions(m.b, 1, 0)).output("y");
    std::vector<TensorData> inputs{tensor({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})};
    if (!is_known) inputs.push_back(whole({2}, lengths));
    EXPECT_THAT(outputs_of(m, inputs), ElementsAre(5, 6, 3, 4, 1, 2, 9, 10, 7, 8, 11, 12));
  }
  TfliteModel m;
  m.input("x", {3, 2}).numbers("n", {1, 3}).op(112, {"x", "n"}, {"y"}, tables::CreateReverseSequenceOptions(m.b, 0, 1));
  m.output("y");
  EXPECT_THAT(outputs_of(m, {tensor({3, 2}, {1, 2, 3, 4, 5, 6})}), ElementsAre(1, 6, 3, 4, 5, 2));
  TfliteModel wrong;
  wrong.input("x", {2, 3}).numbers("n", {1, 4});
  wrong.op(112, {"x", "n"}, {"y"}, tables::CreateReverseSequenceOptions(wrong.b, 1, 0)).output("y");
  EXPECT_THAT(TfliteFolder().refusal(wrong), HasSubstr("a length of 4 of f32[2, 3]"));
}

TEST(TflitePositions, Bounds) {
  const std::vector<float> bounds{0, 10, 100};
  TfliteModel m;
  m.input("x", {3, 2}).tensor("y", {3, 2}, kTfInt);
  m.op(147, {"x"}, {"y"}, tables::CreateBucketizeOptionsDirect(m.b, &bounds)).output("y");
  EXPECT_THAT(outputs_of(m, {tensor({3, 2}, {-5, 10000, 150, 10, 5, 100})}), ElementsAre(0, 3, 3, 2, 1, 3));
  TfliteModel numbers;
  numbers.input("x", {4}, kTfInt).tensor("y", {4}, kTfInt);
  numbers.op(147, {"x"}, {"y"}, tables::CreateBucketizeOptionsDirect(numbers.b, &bounds)).output("y");
  EXPECT_THAT(outputs_of(numbers, {whole({4}, {-1, 0, 99, 100})}), ElementsAre(0, 1, 2, 3));
  const std::vector<float> unsorted{1, 0};
  TfliteModel wrong;
  wrong.input("x", {4}).tensor("y", {4}, kTfInt);
  wrong.op(147, {"x"}, {"y"}, tables::CreateBucketizeOptionsDirect(wrong.b, &unsorted)).output("y");
  EXPECT_THAT(TfliteFolder().refusal(wrong), HasSubstr("its boundaries do not ascend"));
}

// x [2, 2, 3, 2] with an element for each number: b * 1000 + i * 100 + j * 10 + k.
TensorData numbered() {
  Floats v;
  for (int b = 0; b < 2; ++b)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 2; ++k) v.push_back(static_cast<float>(b * 1000 + i * 100 + j * 10 + k));
  return tensor({2, 2, 3, 2}, v);
}

TEST(TflitePositions, GathersOfEachImageItsOwn) {
  const std::vector<int32_t> at{2, 0, 1, 1};  // [2, 2]
  for (const bool is_known : {true, false}) {
    const auto gathered = [&](int32_t axis, int32_t batch) {
      TfliteModel m;
      m.input("x", {2, 2, 3, 2});
      if (is_known)
        m.data("at", {2, 2}, kTfInt, bytes_of_numbers(at));
      else
        m.input("at", {2, 2}, kTfInt);
      m.op(36, {"x", "at"}, {"y"}, tables::CreateGatherOptions(m.b, axis, batch)).output("y");
      std::vector<TensorData> inputs{numbered()};
      if (!is_known) inputs.push_back(whole({2, 2}, at));
      return tensors_of(m, inputs).at(0);
    };
    std::vector<double> by_image, by_row;
    for (size_t b = 0; b < 2; ++b)
      for (size_t i = 0; i < 2; ++i)
        for (size_t p = 0; p < 2; ++p)
          for (size_t k = 0; k < 2; ++k)
            by_image.push_back(static_cast<double>(b * 1000 + i * 100 + static_cast<size_t>(at[2 * b + p]) * 10 + k));
    EXPECT_EQ(gathered(2, 1).type().shape, (Extents{2, 2, 2, 2}));
    EXPECT_THAT(gathered(2, 1).values(), ElementsAreArray(by_image));
    EXPECT_THAT(gathered(-2, -1).values(), ElementsAreArray(by_image));
    for (size_t b = 0; b < 2; ++b)
      for (size_t i = 0; i < 2; ++i)
        for (size_t k = 0; k < 2; ++k)
          by_row.push_back(static_cast<double>(b * 1000 + i * 100 + static_cast<size_t>(at[2 * b + i]) * 10 + k));
    EXPECT_EQ(gathered(2, 2).type().shape, (Extents{2, 2, 2}));
    EXPECT_THAT(gathered(2, 2).values(), ElementsAreArray(by_row));
  }
  TfliteModel wrong;
  wrong.input("x", {2, 2}).input("at", {3, 1}, kTfInt);
  wrong.op(36, {"x", "at"}, {"y"}, tables::CreateGatherOptions(wrong.b, 1, 1)).output("y");
  EXPECT_THAT(TfliteFolder().refusal(wrong), HasSubstr("batch_dims=1 of f32[2, 2] and places s32[3, 1]"));
}

}  // namespace
}  // namespace hone::tflite
