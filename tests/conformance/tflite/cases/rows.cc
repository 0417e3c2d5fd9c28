// Reductions, and what works on rows.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

TfliteScales row_scales(int8_t type, int64_t zero = 3) {
  if (type != kTfSigned && type != kTfByte && type != kTfShort) return {};
  return scaled(0.05f, type == kTfShort ? 0 : type == kTfByte ? 128 + zero : zero);
}

struct Reduction {
  int32_t code;
  const char* name;
  std::vector<int8_t> types;
  AnswerBound bound;
};

const std::vector<Reduction> kReductions = {
    {40, "MEAN", {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort}, {.steps = 1, .terms = 24}},
    {74, "SUM", {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}, {.steps = 1, .terms = 24}},
    {81, "REDUCE_PROD", {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfShort}, {.steps = 1, .ulps = 24}},
    {82, "REDUCE_MAX", {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort}, {}},
    {89, "REDUCE_MIN", {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte, kTfShort}, {}},
    {91, "REDUCE_ANY", {kTfBool}, {}},
    {140, "REDUCE_ALL", {kTfBool}, {}},
};

void add_reductions(TfliteCases* cases) {
  for (const Reduction& r : kReductions)
    for (const int8_t type : r.types)
      for (const auto& [what, axes, keeps] : {std::tuple{"last", std::vector<int32_t>{-1}, false},
                                              {"image", {1, 2}, true},
                                              {"image, no axes", {1, 2}, false},
                                              {"first and last", {0, -1}, true},
                                              {"all", {0, 1, 2, 3}, false}}) {
        CaseModel m(std::string(r.name) + " " + type_name(type) + " " + what);
        const bool multiplies = r.code == 81;
        const TfliteScales s =
            multiplies && type != kTfFloat
                ? (row_scales(type).scale.empty() ? TfliteScales{} : scaled(type == kTfShort ? 0.00005f : 0.01f, 0))
                : row_scales(type);
        TfliteScales to = s;
        if (r.code == 74 && !s.scale.empty()) to = scaled(0.4f, s.zero[0] - 5);
        if (r.code == 40 && type != kTfShort && !s.scale.empty()) to = scaled(0.04f, s.zero[0] + 2);
        const bool is_whole = type == kTfInt || type == kTfLong;
        m.given("x", {2, 3, 2, 4}, type, s,
                multiplies && type == kTfFloat ? DrawnFrom{0.7, 1.4}
                : multiplies && is_whole       ? DrawnFrom{-3, 3}
                                               : DrawnFrom{});
        m.numbers("a", axes).result("y", type, to);
        m.op(r.code, {"x", "a"}, {"y"}, tables::CreateReducerOptions(m.b, keeps));
        AnswerBound bound = r.bound;
        if (multiplies && type == kTfShort) bound.steps = 4;     // each product of two is rounded
        if (r.code == 40 && type == kTfByte) bound.share = 0.6;  // the mean is rounded before it is scaled
        cases->push_back(m.done(bound));
      }
}

void add_extremes(TfliteCases* cases) {
  constexpr int kArgMaxKind = 40, kArgMinKind = 57;
  for (const auto& [code, name, kind] : {std::tuple{56, "ARG_MAX", kArgMaxKind}, {79, "ARG_MIN", kArgMinKind}})
    for (const int8_t type : {kTfFloat, kTfInt, kTfSigned, kTfByte, kTfBool})
      for (const int32_t axis : {-1, 1}) {
        for (const int8_t to : {kTfInt, kTfLong}) {
          if (to == kTfLong && axis == 1) continue;
          CaseModel m(std::string(name) + " " + type_name(type) + " axis " + std::to_string(axis) + " as " +
                      type_name(to));
          // Few numbers, so that several are the largest.
          m.given("x", {2, 5, 7}, type, row_scales(type), {1, 4, 0.5}).number("a", axis).result("y", to);
          m.op_with(code, {"x", "a"}, {"y"}, kind, {{0, to}});
          cases->push_back(m.done());
        }
      }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfByte}) {
    CaseModel m("TOPK_V2 " + type_name(type));
    m.given("x", {3, 11}, type, row_scales(type), type == kTfFloat ? DrawnFrom{-3, 3, 0.5} : DrawnFrom{1, 9})
        .number("k", 4);
    m.result("y", type, row_scales(type)).result("i", kTfInt).op(48, {"x", "k"}, {"y", "i"});
    cases->push_back(m.done());
  }
}

