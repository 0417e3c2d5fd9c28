// Regions of images, places in them, and determinants, where ONNX's own test data have no case, against plain loops.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/unit/graph/node_tests.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Whole numbers that occur more than once.
Floats repeated_numbers(int64_t count, int seed = 0) {
  std::mt19937 random(static_cast<uint32_t>(seed));
  Floats out;
  for (int64_t i = 0; i < count; ++i) out.push_back(static_cast<float>(static_cast<int>(random() % 21) - 10));
  return out;
}

TEST(MaxPoolIndices, AreTheFirstLargestPlaces) {
  const ModelFolder f;
  for (const int64_t storage_order : {0, 1})
    for (const int64_t dilation : {1, 2}) {
      const Floats x = repeated_numbers(2 * 3 * 7 * 6, 3);
      TestModel m;
      m.input("x", {2, 3, 7, 6}).node("MaxPool", {"x"}, {"y", "i"}).ints("kernel_shape", {3, 2});
      m.ints("strides", {2, 1}).ints("pads", {1, 0, 1, 1}).ints("dilations", {dilation, 1});
      m.number("storage_order", storage_order).output("y").output("i");
      const int64_t rows = (7 + 2 - 2 * dilation - 1) / 2 + 1, columns = 6 + 1 - 2 + 1;
      std::vector<double> largest, places;
      for (int64_t image = 0; image < 6; ++image)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < columns; ++c) {
            double most = -INFINITY, place = -1;
            for (int64_t a = 0; a < 3; ++a)
              for (int64_t b = 0; b < 2; ++b) {
                const int64_t y = r * 2 - 1 + a * dilation, z = c + b;
                if (y < 0 || y >= 7 || z >= 6 || x[static_cast<size_t>((image * 7 + y) * 6 + z)] <= most) continue;
                most = x[static_cast<size_t>((image * 7 + y) * 6 + z)];
                place = static_cast<double>(image * 42 + (storage_order ? y + z * 7 : y * 6 + z));
              }
            largest.push_back(most);
            places.push_back(place);
          }
      largest.insert(largest.end(), places.begin(), places.end());
      EXPECT_EQ(outputs_of(f.import(m), {tensor({2, 3, 7, 6}, x)}), largest) << storage_order << dilation;
    }
}

TEST(MaxUnpool, UndoesPoolingsWhoseWindowsOverlap) {
  const ModelFolder f;
  const Floats x = repeated_numbers(2 * 9 * 9, 4);
  TestModel m;
  m.input("x", {1, 2, 9, 9}).node("MaxPool", {"x"}, {"p", "i"}).ints("kernel_shape", {3, 3}).ints("strides", {2, 2});
  m.node("MaxUnpool", {"p", "i"}, {"y"}).ints("kernel_shape", {3, 3}).ints("strides", {2, 2});
  m.output("i").output("y");
  const ImportedModel model = f.import(m);
  ASSERT_EQ(model.graph.outputs[1].type.shape, (Extents{1, 2, 9, 9}));
  const std::vector<double> got = outputs_of(model, {tensor({1, 2, 9, 9}, x)});
  std::vector<double> wanted(2 * 81, 0);
  for (size_t i = 0; i < 2 * 16; ++i) wanted[static_cast<size_t>(got[i])] = x[static_cast<size_t>(got[i])];
  EXPECT_EQ(std::vector<double>(got.begin() + 32, got.end()), wanted);
}

