// Tensors some of whose elements are written; segments, diagonals, boxes.
#include <flatbuffers/flexbuffers.h>

#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

TfliteScales written_scales(int8_t type) {
  if (type != kTfSigned && type != kTfByte && type != kTfShort) return {};
  return scaled(0.05f, type == kTfByte ? 131 : 3);
}

void add_scatters(TfliteCases* cases) {
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}) {
    CaseModel m("SCATTER_ND " + type_name(type));
    // Equal places add up.
    m.given("i", {6, 2}, kTfInt, {}, {0, 1})
        .given("u", {6, 3}, type, written_scales(type), {1, 9})
        .numbers("s", {2, 3, 3});
    m.result("y", type, written_scales(type)).op(122, {"i", "u", "s"}, {"y"});
    cases->push_back(m.done({.terms = 6}));
    CaseModel known("SCATTER_ND " + type_name(type) + " at known places");
    known.data("i", {3, 1}, kTfInt, bytes_of_numbers<int32_t>({4, 0, 3})).given("u", {3}, type, written_scales(type));
    known.numbers("s", {5}).result("y", type, written_scales(type)).op(122, {"i", "u", "s"}, {"y"});
    cases->push_back(known.done());
    CaseModel dense("SPARSE_TO_DENSE " + type_name(type));
    dense.data("i", {3, 2}, kTfInt, bytes_of_numbers<int32_t>({0, 1, 1, 3, 2, 2})).numbers("s", {3, 4});
    dense.given("v", {3}, type, written_scales(type)).stored("d", {}, type, written_scales(type), {4, 4});
    dense.result("y", type, written_scales(type)).op(68, {"i", "s", "v", "d"}, {"y"});
    cases->push_back(dense.done());
    CaseModel one("SPARSE_TO_DENSE " + type_name(type) + " at a call's places");
    one.given("i", {2}, kTfInt, {}, {0, 4}).numbers("s", {5}).given("v", {2}, type, written_scales(type));
    one.stored("d", {}, type, written_scales(type), {4, 4}).result("y", type, written_scales(type));
    one.op(68, {"i", "s", "v", "d"}, {"y"});
    cases->push_back(one.done());
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfBool})
    for (const bool is_known : {true, false}) {
      CaseModel m("DYNAMIC_UPDATE_SLICE " + type_name(type) + (is_known ? " known" : ""));
      m.given("x", {3, 4, 2}, type, written_scales(type)).given("u", {2, 3, 2}, type, written_scales(type));
      if (is_known)
        m.numbers("b", {1, 9, 0});
      else
        m.given("b", {3}, kTfInt, {}, {-1, 3});
      m.result("y", type, written_scales(type)).op(151, {"x", "u", "b"}, {"y"});
      cases->push_back(m.done());
    }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort}) {
    CaseModel m("MATRIX_DIAG " + type_name(type));
    m.given("x", {2, 3}, type, written_scales(type)).result("y", type, written_scales(type)).op(113, {"x"}, {"y"});
    cases->push_back(m.done());
    CaseModel set("MATRIX_SET_DIAG " + type_name(type));
    set.given("x", {2, 3, 4}, type, written_scales(type)).given("d", {2, 3}, type, written_scales(type));
    set.result("y", type, written_scales(type)).op(115, {"x", "d"}, {"y"});
    cases->push_back(set.done());
  }
}

void add_segments(TfliteCases* cases) {
  for (const int8_t type : {kTfFloat, kTfInt}) {
    CaseModel m("SEGMENT_SUM " + type_name(type));
    m.given("x", {5, 3}, type).numbers("s", {0, 0, 1, 2, 2}).result("y", type).op(125, {"x", "s"}, {"y"});
    cases->push_back(m.done({.terms = 2}));
    for (const auto& [code, name] : {std::pair{153, "UNSORTED_SEGMENT_PROD"},
                                     {154, "UNSORTED_SEGMENT_MAX"},
                                     {155, "UNSORTED_SEGMENT_SUM"},
                                     {157, "UNSORTED_SEGMENT_MIN"}}) {
      CaseModel rows(std::string(name) + " " + type_name(type));
      // Segment 4 has no rows, and a negative one is left out.
      rows.given("x", {6, 2}, type, {}, type == kTfInt ? DrawnFrom{-4, 4} : DrawnFrom{})
          .given("s", {6}, kTfInt, {}, {-1, 3});
      rows.number("n", 5).result("y", type).op(code, {"x", "s", "n"}, {"y"});
      cases->push_back(rows.done({.ulps = 16, .terms = 6}));
      CaseModel pairs(std::string(name) + " " + type_name(type) + " of two axes");
      pairs.given("x", {2, 3, 2}, type, {}, type == kTfInt ? DrawnFrom{-4, 4} : DrawnFrom{})
          .numbers("f", {0, 2, 1, 1, 0, 2});
      pairs.data("s", {2, 3}, kTfInt, bytes_of_numbers<int32_t>({0, 2, 1, 1, 0, 2})).number("n", 3).result("y", type);
      pairs.op(code, {"x", "s", "n"}, {"y"});
      cases->push_back(pairs.done({.ulps = 16, .terms = 6}));
    }
  }
}

