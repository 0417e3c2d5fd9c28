// Sequences, which exporters write with one axis or as images of one column or one row, are images of one row.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::HasSubstr;

// A convolution or pooling over `shape`, whose kernel has these extents.
struct SequenceModel {
  std::vector<int64_t> shape, kernel, strides, pads;
  bool is_pool = false;
};

TestModel onnx_of_in_sequences(const SequenceModel& s) {
  TestModel m;
  m.input("x", {s.shape.begin(), s.shape.end()});
  if (s.is_pool) {
    m.node("MaxPool", {"x"}, {"y"});
    m.ints("kernel_shape", s.kernel);
  } else {
    std::vector<int64_t> weight{3, 2};
    weight.insert(weight.end(), s.kernel.begin(), s.kernel.end());
    std::vector<float> values(3 * 2 * 3);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.25f * static_cast<float>(i) - 2;
    m.floats("w", weight, values).node("Conv", {"x", "w"}, {"y"});
  }
  m.ints("strides", s.strides).ints("pads", s.pads).output("y");
  return m;
}

TEST(Sequences, OfOneAxisInAColumnAndInARowAreTheSame) {
  const ModelFolder f;
  for (const bool is_pool : {false, true}) {
    const std::vector<SequenceModel> spellings = {{{1, 2, 9}, {3}, {2}, {1, 2}, is_pool},
                                                  {{1, 2, 9, 1}, {3, 1}, {2, 1}, {1, 0, 2, 0}, is_pool},
                                                  {{1, 2, 1, 9}, {1, 3}, {1, 2}, {0, 1, 0, 2}, is_pool}};
    std::vector<double> first;
    for (const SequenceModel& s : spellings) {
      const ImportedModel m = f.import(onnx_of_in_sequences(s));
      EXPECT_THAT(to_string(m.graph), HasSubstr("h=1,w=9,"));
      std::vector<int64_t> out = s.shape;
      out[1] = is_pool ? 2 : 3;
      *std::find(out.begin() + 2, out.end(), 9) = 5;
      EXPECT_EQ(m.graph.outputs[0].type.shape, out);
      std::vector<float> x(18);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 11) - 4;
      const std::vector<double> values = outputs_of(m, {TensorData({f32, s.shape}, floats_of(x))});
      if (first.empty()) first = values;
      EXPECT_EQ(values, first);
    }
  }
}

TEST(Sequences, AWindowThatLeavesTheColumnIsAnImages) {
  const ModelFolder f;
  EXPECT_THAT(to_string(f.import(onnx_of_in_sequences({{1, 2, 9, 1}, {3, 1}, {1, 1}, {0, 1, 0, 0}})).graph),
              HasSubstr("h=9,w=1,"));
}

}  // namespace
}  // namespace hone