// By transposition of the ordinary one: <conv(a), b> = <a, transposed(b)> for any a and b.
TEST(ConvTranspose, OfVolumesIsTheTransposedMap) {
  const ModelFolder f;
  for (const int64_t groups : {1, 2}) {
    const Floats w = repeated_numbers(4 * (4 / groups) * 3 * 2 * 2, 5);
    const auto model = [&](const char* op, const std::vector<TestDim>& input) {
      TestModel m;
      m.input("x", input).floats("w", {4, 4 / groups, 3, 2, 2}, w);
      m.node(op, {"x", "w"}, {"y"}).ints("strides", {2, 1, 3}).ints("pads", {1, 0, 1, 1, 1, 0}).number("group", groups);
      return f.import(m.ints("dilations", {1, 2, 1}).output("y"));
    };
    // 7 + 2 - 3 = 6 / 2; 5 + 1 - 3 = 3; 7 + 1 - 2 = 6 / 3: nothing is left over.
    const ImportedModel conv = model("Conv", {1, 4, 7, 5, 7}), transposed = model("ConvTranspose", {1, 4, 4, 4, 3});
    ASSERT_EQ(conv.graph.outputs[0].type.shape, (Extents{1, 4, 4, 4, 3}));
    ASSERT_EQ(transposed.graph.outputs[0].type.shape, (Extents{1, 4, 7, 5, 7}));
    for (int seed = 0; seed < 3; ++seed) {
      const Floats a = repeated_numbers(4 * 7 * 5 * 7, 10 + seed), b = repeated_numbers(4 * 4 * 4 * 3, 20 + seed);
      const std::vector<double> of_a = outputs_of(conv, {tensor({1, 4, 7, 5, 7}, a)}),
                                of_b = outputs_of(transposed, {tensor({1, 4, 4, 4, 3}, b)});
      double left = 0, right = 0;
      for (size_t i = 0; i < b.size(); ++i) left += of_a[i] * b[i];
      for (size_t i = 0; i < a.size(); ++i) right += of_b[i] * a[i];
      EXPECT_EQ(left, right) << groups;
      EXPECT_NE(left, 0);
    }
  }
}

TEST(Det, OfTriangularAndPermutedMatrices) {
  const ModelFolder f;
  for (const int64_t n : {1, 2, 3, 4, 5, 6}) {
    // Rows of a triangular matrix: its determinant is the diagonal's product. Two rows exchanged: negative.
    Floats lower(static_cast<size_t>(n * n)), exchanged;
    double wanted = 1;
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c <= r; ++c) lower[static_cast<size_t>(r * n + c)] = static_cast<float>(r + 2 * c + 1);
    for (int64_t r = 0; r < n; ++r) wanted *= static_cast<double>(3 * r + 1);
    exchanged = lower;
    if (n > 1) std::swap_ranges(exchanged.begin(), exchanged.begin() + n, exchanged.end() - n);
    Floats both = lower;
    both.insert(both.end(), exchanged.begin(), exchanged.end());
    TestModel m;
    m.input("x", {2, n, n}).node("Det", {"x"}, {"y"}).output("y");
    EXPECT_EQ(outputs_of(f.import(m), {tensor({2, n, n}, both)}),
              (std::vector<double>{wanted, n > 1 ? -wanted : wanted}));
  }
  TestModel m;
  m.input("x", {7, 7}).node("Det", {"x"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(m), HasSubstr("determinants of 7 x 7; 6 are supported"));
}

TEST(CenterCropPad, CutsTheMiddleOutOrPutsZerosAround) {
  const ModelFolder f;
  TestModel m(18);
  m.input("x", {5, 2, 3}).numbers("to", {2}, {2, 6});
  m.node("CenterCropPad", {"x", "to"}, {"y"}).ints("axes", {0, -1}).output("y");
  const Floats x = repeated_numbers(30, 1);
  std::vector<double> wanted;
  for (int64_t a = 0; a < 2; ++a)  // (5 - 2) / 2 = 1 is cut off in front
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t c = 0; c < 6; ++c)  // (6 - 3) / 2 = 1 stands in front
        wanted.push_back(c < 1 || c > 3 ? 0 : double{x[static_cast<size_t>(((a + 1) * 2 + b) * 3 + c - 1)]});
  EXPECT_EQ(outputs_of(f.import(m), {tensor({5, 2, 3}, x)}), wanted);
}

