// Boxes of what was detected, and poolings that tell positions, against loops.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tests/unit/tflite/tflite_models.h"

namespace hone::tflite {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

struct Detector {
  int most = 4, classes_of_box = 1, boxes_of_class = 100, classes = 3;
  bool is_by_class = false, has_background = true;
  float score = 0.2f, overlap = 0.5f;
};

constexpr int32_t kBoxes = 24;
const std::vector<float> kScales = {10, 10, 5, 5};  // y, x, h, w

std::vector<uint8_t> options_of(const Detector& d) {
  flexbuffers::Builder b;
  b.Map([&] {
    b.Int("max_detections", d.most);
    b.Int("max_classes_per_detection", d.classes_of_box);
    b.Int("detections_per_class", d.boxes_of_class);
    b.Int("num_classes", d.classes);
    b.Bool("use_regular_nms", d.is_by_class);
    b.Float("nms_score_threshold", d.score);
    b.Float("nms_iou_threshold", d.overlap);
    b.Float("y_scale", kScales[0]);
    b.Float("x_scale", kScales[1]);
    b.Float("h_scale", kScales[2]);
    b.Float("w_scale", kScales[3]);
  });
  b.Finish();
  return b.GetBuffer();
}

struct Detected {
  std::vector<std::array<double, 4>> boxes;
  std::vector<double> classes, scores;
  int count = 0;
};

double common_part(const std::array<double, 4>& a, const std::array<double, 4>& b) {
  const double height = std::min(a[2], b[2]) - std::max(a[0], b[0]),
               width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (height <= 0 || width <= 0) return 0;
  const auto area = [](const std::array<double, 4>& x) { return (x[2] - x[0]) * (x[3] - x[1]); };
  return height * width / (area(a) + area(b) - height * width);
}

// The best of boxes with these scores that no better one covers.
std::vector<size_t> taken(const std::vector<std::array<double, 4>>& boxes, const std::vector<double>& scores,
                          const Detector& d, int most) {
  std::vector<size_t> order(boxes.size()), out;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  for (const size_t i : order) {
    if (scores[i] < static_cast<double>(d.score) || static_cast<int>(out.size()) == most) continue;
    const bool is_free = std::none_of(out.begin(), out.end(), [&](size_t o) {
      return common_part(boxes[i], boxes[o]) > static_cast<double>(d.overlap);
    });
    if (is_free) out.push_back(i);
  }
  return out;
}

Detected wanted_of(const Detector& d, const Floats& t, const Floats& scores, const Floats& anchors) {
  std::vector<std::array<double, 4>> boxes;
  for (size_t n = 0; n < kBoxes; ++n) {
    const auto of = [&](const Floats& v, size_t i) { return static_cast<double>(v[4 * n + i]); };
    std::array<double, 4> box{};
    for (size_t i = 0; i < 2; ++i) {
      const double center = of(t, i) / static_cast<double>(kScales[i]) * of(anchors, 2 + i) + of(anchors, i);
      const double half = std::exp(of(t, 2 + i) / static_cast<double>(kScales[2 + i])) * of(anchors, 2 + i) / 2;
      box[i] = center - half, box[2 + i] = center + half;
    }
    boxes.push_back(box);
  }
  const int columns = d.classes + (d.has_background ? 1 : 0);
  const auto score = [&](size_t box, int c) {
    return static_cast<double>(
        scores[box * static_cast<size_t>(columns) + static_cast<size_t>(c + columns - d.classes)]);
  };
  Detected out;
  const auto add = [&](size_t box, int c) {
    out.boxes.push_back(boxes[box]);
    out.classes.push_back(c);
    out.scores.push_back(score(box, c));
  };
  const auto order_of_classes = [&](size_t box) {
    std::vector<int> order(static_cast<size_t>(d.classes));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return score(box, a) > score(box, b); });
    return order;
  };
  if (!d.is_by_class) {
    std::vector<double> best;
    for (size_t n = 0; n < kBoxes; ++n) best.push_back(score(n, order_of_classes(n)[0]));
    for (const size_t box : taken(boxes, best, d, d.most)) {
      for (int k = 0; k < d.classes_of_box; ++k) add(box, order_of_classes(box)[static_cast<size_t>(k)]);
      ++out.count;
    }
  } else {
    std::vector<std::pair<size_t, int>> all;
    for (int c = 0; c < d.classes; ++c) {
      std::vector<double> own;
      for (size_t n = 0; n < kBoxes; ++n) own.push_back(score(n, c));
      for (const size_t box : taken(boxes, own, d, d.boxes_of_class)) all.emplace_back(box, c);
    }
    std::stable_sort(all.begin(), all.end(),
                     [&](const auto& a, const auto& b) { return score(a.first, a.second) > score(b.first, b.second); });
    all.resize(std::min(all.size(), static_cast<size_t>(d.most)));
    for (const auto& [box, c] : all) add(box, c);
    out.count = static_cast<int>(all.size());
  }
  const auto room = static_cast<size_t>(d.most * d.classes_of_box);
  out.boxes.resize(room);
  out.classes.resize(room);
  out.scores.resize(room);
  return out;
}

