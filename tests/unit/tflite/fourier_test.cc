// Fourier transforms of real numbers, against sums.
#include <complex>
#include <numbers>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::HasSubstr;

constexpr int8_t kTfComplex = 8;
constexpr int kSignals = 2, kSignalRows = 4, kSignalColumns = 6;

// The parts of a transform of `rows` x `columns` points, cut or filled up with zeros: [image, rows, columns / 2 + 1].
std::vector<std::complex<double>> transformed(const Floats& x, int rows, int columns) {
  std::vector<std::complex<double>> out;
  for (int n = 0; n < kSignals; ++n)
    for (int u = 0; u < rows; ++u)
      for (int v = 0; v <= columns / 2; ++v) {
        std::complex<double> sum;
        for (int i = 0; i < std::min(rows, kSignalRows); ++i)
          for (int j = 0; j < std::min(columns, kSignalColumns); ++j)
            sum += static_cast<double>(x[static_cast<size_t>((n * kSignalRows + i) * kSignalColumns + j)]) *
                   std::polar(1.0, -2 * std::numbers::pi *
                                       (static_cast<double>(u * i) / rows + static_cast<double>(v * j) / columns));
        out.push_back(sum);
      }
  return out;
}

TEST(TfliteFourier, PartsOfTransforms) {
  const Floats x = some_numbers(kSignals * kSignalRows * kSignalColumns, 3);
  for (const auto& [rows, columns] : {std::pair{4, 4}, {8, 8}, {2, 4}, {1, 8}}) {
    TfliteModel m;
    const std::vector<int32_t> shape{kSignals, rows, columns / 2 + 1};
    m.input("x", {kSignals, kSignalRows, kSignalColumns})
        .numbers("points", {rows, columns})
        .tensor("c", shape, kTfComplex);
    m.op(131, {"x", "points"}, {"c"}).op(134, {"c"}, {"real"}).op(133, {"c"}, {"imaginary"}).op(135, {"c"}, {"size"});
    m.output("real").output("imaginary").output("size");
    const std::vector<TensorData> got = tensors_of(m, {tensor({kSignals, kSignalRows, kSignalColumns}, x)});
    std::vector<double> real, imaginary, size;
    for (const std::complex<double>& z : transformed(x, rows, columns)) {
      real.push_back(z.real());
      imaginary.push_back(z.imag());
      size.push_back(std::abs(z));
    }
    EXPECT_EQ(got[0].type().shape, (Extents{shape.begin(), shape.end()}));
    EXPECT_THAT(got[0].values(), Near(real));
    EXPECT_THAT(got[1].values(), Near(imaginary));
    EXPECT_THAT(got[2].values(), Near(size));
  }
}

TEST(TfliteFourier, ComplexNumbersElsewhereAreRefused) {
  TfliteModel passed;
  passed.input("x", {2, 4}).numbers("points", {2, 4}).tensor("c", {2, 3}, kTfComplex).tensor("d", {2, 3}, kTfComplex);
  passed.op(131, {"x", "points"}, {"c"}).op(19, {"c"}, {"d"}).op(134, {"d"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(passed), HasSubstr("RELU (version 1): it works on complex numbers, 'c'"));
  TfliteModel shown;
  shown.input("x", {2, 4}).numbers("points", {2, 4}).tensor("c", {2, 3}, kTfComplex);
  shown.op(131, {"x", "points"}, {"c"}).output("c");
  EXPECT_EQ(TfliteFolder().refusal(shown), "output 'c' is of complex numbers, which is not supported");
  TfliteModel given;
  given.input("x", {2}, kTfComplex).op(134, {"x"}, {"y"}).output("y");
  EXPECT_EQ(TfliteFolder().refusal(given), "input 'x' is of complex numbers, which is not supported");
  TfliteModel real;
  real.input("x", {2, 2}).op(134, {"x"}, {"y"}).output("y");
  EXPECT_THAT(TfliteFolder().refusal(real), HasSubstr("input 0 has no complex numbers"));
}

}  // namespace
}  // namespace hone::tflite