TEST(Col2Im, AddsBlocksWhereTheyWereTaken) {
  const ModelFolder f;
  // An image of 5 x 6, blocks of 2 x 3 with steps, dilations and pads: (5 + 1 - 2 - 1) / 1 + 1 rows.
  const int64_t rows = 5 + 1 - 2, columns = (6 + 2 - 3) / 2 + 1;
  const Floats x = repeated_numbers(2 * 6 * rows * columns, 2);
  TestModel m(18);
  m.input("x", {1, 12, rows * columns}).numbers("image", {2}, {5, 6}).numbers("block", {2}, {2, 3});
  m.node("Col2Im", {"x", "image", "block"}, {"y"}).ints("strides", {1, 2}).ints("dilations", {2, 1});
  m.ints("pads", {1, 1, 0, 1}).output("y");
  std::vector<double> wanted(2 * 30, 0);
  for (int64_t c = 0; c < 2; ++c)
    for (int64_t a = 0; a < 2; ++a)
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t k = 0; k < columns; ++k) {
            const int64_t y = r + a * 2 - 1, z = k * 2 + b - 1;
            if (y >= 0 && y < 5 && z >= 0 && z < 6)
              wanted[static_cast<size_t>((c * 5 + y) * 6 + z)] +=
                  x[static_cast<size_t>(((c * 2 + a) * 3 + b) * rows * columns + r * columns + k)];
          }
  EXPECT_EQ(outputs_of(f.import(m), {tensor({1, 12, rows * columns}, x)}), wanted);
}

TEST(AffineGrid, MapsThePlacesOfImagesAndVolumes) {
  const ModelFolder f;
  for (const bool is_aligned : {false, true})
    for (const Extents& image : {Extents{2, 3}, Extents{2, 1, 3}}) {
      const auto n = static_cast<int64_t>(image.size());
      const Floats theta = repeated_numbers(2 * n * (n + 1), 6);
      TestModel m(20);
      Extents size{2, 4};
      size.insert(size.end(), image.begin(), image.end());
      m.input("theta", {2, n, n + 1}).numbers("size", {n + 2}, size);
      m.node("AffineGrid", {"theta", "size"}, {"y"}).number("align_corners", is_aligned).output("y");
      std::vector<double> wanted;
      const int64_t places = 6;
      for (int64_t batch = 0; batch < 2; ++batch)
        for (int64_t p = 0; p < places; ++p) {
          std::vector<double> at;  // x first
          int64_t rest = p;
          for (int64_t d = n; d-- > 0;) {
            const int64_t e = image[static_cast<size_t>(d)];
            const auto i = static_cast<double>(rest % e);
            rest /= e;
            at.push_back(!is_aligned ? (2 * i + 1) / static_cast<double>(e) - 1
                         : e > 1     ? 2 * i / static_cast<double>(e - 1) - 1
                                     : -1);
          }
          at.push_back(1);
          for (int64_t row = 0; row < n; ++row) {
            double sum = 0;
            for (int64_t i = 0; i <= n; ++i)
              sum += at[static_cast<size_t>(i)] * theta[static_cast<size_t>((batch * n + row) * (n + 1) + i)];
            wanted.push_back(sum);
          }
        }
      EXPECT_THAT(outputs_of(f.import(m), {tensor({2, n, n + 1}, theta)}),
                  testing::Pointwise(testing::DoubleNear(1e-5), wanted))
          << is_aligned << n;
    }
}

// The largest of the four weighted elements, not their sum.
TEST(Regions, AlignedOnesMayBeMaxima) {
  const ModelFolder f;
  for (const auto& [mode, wanted] : {std::pair{"avg", 2.5}, {"max", 1.0}}) {
    TestModel m(16);
    m.input("x", {1, 1, 2, 2}).input("r", {1, 4}).input("i", {1}, kInt64);
    m.node("RoiAlign", {"x", "r", "i"}, {"y"}).number("sampling_ratio", 1).text("mode", mode).output("y");
    EXPECT_THAT(outputs_of(f.import(m), {tensor({1, 1, 2, 2}, {1, 2, 3, 4}), tensor({1, 4}, {0, 0, 2, 2}),
                                         TensorData::of_numbers({0})}),
                testing::ElementsAre(wanted))
        << mode;
  }
}