// Boxes around a few places, so that many overlap; their scores differ.
struct Numbers {
  Floats boxes, scores, anchors;
  explicit Numbers(const Detector& d) {
    const int columns = d.classes + (d.has_background ? 1 : 0);
    for (int n = 0; n < kBoxes; ++n) {
      const auto cell = static_cast<float>(n % 5);
      anchors.insert(anchors.end(), {0.1f + 0.2f * cell, 0.5f, 0.25f, 0.3f});
      for (int i = 0; i < 4; ++i) boxes.push_back(static_cast<float>((n * 37 + i * 11) % 41 - 20) / 20);
      for (int c = 0; c < columns; ++c) scores.push_back(static_cast<float>((n * columns + c) * 59 % 101) / 101);
    }
  }
};

void expect_detections(const Detector& d) {
  const Numbers n(d);
  const int32_t columns = d.classes + (d.has_background ? 1 : 0);
  TfliteModel m;
  m.input("boxes", {1, kBoxes, 4}).input("scores", {1, kBoxes, columns}).floats("anchors", {kBoxes, 4}, n.anchors);
  m.custom("TFLite_Detection_PostProcess", {"boxes", "scores", "anchors"}, {"b", "c", "s", "n"}, options_of(d));
  m.output("b").output("c").output("s").output("n");
  const std::vector<TensorData> got =
      tensors_of(m, {tensor({1, kBoxes, 4}, n.boxes), tensor({1, kBoxes, columns}, n.scores)});
  const Detected wanted = wanted_of(d, n.boxes, n.scores, n.anchors);
  const int64_t room = d.most * d.classes_of_box;
  EXPECT_EQ(got[0].type().shape, (Extents{1, room, 4}));
  EXPECT_EQ(got[1].type().shape, (Extents{1, room}));
  std::vector<double> corners;
  for (const auto& box : wanted.boxes) corners.insert(corners.end(), box.begin(), box.end());
  EXPECT_THAT(got[0].values(), Near(corners));
  EXPECT_THAT(got[1].values(), ElementsAreArray(wanted.classes));
  EXPECT_THAT(got[2].values(), Near(wanted.scores));
  EXPECT_THAT(got[3].values(), ElementsAre(wanted.count));
}

TEST(TfliteDetection, EachBoxCountsOnce) {
  expect_detections({});
  expect_detections({.classes_of_box = 2});
  expect_detections({.most = 40, .overlap = 0.3f});  // fewer are found
  expect_detections({.classes = 1, .has_background = false, .score = 0.9f});
}

TEST(TfliteDetection, EachClassHasBoxesOfItsOwn) {
  expect_detections({.is_by_class = true});
  expect_detections({.most = 12, .boxes_of_class = 2, .is_by_class = true, .has_background = false});
  expect_detections({.most = 100, .is_by_class = true, .score = 0.6f, .overlap = 0.3f});
  expect_detections({.most = 5, .classes_of_box = 3, .is_by_class = true});
}