void add_softmaxes(TfliteCases* cases) {
  for (const Shape& shape : {Shape{7}, Shape{2, 7}, Shape{2, 3, 5}, Shape{1, 2, 2, 9}})
    for (const float beta : {1.0f, 0.5f}) {
      CaseModel m("SOFTMAX f32 rank " + std::to_string(shape.size()) + (beta == 1 ? "" : ", half"));
      m.given("x", shape, kTfFloat, {}, {-6, 6}).result("y");
      m.op(25, {"x"}, {"y"}, tables::CreateSoftmaxOptions(m.b, beta));
      cases->push_back(m.done({.ulps = 32}));
      if (shape.size() > 2 && beta != 1) continue;
      for (const int8_t type : {kTfSigned, kTfByte, kTfShort}) {
        CaseModel q("SOFTMAX " + type_name(type) + " rank " + std::to_string(shape.size()) +
                    (beta == 1 ? "" : ", half"));
        q.given("x", shape, type, type == kTfShort ? scaled(0.0003f) : row_scales(type));
        q.result("y", type, type == kTfShort ? scaled(1.0f / 32768) : scaled(1.0f / 256, type == kTfByte ? 0 : -128));
        q.op(25, {"x"}, {"y"}, tables::CreateSoftmaxOptions(q.b, beta));
        cases->push_back(q.done({.steps = type == kTfShort ? 16 : 1}));  // of 16 bits by tables with lines
      }
    }
  {
    CaseModel m("LOG_SOFTMAX f32");
    m.given("x", {3, 7}, kTfFloat, {}, {-6, 6}).result("y").op(50, {"x"}, {"y"});
    cases->push_back(m.done({.ulps = 16, .absolute = 2e-6}));
    for (const int8_t type : {kTfSigned, kTfByte}) {
      CaseModel q("LOG_SOFTMAX " + type_name(type));
      q.given("x", {3, 7}, type, row_scales(type)).result("y", type, scaled(16.0f / 256, type == kTfByte ? 255 : 127));
      q.op(50, {"x"}, {"y"});
      cases->push_back(q.done({.steps = 1}));
    }
  }
}

void add_norms(TfliteCases* cases) {
  for (const Shape& shape : {Shape{3, 7}, Shape{1, 3, 2, 5}}) {
    CaseModel m("L2_NORMALIZATION f32 rank " + std::to_string(shape.size()));
    m.given("x", shape).result("y").op(11, {"x"}, {"y"}, tables::CreateNormOptions(m.b));
    cases->push_back(m.done({.ulps = 16}));
    for (const int8_t type : {kTfSigned, kTfByte}) {
      CaseModel q("L2_NORMALIZATION " + type_name(type) + " rank " + std::to_string(shape.size()));
      q.given("x", shape, type, row_scales(type)).result("y", type, scaled(1.0f / 128, type == kTfByte ? 128 : 0));
      q.op(11, {"x"}, {"y"}, tables::CreateNormOptions(q.b));
      cases->push_back(q.done({.steps = 1}));
    }
  }
  for (const int32_t radius : {1, 2, 9}) {
    CaseModel m("LOCAL_RESPONSE_NORMALIZATION radius " + std::to_string(radius));
    m.given("x", {1, 2, 3, 7}).result("y");
    m.op(13, {"x"}, {"y"}, tables::CreateResponseOptions(m.b, radius, 1.5f, 0.3f, 0.75f));
    cases->push_back(m.done({.ulps = 24}));
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong})
    for (const auto& [axis, is_exclusive, is_reverse] :
         {std::tuple{0, false, false}, {-1, true, false}, {1, false, true}, {1, true, true}}) {
      CaseModel m("CUMSUM " + type_name(type) + " axis " + std::to_string(axis) + (is_exclusive ? " exclusive" : "") +
                  (is_reverse ? " reverse" : ""));
      m.given("x", {4, 7}, type).number("a", axis).result("y", type);
      m.op(128, {"x", "a"}, {"y"}, tables::CreateCumsumOptions(m.b, is_exclusive, is_reverse));
      cases->push_back(m.done({.terms = 7}));
    }
}

}  // namespace

void add_row_cases(TfliteCases* cases) {
  add_reductions(cases);
  add_extremes(cases);
  add_softmaxes(cases);
  add_norms(cases);
}

}  // namespace hone