// The largest weighted element of ceil(bin) samples along each axis, one by one: samples outside count 0.
double adaptive_maximum(const Floats& x, int64_t h, int64_t w, const double* region, int64_t bins_h, int64_t bins_w,
                        int64_t bin_y, int64_t bin_x) {
  const double size_h = (region[3] - region[1]) / static_cast<double>(bins_h),
               size_w = (region[2] - region[0]) / static_cast<double>(bins_w);
  const auto rows = static_cast<int64_t>(std::ceil(size_h)), columns = static_cast<int64_t>(std::ceil(size_w));
  double most = -INFINITY;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      const auto place = [](double begin, double size, int64_t bin, int64_t i, int64_t n) {
        return begin - 0.5 +
               size * (static_cast<double>(bin) + (static_cast<double>(i) + 0.5) / static_cast<double>(n));
      };
      double y = place(region[1], size_h, bin_y, i, rows), z = place(region[0], size_w, bin_x, j, columns);
      if (y < -1 || y > static_cast<double>(h) || z < -1 || z > static_cast<double>(w)) {
        most = std::max(most, 0.0);
        continue;
      }
      y = std::clamp(y, 0.0, static_cast<double>(h - 1)), z = std::clamp(z, 0.0, static_cast<double>(w - 1));
      const auto y0 = static_cast<int64_t>(y), z0 = static_cast<int64_t>(z);
      for (const int64_t a : {int64_t{0}, int64_t{1}})
        for (const int64_t b : {int64_t{0}, int64_t{1}}) {
          const double weight = (a ? y - static_cast<double>(y0) : 1 - y + static_cast<double>(y0)) *
                                (b ? z - static_cast<double>(z0) : 1 - z + static_cast<double>(z0));
          most = std::max(
              most, weight * double{x[static_cast<size_t>(std::min(y0 + a, h - 1) * w + std::min(z0 + b, w - 1))]});
        }
    }
  return rows * columns > 0 ? most : 0;
}

TEST(Regions, MaximaMayHaveAsManySamplesAsARegionIsLarge) {
  const ModelFolder f;
  const int64_t h = 7, w = 9, bins_h = 2, bins_w = 3;
  for (const float moved : {0.0F, -2.0F, 2.0F}) {
    Floats x = repeated_numbers(h * w, 3);
    for (float& v : x) v += moved;  // of both signs, of one
    // Inside; beyond each edge; of no size; at whole places; far outside.
    const Floats regions{1.3F, 0.8F, 7.9F, 6.1F, -3.2F, -1.7F, 12.4F, 9.9F, 3,  3,
                         3,    3,    1.5F, 1.5F, 4.5F,  3.5F,  20,    20,   24, 25};
    TestModel m(16);
    m.input("x", {1, 1, h, w}).input("r", {5, 4}).input("i", {5}, kInt64);
    m.node("RoiAlign", {"x", "r", "i"}, {"y"}).text("mode", "max").number("output_height", bins_h);
    m.number("output_width", bins_w).output("y");
    std::vector<double> wanted;
    for (size_t r = 0; r < 5; ++r) {
      const std::vector<double> region(regions.begin() + 4 * static_cast<std::ptrdiff_t>(r),
                                       regions.begin() + 4 * static_cast<std::ptrdiff_t>(r) + 4);
      for (int64_t b = 0; b < bins_h * bins_w; ++b)
        wanted.push_back(adaptive_maximum(x, h, w, region.data(), bins_h, bins_w, b / bins_w, b % bins_w));
    }
    EXPECT_THAT(outputs_of(f.import(m),
                           {tensor({1, 1, h, w}, x), tensor({5, 4}, regions), TensorData::of_numbers({0, 0, 0, 0, 0})}),
                testing::Pointwise(testing::DoubleNear(2e-5), wanted))
        << moved;
  }
}