TEST(TfliteDetection, AScoreOfTheThresholdIsEnough) {
  TfliteModel m;
  const Detector d{.most = 3, .classes = 1, .has_background = false, .score = 0.5f};
  m.input("boxes", {1, 2, 4}).input("scores", {1, 2, 1}).floats("anchors", {2, 4}, {0, 0, 1, 1, 5, 5, 1, 1});
  m.custom("TFLite_Detection_PostProcess", {"boxes", "scores", "anchors"}, {"b", "c", "s", "n"}, options_of(d));
  m.output("s").output("n");
  EXPECT_THAT(outputs_of(m, {tensor({1, 2, 4}, Floats(8)), tensor({1, 2, 1}, {0.5f, 0.4999f})}),
              ElementsAre(0.5, 0, 0, 1));
}

TEST(TfliteDetection, WrongOptionsAreRefused) {
  const auto refusal = [](const std::vector<uint8_t>& options, int32_t columns) {
    TfliteModel m;
    m.input("boxes", {1, kBoxes, 4}).input("scores", {1, kBoxes, columns}).input("anchors", {kBoxes, 4});
    m.custom("TFLite_Detection_PostProcess", {"boxes", "scores", "anchors"}, {"b", "c", "s", "n"}, options);
    return TfliteFolder().refusal(m.output("b").output("n"));
  };
  EXPECT_EQ(refusal(options_of({}), 4), "accepted");
  EXPECT_THAT(refusal(options_of({}), 5), HasSubstr("scores f32[1, 24, 5] of 3 classes"));
  EXPECT_THAT(refusal({}, 4), HasSubstr("its options have 0 bytes"));
  EXPECT_THAT(refusal({1, 2, 3, 4}, 4), HasSubstr("its options are no flexbuffer"));
  EXPECT_THAT(refusal(options_of({.overlap = 0}), 4), HasSubstr("nms_iou_threshold=0"));
  EXPECT_THAT(refusal(options_of({.most = 0}), 4), HasSubstr("max_detections=0"));
  flexbuffers::Builder number;
  number.Int(7);
  number.Finish();
  EXPECT_THAT(refusal(number.GetBuffer(), 4), HasSubstr("its options are no map"));
  flexbuffers::Builder empty;
  empty.Map([] {});
  empty.Finish();
  EXPECT_THAT(refusal(empty.GetBuffer(), 4), HasSubstr("its options have no number max_detections"));
  std::vector<uint8_t> bytes = options_of({});
  for (size_t i = 0; i < bytes.size(); ++i)
    for (const int with : {0, 1, 0x7f, 0xff}) {
      std::vector<uint8_t> changed = bytes;
      changed[i] = static_cast<uint8_t>(with);
      refusal(changed, 4);  // no other exception
    }
}

// Boxes 0 and 1 overlap by 2/3, 2 lies elsewhere, 3 is 2 with other corners, 4 has a low score.
const Floats kFive = {0, 0, 1, 1, 0, 0.2f, 1, 1.2f, 5, 5, 6, 6, 6, 6, 5, 5, 8, 8, 9, 9};

TEST(TfliteSuppression, GivesPositions) {
  const auto taken_of = [](int32_t most, float overlap) {
    TfliteModel m;
    m.input("boxes", {5, 4}).input("scores", {5}).number("most", most);
    m.floats("overlap", {}, {overlap}).floats("score", {}, {0.1f});
    m.tensor("at", {most}, kTfInt).tensor("n", {}, kTfInt);
    m.op(120, {"boxes", "scores", "most", "overlap", "score"}, {"at", "n"}).output("at").output("n");
    return outputs_of(m, {tensor({5, 4}, kFive), tensor({5}, {0.5f, 0.6f, 0.9f, 0.8f, 0.1f})});
  };
  EXPECT_THAT(taken_of(4, 0.5f), ElementsAre(2, 1, 0, 0, 2));
  EXPECT_THAT(taken_of(4, 0.7f), ElementsAre(2, 1, 0, 0, 3));
  EXPECT_THAT(taken_of(7, 1), ElementsAre(2, 1, 0, 0, 0, 0, 0, 3));  // of equal ones the common part is all
  EXPECT_THAT(taken_of(1, 0.5f), ElementsAre(2, 1));
}

