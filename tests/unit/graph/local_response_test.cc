// LRN: windows over channels that are not symmetric, and reach beyond both ends.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/graph/onnx_models.h"

namespace hone {
namespace {

using testing::HasSubstr;

TestModel model_of_in_local_response(int64_t size, std::vector<int64_t> shape) {
  TestModel m;
  m.input("x", {shape.begin(), shape.end()}).node("LRN", {"x"}, {"y"}).output("y");
  m.number("size", size).real("alpha", 0.5f).real("beta", 0.75f).real("bias", 2.0f);
  return m;
}

TEST(LocalResponseNormalization, IsItsDefinition) {
  const ModelFolder f;
  const int channels = 5, pixels = 6;
  std::vector<float> x(2 * channels * pixels);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 11) - 4;
  for (const int size : {1, 2, 3, 4, 7}) {
    std::vector<double> expected;
    for (int n = 0; n < 2; ++n)
      for (int c = 0; c < channels; ++c)
        for (int p = 0; p < pixels; ++p) {
          const auto at = [&](int channel) {
            return double{x[static_cast<size_t>((n * channels + channel) * pixels + p)]};
          };
          double sum = 0;
          for (int k = std::max(0, c - (size - 1) / 2); k <= std::min(channels - 1, c + size / 2); ++k)
            sum += at(k) * at(k);
          expected.push_back(at(c) / std::pow(2 + 0.5 / size * sum, 0.75));
        }
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{2, 5, 2, 3}, {2, 5, 6}}) {
      const ImportedModel m = f.import(model_of_in_local_response(size, shape));
      EXPECT_THAT(outputs_of(m, {TensorData({f32, shape}, floats_of(x))}),
                  testing::Pointwise(testing::DoubleNear(1e-5), expected))
          << size;
    }
  }
}

TEST(LocalResponseNormalization, SaysWhatIsWrong) {
  const ModelFolder f;
  EXPECT_THAT(f.refusal(model_of_in_local_response(0, {1, 2, 3, 3})), HasSubstr("LRN (opset 13): size=0"));
  EXPECT_THAT(f.refusal(model_of_in_local_response(kHuge, {1, 2, 3, 3})), HasSubstr("size=9223372036854775807"));
  EXPECT_THAT(f.refusal(model_of_in_local_response(3, {2, 3})), HasSubstr("LRN (opset 13): f32[2, 3]"));
}

}  // namespace
}  // namespace hone