// Corners in pairs, most of which overlap others.
std::string boxes_of(int count) {
  std::vector<float> boxes;
  for (int i = 0; i < count; ++i) {
    const float y = static_cast<float>(i / 3) * 0.4f, x = static_cast<float>(i * 7 % 5) * 0.3f;
    const float h = 1.0f + 0.1f * static_cast<float>(i % 4), w = 0.9f + 0.05f * static_cast<float>(i % 3);
    boxes.insert(boxes.end(), {y, x, y + h, x + w});
  }
  return bytes_of_numbers(boxes);
}

void add_boxes(TfliteCases* cases) {
  for (const auto& [code, name] : {std::pair{120, "NON_MAX_SUPPRESSION_V4"}, {121, "NON_MAX_SUPPRESSION_V5"}})
    for (const float sigma : {0.0f, 0.5f})
      for (const int32_t most : {3, 12}) {
        if (sigma > 0 && code == 120) continue;
        CaseModel m(std::string(name) + " of " + std::to_string(most) + (sigma > 0 ? " soft" : ""));
        m.given_bytes("b", {9, 4}, kTfFloat, boxes_of(9)).given("s", {9}, kTfFloat, {}, {0.05, 1});
        m.number("n", most).floats("o", {}, {0.4f}).floats("t", {}, {0.15f});
        std::vector<std::string> inputs{"b", "s", "n", "o", "t"}, outputs{"k"};
        if (code == 121) m.floats("g", {}, {sigma}), inputs.push_back("g"), outputs.push_back("v");
        m.result("k", kTfInt);
        if (code == 121) m.result("v");
        m.result("c", kTfInt);
        outputs.push_back("c");
        m.op(code, inputs, outputs);
        cases->push_back(m.done({.ulps = 16}));
      }
  for (const bool is_by_class : {false, true})
    for (const int classes_of_box : {1, 2}) {
      if (is_by_class && classes_of_box == 2) continue;
      flexbuffers::Builder options;
      options.Map([&] {
        options.Int("max_detections", 5);
        options.Int("max_classes_per_detection", classes_of_box);
        options.Int("detections_per_class", 4);
        options.Bool("use_regular_nms", is_by_class);
        options.Float("nms_score_threshold", 0.2f);
        options.Float("nms_iou_threshold", 0.5f);
        options.Int("num_classes", 2);
        for (const char* s : {"y_scale", "x_scale"}) options.Float(s, 10);
        for (const char* s : {"h_scale", "w_scale"}) options.Float(s, 5);
      });
      options.Finish();
      CaseModel m("TFLite_Detection_PostProcess " + std::string(is_by_class ? "by class" : "fast") + " " +
                  std::to_string(classes_of_box));
      m.given("b", {1, 9, 4}, kTfFloat, {}, {-1, 1}).given("s", {1, 9, 3}, kTfFloat, {}, {0, 1});
      std::vector<float> anchors;
      for (int i = 0; i < 9; ++i)
        anchors.insert(anchors.end(), {static_cast<float>(i / 3) * 0.3f, static_cast<float>(i % 3) * 0.3f, 0.4f, 0.5f});
      m.floats("a", {9, 4}, anchors);
      for (const char* o : {"boxes", "classes", "scores", "count"}) m.result(o);
      m.custom("TFLite_Detection_PostProcess", {"b", "s", "a"}, {"boxes", "classes", "scores", "count"},
               options.GetBuffer());
      cases->push_back(m.done({.ulps = 16, .absolute = 1e-6}));
    }
}

}  // namespace

void add_writing_cases(TfliteCases* cases) {
  add_scatters(cases);
  add_segments(cases);
  add_boxes(cases);
}

}  // namespace hone