TEST(TfliteSuppression, GivesScoresToo) {
  TfliteModel m;
  m.input("boxes", {5, 4}).input("scores", {5}).number("most", 3).floats("overlap", {}, {0.5f}).floats("none", {}, {0});
  m.tensor("at", {3}, kTfInt).tensor("n", {}, kTfInt);
  m.op(121, {"boxes", "scores", "most", "overlap", "none", "none"}, {"at", "s", "n"});
  m.output("at").output("s").output("n");
  EXPECT_THAT(outputs_of(m, {tensor({5, 4}, kFive), tensor({5}, {0.5f, 0.625f, 0.875f, 0.75f, 0.25f})}),
              ElementsAre(2, 1, 4, 0.875, 0.625, 0.25, 3));
}

// Box 0 has 2/3 in common with the better box 1, and sinks by exp(-4/9).
TEST(TfliteSuppression, LowersScores) {
  const auto taken_of = [](float sigma) {
    TfliteModel m;
    m.input("boxes", {5, 4}).input("scores", {5}).number("most", 7).floats("overlap", {}, {0.7f});
    m.floats("score", {}, {0.2f}).floats("sigma", {}, {sigma}).tensor("at", {7}, kTfInt).tensor("n", {}, kTfInt);
    m.op(121, {"boxes", "scores", "most", "overlap", "score", "sigma"}, {"at", "s", "n"});
    m.output("at").output("s").output("n");
    return outputs_of(m, {tensor({5, 4}, kFive), tensor({5}, {0.5f, 0.625f, 0.875f, 0.75f, 0.1f})});
  };
  const double part = 0.8 / 1.2, lowered = 0.5 * std::exp(-0.5 / 0.5 * part * part);
  EXPECT_THAT(taken_of(0.5f), Near(std::vector<double>{2, 1, 0, 0, 0, 0, 0, 0.875, 0.625, lowered, 0, 0, 0, 0, 3}));
  EXPECT_THAT(taken_of(0.01f), Near(std::vector<double>{2, 1, 0, 0, 0, 0, 0, 0.875, 0.625, 0, 0, 0, 0, 0, 2}));
}

std::vector<uint8_t> pool_params(const std::vector<int32_t>& numbers) {
  const std::string bytes = bytes_of_numbers(numbers);
  return {bytes.begin(), bytes.end()};
}

struct Pooling {
  int padding, stride_h, stride_w, filter_h, filter_w;
  std::vector<uint8_t> params() const {
    return pool_params({padding, stride_w, stride_h, filter_w, filter_h, 0, 0, 0, 0, 0});
  }
  // Elements of the border in front of an axis of `in` elements with `out` windows.
  static int before(int in, int out, int stride, int filter) {
    return std::max(0, (out - 1) * stride + filter - in) / 2;
  }
};

constexpr int kHeight = 7, kWidth = 6, kChannels = 3, kImages = 2;

// Each window's largest element and which of the window it is, the first of several.
TEST(TflitePoolPositions, AreThoseOfTheLargestElements) {
  for (const Pooling& p : {Pooling{1, 2, 2, 2, 2}, {2, 1, 2, 3, 2}, {1, 2, 3, 3, 4}}) {
    const auto windows = [&](int in, int stride, int filter) {
      return p.padding == 1 ? (in + stride - 1) / stride : (in - filter) / stride + 1;
    };
    const int h = windows(kHeight, p.stride_h, p.filter_h), w = windows(kWidth, p.stride_w, p.filter_w);
    const int top = p.padding == 1 ? Pooling::before(kHeight, h, p.stride_h, p.filter_h) : 0,
              left = p.padding == 1 ? Pooling::before(kWidth, w, p.stride_w, p.filter_w) : 0;
    const Floats x = some_numbers(kImages * kHeight * kWidth * kChannels, 5);
    std::vector<double> largest, positions;
    for (int n = 0; n < kImages; ++n)
      for (int y = 0; y < h; ++y)
        for (int v = 0; v < w; ++v)
          for (int c = 0; c < kChannels; ++c) {
            double best = -1e9;
            int at = 0;
            for (int i = 0; i < p.filter_h; ++i)
              for (int j = 0; j < p.filter_w; ++j) {
                const int row = y * p.stride_h - top + i, column = v * p.stride_w - left + j;
                if (row < 0 || row >= kHeight || column < 0 || column >= kWidth) continue;
                const auto e = static_cast<double>(
                    x[static_cast<size_t>(((n * kHeight + row) * kWidth + column) * kChannels + c)]);
                if (e > best) best = e, at = i * p.filter_w + j;
              }
            largest.push_back(best);
            positions.push_back(at + 0.1);
          }
    TfliteModel m;
    m.input("x", {kImages, kHeight, kWidth, kChannels});
    m.custom("MaxPoolingWithArgmax2D", {"x"}, {"y", "at"}, p.params()).output("y").output("at");
    const std::vector<TensorData> got = tensors_of(m, {tensor({kImages, kHeight, kWidth, kChannels}, x)});
    EXPECT_EQ(got[0].type().shape, (Extents{kImages, h, w, kChannels}));
    EXPECT_THAT(got[0].values(), ElementsAreArray(largest));
    EXPECT_THAT(got[1].values(), Near(positions));
  }
}