TEST(Regions, SayWhatIsNotSupported) {
  const ModelFolder f;
  TestModel roi(16);
  roi.input("x", {1, 2, 8, 8}).input("r", {3, 4}).input("i", {3}, kInt64);
  roi.node("RoiAlign", {"x", "r", "i"}, {"y"}).number("output_height", 2).text("mode", "max").output("y");
  roi.number("sampling_ratio", 65);
  EXPECT_THAT(f.refusal(roi), HasSubstr("sampling_ratio=65; 0 to 64 are supported"));
  TestModel grams;
  grams.input("x", {4}, kInt64).node("TfIdfVectorizer", {"x"}, {"y"}).text("mode", "TF").ints("pool_int64s", {1, 2});
  grams.ints("ngram_counts", {0, 9}).ints("ngram_indexes", {0, 1}).number("max_gram_length", 2).output("y");
  EXPECT_THAT(f.refusal(grams), HasSubstr("ngram_counts [0, 9] of 2 numbers"));
  TestModel shared;
  shared.input("x", {4}, kInt64).node("TfIdfVectorizer", {"x"}, {"y"}).text("mode", "TF").ints("pool_int64s", {1, 2});
  shared.ints("ngram_counts", {0}).ints("ngram_indexes", {0, 0}).number("max_gram_length", 1).output("y");
  EXPECT_THAT(f.refusal(shared), HasSubstr("two grams have the index 0"));
  shared.graph()->mutable_node(0)->mutable_attribute(3)->set_ints(1, kHuge);
  EXPECT_THAT(f.refusal(shared), HasSubstr("ngram_indexes from 0 to 9223372036854775807"));
  TestModel crop(18);
  crop.input("x", {2}).numbers("to", {1}, {kHuge}).node("CenterCropPad", {"x", "to"}, {"y"}).output("y");
  EXPECT_THAT(f.refusal(crop), HasSubstr("shape [9223372036854775807]"));
}

// No element is larger than the border around the image: the places are elements' all the same.
TEST(Regions, PlacesOfLeastElementsAreInTheImage) {
  const ModelFolder f;
  TestModel m(12);
  m.input("x", {1, 1, 2, 2}, 2).node("MaxPool", {"x"}, {"y", "places"}).ints("kernel_shape", {3, 3});
  m.ints("pads", {1, 1, 1, 1}).output("places");
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({u8, {1, 1, 2, 2}}, std::string(4, '\0'))}),
              testing::ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(outputs_of(f.import(m), {TensorData({u8, {1, 1, 2, 2}}, std::string("\0\0\0\5", 4))}),
              testing::ElementsAre(3, 3, 3, 3));
}

TEST(Regions, UnpoolingPutsElementsWhereTheIndicesSay) {
  const ModelFolder f;
  TestModel m(11);
  m.input("x", {1, 1, 1, 3}).input("i", {1, 1, 1, 3}, kInt64).node("MaxUnpool", {"x", "i"}, {"y"});
  m.ints("kernel_shape", {1, 2}).ints("strides", {1, 2}).output("y");
  const ImportedModel made = f.import(m);
  const auto run = [&](const std::vector<int64_t>& places) {
    return outputs_of(made, {TensorData({f32, {1, 1, 1, 3}}, floats_of({1, 2, 3})),
                             TensorData::of_numbers(places).reshaped({1, 1, 1, 3})});
  };
  EXPECT_THAT(run({5, 0, 2}), testing::ElementsAre(2, 0, 3, 0, 0, 1));
  EXPECT_THROW(run({6, 0, 2}), UserError);
}

}  // namespace
}  // namespace hone
