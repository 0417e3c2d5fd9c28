// Tensors made of shapes and numbers.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

void add_constants(TfliteCases* cases) {
  constexpr int kShapeKind = 55;
  for (const int8_t to : {kTfInt, kTfLong}) {
    CaseModel m("SHAPE as " + type_name(to));
    m.given("x", {2, 3, 5}).result("y", to).op_with(77, {"x"}, {"y"}, kShapeKind, {{0, to}});
    cases->push_back(m.done());
  }
  CaseModel rank("RANK");
  rank.given("x", {2, 3, 5}).result("y", kTfInt).op(110, {"x"}, {"y"});
  cases->push_back(rank.done());
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfBool, kTfSigned, kTfShort}) {
    const bool is_narrow = type == kTfSigned || type == kTfShort;
    const TfliteScales s = is_narrow ? scaled(0.05f, type == kTfShort ? 0 : 3) : TfliteScales{};
    CaseModel m("FILL " + type_name(type));
    m.numbers("s", {2, 3}).given("v", {}, type, s).result("y", type, s).op(94, {"s", "v"}, {"y"});
    cases->push_back(m.done());
    if (is_narrow || type == kTfBool) continue;
    CaseModel zeros("ZEROS_LIKE " + type_name(type));
    zeros.given("x", {2, 3}, type).result("y", type).op(93, {"x"}, {"y"});
    cases->push_back(zeros.done());
  }
  {
    CaseModel m("RANGE f32");
    m.floats("b", {}, {0.5f}).floats("e", {}, {3.2f}).floats("d", {}, {0.3f}).given("x", {9}).result("y");
    m.op(96, {"b", "e", "d"}, {"r"}).op(0, {"x", "r"}, {"y"}, tables::CreateAddOptions(m.b));
    cases->push_back(m.done({.ulps = 8}));
    CaseModel n("RANGE i32 down");
    n.number("b", 7)
        .number("e", -4)
        .number("d", -3)
        .given("x", {4}, kTfInt)
        .tensor("r", {}, kTfInt)
        .result("y", kTfInt);
    n.op(96, {"b", "e", "d"}, {"r"}).op(0, {"x", "r"}, {"y"}, tables::CreateAddOptions(n.b));
    cases->push_back(n.done());
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfBool, kTfSigned, kTfByte})
    for (const int32_t axis : {-1, 0, 1}) {
      if (axis != -1 && type != kTfFloat) continue;
      const bool is_narrow = type == kTfSigned || type == kTfByte;
      const TfliteScales s = is_narrow ? scaled(0.5f, 1) : TfliteScales{};
      CaseModel m("ONE_HOT " + type_name(type) + " axis " + std::to_string(axis));
      // Places beyond the depth, and in front of the first one.
      m.given("i", {2, 3}, kTfInt, {}, {-1, 4})
          .number("d", 4)
          .stored("n", {}, type, s, {1, 9})
          .stored("f", {}, type, s, {1, 9});
      m.result("y", type, s).op(85, {"i", "d", "n", "f"}, {"y"}, tables::CreateOneHotOptions(m.b, axis));
      cases->push_back(m.done());
    }
  {
    CaseModel m("BROADCAST_ARGS");
    m.operator_versions[130] = 2;
    m.numbers("a", {2, 1, 4}).numbers("c", {3, 1}).tensor("s", {3}, kTfInt).given("x", {3, 1}).result("y");
    m.op(145, {"a", "c"}, {"s"}).op(130, {"x", "s"}, {"y"});
    cases->push_back(m.done());
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong}) {
    CaseModel m("BUCKETIZE " + type_name(type));
    m.given("x", {3, 7}, type, {}, {-5, 9, 0.5}).result("y", kTfInt);
    const std::vector<float> bounds{-2, 0, 3.5f, 7};
    m.op(147, {"x"}, {"y"}, tables::CreateBucketizeOptionsDirect(m.b, &bounds));
    cases->push_back(m.done());
  }
  for (const auto& [from, to, shape] : {std::tuple{kTfInt, kTfShort, Shape{2, 3}},
                                        {kTfShort, kTfInt, Shape{3, 2}},
                                        {kTfLong, kTfSigned, Shape{2}},
                                        {kTfInt, kTfSigned, Shape{3}},
                                        {kTfByte, kTfSigned, Shape{2, 5}},
                                        {kTfSigned, kTfInt, Shape{2, 4}}}) {
    CaseModel m("BITCAST " + type_name(from) + " to " + type_name(to));
    m.given("x", shape, from, {}, from == kTfInt || from == kTfLong ? DrawnFrom{-2e9, 2e9} : DrawnFrom{});
    m.result("y", to).op(159, {"x"}, {"y"});
    cases->push_back(m.done());
  }
}

}  // namespace

void add_number_cases(TfliteCases* cases) { add_constants(cases); }

}  // namespace hone