TEST(TflitePoolPositions, ElementsGoBackToThem) {
  for (const Pooling& p : {Pooling{1, 2, 2, 2, 2}, {1, 1, 2, 3, 2}, {2, 2, 3, 2, 3}}) {
    const int h = kHeight * p.filter_h, w = kWidth * p.filter_w;
    const int top = Pooling::before(h, kHeight, p.stride_h, p.filter_h),
              left = Pooling::before(w, kWidth, p.stride_w, p.filter_w);
    const int count = kImages * kHeight * kWidth * kChannels;
    const Floats x = some_numbers(count, 5);
    Floats at;
    for (int i = 0; i < count; ++i) at.push_back(static_cast<float>(i * 7 % (p.filter_h * p.filter_w)) + 0.1f);
    at[3] = 100.1f;  // lies outside
    std::vector<double> wanted(static_cast<size_t>(kImages * h * w * kChannels));
    for (int n = 0; n < kImages; ++n)
      for (int y = 0; y < kHeight; ++y)
        for (int v = 0; v < kWidth; ++v)
          for (int c = 0; c < kChannels; ++c) {
            const auto e = static_cast<size_t>(((n * kHeight + y) * kWidth + v) * kChannels + c);
            const int tap = static_cast<int>(at[e]), row = y * p.stride_h - top + tap / p.filter_w,
                      column = v * p.stride_w - left + tap % p.filter_w;
            if (row < 0 || row >= h || column < 0 || column >= w) continue;
            wanted[static_cast<size_t>(((n * h + row) * w + column) * kChannels + c)] = static_cast<double>(x[e]);
          }
    TfliteModel m;
    m.input("x", {kImages, kHeight, kWidth, kChannels}).input("at", {kImages, kHeight, kWidth, kChannels});
    m.custom("MaxUnpooling2D", {"x", "at"}, {"y"}, p.params()).output("y");
    const Extents shape{kImages, kHeight, kWidth, kChannels};
    const TensorData got = tensors_of(m, {tensor(shape, x), tensor(shape, at)}).at(0);
    EXPECT_EQ(got.type().shape, (Extents{kImages, h, w, kChannels}));
    EXPECT_THAT(got.values(), ElementsAreArray(wanted));
  }
}

TEST(TflitePoolPositions, WrongOptionsAreRefused) {
  const auto refusal = [](const std::vector<int32_t>& numbers) {
    TfliteModel m;
    m.input("x", {1, 4, 4, 1});
    m.custom("MaxPoolingWithArgmax2D", {"x"}, {"y", "at"}, pool_params(numbers)).output("y");
    return TfliteFolder().refusal(m);
  };
  EXPECT_EQ(refusal({1, 2, 2, 2, 2, 0}), "accepted");
  EXPECT_THAT(refusal({1, 2, 2, 2, 2}), HasSubstr("its options have 20 bytes; there must be 24 at least"));
  EXPECT_THAT(refusal({0, 2, 2, 2, 2, 0}), HasSubstr("a padding of kind 0"));
  EXPECT_THAT(refusal({1, 2, 2, 2, 2, 6}), HasSubstr("the fused activation 6 is not supported"));
  EXPECT_THAT(refusal({1, 0, 2, 2, 2, 0}), HasSubstr("a kernel, stride or dilation of 0"));
  EXPECT_THAT(refusal({2, 2, 2, 5, 5, 0}), HasSubstr("a window of 5 elements along an axis of 4"));
}

}  // namespace
}  // namespace hone::tflite
