// Boxes of what was detected: those that overlap better ones are left out.
#include <flatbuffers/flexbuffers.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "compiler/frontend/lowering/operators/suppression.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/frontend/tflite/operators/soft_suppression.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

constexpr int64_t kMostDetections = 1 << 20;

// The float before `v`: x is larger than it exactly where x >= v.
float just_below(float v) { return std::nextafter(v, -std::numeric_limits<float>::infinity()); }

// Options of TFLite_Detection_PostProcess: a map of flexbuffers, with the names that
// tensorflow/lite/kernels/detection_postprocess.cc reads.
struct DetectionOptions {
  int64_t most = 0, classes_of_box = 0, boxes_of_class = 100, classes = 0;
  bool is_by_class = false;
  float score = 0, overlap = 0;
  float scale_y = 1, scale_x = 1, scale_h = 1, scale_w = 1;
};

class OptionsMap {
 public:
  // flexbuffers reads numbers of up to 8 bytes where they lie.
  explicit OptionsMap(const flatbuffers::Vector<uint8_t>* options) {
    constexpr size_t kMostBytes = 1 << 16;
    HONE_USER_CHECK(options && options->size() > 0 && options->size() <= kMostBytes)
        << "its options have " << (options ? options->size() : 0) << " bytes; 1 to " << kMostBytes << " are supported";
    size_ = options->size();
    words_.resize((size_ + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(words_.data(), options->data(), size_);
    std::vector<uint8_t> seen;  // vectors that others share are looked at once
    HONE_USER_CHECK(flexbuffers::VerifyBuffer(bytes(), size_, &seen)) << "its options are no flexbuffer";
    HONE_USER_CHECK(root().IsMap()) << "its options are no map";
  }
  bool has(const char* name) const { return !value(name).IsNull(); }
  int64_t count(const char* name, int64_t least) const {
    const flexbuffers::Reference v = value(name);
    HONE_USER_CHECK(v.IsNumeric()) << "its options have no number " << name;
    const int64_t n = v.AsInt64();
    HONE_USER_CHECK(n >= least && n <= kMostDetections) << name << "=" << n;
    return n;
  }
  float real(const char* name) const {
    const flexbuffers::Reference v = value(name);
    HONE_USER_CHECK(v.IsNumeric() && std::isfinite(v.AsFloat())) << "its options have no number " << name;
    return v.AsFloat();
  }
  bool is_set(const char* name) const { return has(name) && value(name).AsBool(); }

 private:
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(words_.data()); }
  flexbuffers::Reference root() const { return flexbuffers::GetRoot(bytes(), size_); }
  flexbuffers::Reference value(const char* name) const { return root().AsMap()[name]; }

  size_t size_ = 0;
  std::vector<uint64_t> words_;
};

DetectionOptions detection_options(const NodeContext& c) {
  const OptionsMap m(c.node.custom_options());
  DetectionOptions o;
  o.most = m.count("max_detections", 1);
  o.classes_of_box = m.count("max_classes_per_detection", 1);
  o.classes = m.count("num_classes", 1);
  if (m.has("detections_per_class")) o.boxes_of_class = m.count("detections_per_class", 1);
  o.is_by_class = m.is_set("use_regular_nms");
  o.score = m.real("nms_score_threshold");
  o.overlap = m.real("nms_iou_threshold");
  HONE_USER_CHECK(o.overlap > 0 && o.overlap <= 1) << "nms_iou_threshold=" << o.overlap;
  for (const auto& [name, scale] :
       {std::pair("y_scale", &o.scale_y), {"x_scale", &o.scale_x}, {"h_scale", &o.scale_h}, {"w_scale", &o.scale_w}}) {
    *scale = m.real(name);
    HONE_USER_CHECK(*scale > 0) << name << "=" << *scale;
  }
  return o;
}

Operand columns(Lowering& l, const Operand& x, int64_t first, int64_t count) {
  return l.slice(x, {0, first}, {1, 1}, {x.type.shape[0], count});
}

// Boxes [n, 4 at least] relative to anchors [n, 4], both a center and a size, y before x: two corners, [n, 4].
Operand decoded_boxes(Lowering& l, const Operand& boxes, const Operand& anchors, const DetectionOptions& o) {
  const auto pair = [&](float y, float x) {
    const std::vector<float> numbers{y, x};
    return l.constant(
        TensorData({f32, {1, 2}}, std::string(reinterpret_cast<const char*>(numbers.data()), 2 * sizeof(float))));
  };
  const Operand size = columns(l, anchors, 2, 2);
  const Operand moved =
      l.pointwise("mul", {l.pointwise("div", {columns(l, boxes, 0, 2), pair(o.scale_y, o.scale_x)}), size});
  const Operand center = l.pointwise("add", {moved, columns(l, anchors, 0, 2)});
  const Operand growth =
      l.pointwise("exp", {l.pointwise("div", {columns(l, boxes, 2, 2), pair(o.scale_h, o.scale_w)})});
  const Operand half = l.pointwise("mul", {l.pointwise("mul", {growth, size}), l.number(0.5, f32)});
  return l.concat({l.pointwise("sub", {center, half}), l.pointwise("add", {center, half})}, 1);
}

// x [n, ..] with zeros in place of rows behind the first `count`, and of what is missing up to `to`.
Operand padded_rows(Lowering& l, const Operand& x, ValueId count, const Extents& to) {
  const Operand there = is_there(l, 0, count, x.type.shape[0], x.rank());
  const Operand kept = l.pointwise("where", {x, there, l.number(0, x.type.dtype)});
  Extents after;
  for (size_t d = 0; d < to.size(); ++d) after.push_back(to[d] - x.type.shape[d]);
  if (after == Extents(to.size(), 0)) return kept;
  return l.add("pad",
               {{"before", join(Extents(to.size(), 0))}, {"after", join(after)}, {"mode", "constant"}, {"value", "0"}},
               {l.value(kept)});
}

Operand rows_at(Lowering& l, const Operand& x, const Operand& positions) {
  Extents shape = x.type.shape;
  shape[0] = positions.type.shape[0];
  return l.add("gather", {{"axis", "0"}}, {l.value(x), l.value(positions)}, shape);
}

// The `k` largest along the last axis: values and positions.
std::pair<Operand, Operand> largest(Lowering& l, const Operand& x, int64_t k) {
  const std::string axis = std::to_string(x.rank() - 1);
  Extents shape = x.type.shape;
  shape.back() = k;
  const Operand positions =
      l.add("top_k", {{"axis", axis}, {"k", std::to_string(k)}, {"largest", "1"}}, {l.value(x)}, shape);
  return {l.add("gather_elements", {{"axis", axis}}, {l.value(x), l.value(positions)}, shape), positions};
}

TakenBoxes best_boxes(Lowering& l, const Operand& boxes, const Operand& scores, int64_t most, float overlap,
                      float score) {
  const int64_t n = boxes.type.shape[0];
  const auto number = [&](float v) { return l.as(l.number(static_cast<double>(v), f32), {1}); };
  return taken_boxes(
      l, l.reshape(boxes, {1, n, 4}), l.reshape(scores, {1, element_count(scores.type.shape) / n, n}),
      {l.value(l.numbers({n})), l.value(l.numbers({most})), most, false, number(overlap), number(score)});
}

// The values of a node's outputs: boxes [1, n, 4], their classes and scores [1, n], and how many there are.
struct Detections {
  Operand boxes, classes, scores;  ///< [n, classes of a box, 4], and two of [n, classes of a box]
  ValueId count;
};

// Each box counts once, with its best class, and tells its best classes.
Detections detections_of_boxes(Lowering& l, const Operand& boxes, const Operand& scores, const DetectionOptions& o) {
  const int64_t n = boxes.type.shape[0], classes = std::min(o.classes_of_box, o.classes);
  const TakenBoxes taken =
      best_boxes(l, boxes, l.reduce("max", scores, {1}, false), std::min(o.most, n), o.overlap, just_below(o.score));
  const Operand at = l.reshape(columns(l, taken.rows, 2, 1), {taken.rows.type.shape[0]});
  const auto [best, positions] = largest(l, rows_at(l, scores, at), classes);
  const Operand corners = rows_at(l, boxes, at);
  const int64_t rows = at.type.shape[0];
  return {padded_rows(l, l.broadcast(l.reshape(corners, {rows, 1, 4}), {rows, classes, 4}), taken.count,
                      {o.most, o.classes_of_box, 4}),
          padded_rows(l, l.cast(positions, f32), taken.count, {o.most, o.classes_of_box}),
          padded_rows(l, best, taken.count, {o.most, o.classes_of_box}), taken.count};
}

// Each class has boxes of its own; of all together the best ones are left.
Detections detections_of_classes(Lowering& l, const Operand& boxes, const Operand& scores, const DetectionOptions& o) {
  const int64_t n = boxes.type.shape[0];
  const Operand by_class = l.transpose(scores, {1, 0});
  const TakenBoxes taken =
      best_boxes(l, boxes, by_class, std::min(o.boxes_of_class, n), o.overlap, just_below(o.score));
  const int64_t rows = taken.rows.type.shape[0], kept = std::min(o.most, rows);
  const auto column = [&](int64_t which) { return l.reshape(columns(l, taken.rows, which, 1), {rows}); };
  const Operand flat =
      l.pointwise("add", {l.pointwise("mul", {column(1), l.number(static_cast<double>(n), i64)}), column(2)});
  const Operand own = l.pointwise(
      "where", {rows_at(l, l.reshape(by_class, {o.classes * n}), flat), is_there(l, 0, taken.count, rows, 1),
                l.number(-std::numeric_limits<double>::infinity(), f32)});
  const auto [best, order] = largest(l, own, kept);
  const Operand count =
      l.pointwise("minimum", {Operand{taken.count, {i64, {1}}}, l.number(static_cast<double>(kept), i64)});
  const ValueId there = l.value(count);
  const Operand corners = rows_at(l, boxes, rows_at(l, column(2), order));
  const Extents each{kept, 1}, all{o.most, o.classes_of_box};
  // TensorFlow Lite fills the first boxes, whatever number of classes each has room for.
  const auto packed = [&](const Operand& x, Extents row) {
    Extents to{o.most * o.classes_of_box}, shape = all;
    to.insert(to.end(), row.begin(), row.end());
    shape.insert(shape.end(), row.begin(), row.end());
    return l.reshape(padded_rows(l, x, there, to), shape);
  };
  return {packed(corners, {4}), packed(l.cast(rows_at(l, column(1), order), f32), {}), packed(best, {}), there};
}

void detection(NodeContext& c) {
  Lowering& l = c.l;
  c.require_outputs(4);
  const DetectionOptions o = detection_options(c);
  const Operand &boxes = c.in(0), &scores = c.in(1), &anchors = c.in(2);
  const Extents &b = boxes.type.shape, &s = scores.type.shape;
  HONE_USER_CHECK(b.size() == 3 && s.size() == 3 && b[0] == 1 && b[1] >= 1 && b[2] >= 4 && s[0] == 1 && s[1] == b[1] &&
                  anchors.type.shape == (Extents{b[1], 4}) && (s[2] == o.classes || s[2] == o.classes + 1))
      << "boxes " << to_string(boxes.type) << ", scores " << to_string(scores.type) << " of " << o.classes
      << " classes, anchors " << to_string(anchors.type);
  for (const Operand* x : {&boxes, &scores, &anchors}) HONE_USER_CHECK(x->type.dtype == f32) << to_string(x->type);
  HONE_USER_CHECK(element_count({b[1], o.classes}) <= int64_t{1} << 32 &&
                  element_count({o.most, o.classes_of_box}) <= kMostDetections)
      << o.most << " detections with " << o.classes_of_box << " classes";
  const Operand corners = decoded_boxes(l, l.reshape(boxes, {b[1], b[2]}), anchors, o);
  // A class in front of all others is the background.
  const Operand own = columns(l, l.reshape(scores, {b[1], s[2]}), s[2] - o.classes, o.classes);
  const Detections found =
      o.is_by_class ? detections_of_classes(l, corners, own, o) : detections_of_boxes(l, corners, own, o);
  const int64_t all = o.most * o.classes_of_box;
  c.outputs[0] = l.reshape(found.boxes, {1, all, 4});
  c.outputs[1] = l.reshape(found.classes, {1, all});
  c.outputs[2] = l.reshape(found.scores, {1, all});
  c.outputs[3] = l.cast(Operand{found.count, {i64, {1}}}, f32);
}

// NON_MAX_SUPPRESSION_V4: positions of boxes, as many as the caller has room for, and how many they are. V5 tells
// their scores, too.
void suppression(NodeContext& c) {
  constexpr int32_t kWithScores = 121;
  Lowering& l = c.l;
  const bool has_scores = c.number == kWithScores;
  c.require_outputs(has_scores ? 3 : 2);
  const Operand &boxes = c.in(0), &scores = c.in(1);
  HONE_USER_CHECK(boxes.rank() == 2 && boxes.type.shape[1] == 4 && scores.type.shape == Extents{boxes.type.shape[0]} &&
                  boxes.type.dtype == f32 && scores.type.dtype == f32 && !boxes.is_empty())
      << "boxes " << to_string(boxes.type) << " and scores " << to_string(scores.type);
  const auto real = [&](size_t i, const char* what) {
    const TensorData data = c.constant(i, what);
    HONE_USER_CHECK(data.elements() == 1) << "its " << what << " is " << to_string(data.type());
    return static_cast<float>(data.values()[0]);
  };
  const int64_t n = boxes.type.shape[0], most = c.constant_number(2, "number of boxes");
  const float overlap = real(3, "overlap"), score = real(4, "score");
  HONE_USER_CHECK(most >= 1 && most <= kMostDetections) << most << " boxes";
  HONE_USER_CHECK(overlap > 0 && overlap <= 1) << "an overlap of " << overlap;
  HONE_USER_CHECK(!std::isnan(score)) << "a score of " << score;
  if (const float sigma = has_scores ? real(5, "sigma") : 0; sigma != 0) {
    HONE_USER_CHECK(sigma > 0 && std::isfinite(sigma)) << "a sigma of " << sigma;
    const SoftlyTaken taken = softly_taken(l, boxes, scores, most, overlap, score, sigma);
    c.outputs = {l.cast(taken.positions, i32), taken.scores, l.reshape(l.cast(taken.count, i32), {})};
    return;
  }
  const TakenBoxes taken = best_boxes(l, boxes, scores, std::min(most, n), just_below(overlap), score);
  const Operand at = l.reshape(columns(l, taken.rows, 2, 1), {taken.rows.type.shape[0]});
  c.outputs[0] = l.cast(padded_rows(l, at, taken.count, {most}), i32);
  if (has_scores) c.outputs[1] = padded_rows(l, rows_at(l, scores, at), taken.count, {most});
  c.outputs.back() = l.reshape(l.cast(Operand{taken.count, {i64, {1}}}, i32), {});
}

}  // namespace

void add_detection_operators(ConverterTable& t) {
  t.own[120] = t.own[121] = {&suppression};
  t.custom["TFLite_Detection_PostProcess"] = {&detection};
}

}  // namespace hone::tflite
