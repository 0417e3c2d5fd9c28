// Operators that work element by element, of floats and plain whole numbers.
#include <cmath>
#include <limits>

#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

struct Unary {
  int32_t code;
  const char* name;
  DrawnFrom from = {};
  AnswerBound bound = {};
};

// Ends of rational approximations are a few units of their last digits beside exact functions.
constexpr AnswerBound kApproximate = {.ulps = 16, .absolute = 1e-6};
const std::vector<Unary> kUnary = {
    {8, "FLOOR"},
    {14, "LOGISTIC", {-9, 9}, kApproximate},
    {19, "RELU"},
    {20, "RELU_N1_TO_1"},
    {21, "RELU6", {-4, 9}},
    {152, "RELU_0_TO_1"},
    {28, "TANH", {-5, 5}, kApproximate},
    {47, "EXP", {-6, 6}, kApproximate},
    {59, "NEG"},
    {66, "SIN", {-7, 7}, kApproximate},
    {73, "LOG", {0.01, 9}, kApproximate},
    {75, "SQRT", {0, 9}},
    {76, "RSQRT", {0.01, 9}},
    {92, "SQUARE"},
    {101, "ABS"},
    {104, "CEIL"},
    {108, "COS", {-7, 7}, kApproximate},
    {116, "ROUND", {-9, 9, 0.5}},  // half of them halves
    {117, "HARD_SWISH", {-5, 5}},
    {158, "SIGN"},
    {111, "ELU", {-4, 4}, kApproximate},
};

void add_unary(TfliteCases* cases) {
  for (const Unary& u : kUnary) {
    const auto one = [&](const std::string& what, const Shape& shape, const std::string& special = "") {
      CaseModel m(std::string(u.name) + " f32 " + what);
      if (special.empty())
        m.given("x", shape, kTfFloat, {}, u.from);
      else
        m.given_bytes("x", shape, kTfFloat, special);
      m.result("y").op(u.code, {"x"}, {"y"});
      cases->push_back(m.done(u.bound));
    };
    one("odd", {2, 3, 5});
    one("one", {1});
    constexpr float kInf = std::numeric_limits<float>::infinity();
    // Kernels of Hone have sines up to 2^20.
    const float large = u.code == 66 || u.code == 108 ? 1e6f : 1e30f;
    one("special", {10}, bytes_of_numbers<float>({0.0f, -0.0f, kInf, -kInf, large, -large, 1e-30f, 90.0f, 0.5f, 1.5f}));
  }
  for (const auto& [code, name] : {std::pair{59, "NEG"}, {101, "ABS"}, {158, "SIGN"}})
    for (const int8_t type : {kTfInt, kTfLong}) {
      if (type == kTfLong && code != 59) continue;
      CaseModel m(std::string(name) + " " + type_name(type));
      m.given("x", {3, 7}, type).result("y", type).op(code, {"x"}, {"y"});
      cases->push_back(m.done());
    }
  {
    CaseModel m("LOGICAL_NOT");
    m.given("x", {3, 5}, kTfBool).result("y", kTfBool).op(87, {"x"}, {"y"});
    cases->push_back(m.done());
  }
  for (const float alpha : {0.2f, -0.5f, 1.5f}) {
    CaseModel m("LEAKY_RELU f32 " + std::to_string(alpha));
    m.given("x", {2, 3, 5}).result("y").op(98, {"x"}, {"y"}, tables::CreateLeakyReluOptions(m.b, alpha));
    cases->push_back(m.done());
  }
  for (const bool is_approximate : {false, true}) {
    CaseModel m(std::string("GELU f32 ") + (is_approximate ? "tanh" : "erf"));
    m.given("x", {2, 3, 5}, kTfFloat, {}, {-4, 4}).result("y");
    m.op(150, {"x"}, {"y"}, tables::CreateGeluOptions(m.b, is_approximate));
    cases->push_back(m.done(kApproximate));
  }
}

// Pairs of shapes that are broadcast.
const std::vector<std::pair<Shape, Shape>> kPairs = {
    {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {4}}, {{1}, {2, 3}}, {{2, 1, 4}, {3, 1}}, {{1, 2, 1, 3, 2}, {2, 4, 1, 2}}};

std::string text_of(const std::pair<Shape, Shape>& pair) {
  std::string out;
  for (const Shape* s : {&pair.first, &pair.second}) {
    out += s == &pair.first ? " [" : " and [";
    for (size_t d = 0; d < s->size(); ++d) out += (d ? ", " : "") + std::to_string((*s)[d]);
    out += "]";
  }
  return out;
}

void arithmetic(CaseModel* m, int32_t code, int8_t activation) {
  switch (code) {
    case 0: return void(m->op(0, {"a", "b"}, {"y"}, tables::CreateAddOptions(m->b, activation)));
    case 18: return void(m->op(18, {"a", "b"}, {"y"}, tables::CreateMulOptions(m->b, activation)));
    case 41: return void(m->op(41, {"a", "b"}, {"y"}, tables::CreateSubOptions(m->b, activation)));
    default: return void(m->op(42, {"a", "b"}, {"y"}, tables::CreateDivOptions(m->b, activation)));
  }
}

void add_arithmetic(TfliteCases* cases) {
  for (const auto& [code, name] : {std::pair{0, "ADD"}, {18, "MUL"}, {41, "SUB"}, {42, "DIV"}}) {
    const bool divides = code == 42;
    for (const auto& pair : kPairs) {
      CaseModel m(std::string(name) + " f32" + text_of(pair));
      m.given("a", pair.first).given("b", pair.second, kTfFloat, {}, divides ? DrawnFrom{0.3, 4} : DrawnFrom{});
      m.result("y");
      arithmetic(&m, code, 0);
      cases->push_back(m.done());
    }
    for (const int8_t activation : {1, 2, 3}) {
      CaseModel m(std::string(name) + " f32 activation " + std::to_string(activation));
      m.given("a", {3, 7}, kTfFloat, {}, {-9, 9})
          .given("b", {7}, kTfFloat, {}, divides ? DrawnFrom{0.3, 4} : DrawnFrom{});
      m.result("y");
      arithmetic(&m, code, activation);
      cases->push_back(m.done());
    }
    for (const int8_t type : {kTfInt, kTfLong}) {
      if (divides && type == kTfLong) continue;
      for (const int8_t activation : {0, 1, 3}) {
        if (activation && type == kTfLong) continue;
        CaseModel m(std::string(name) + " " + type_name(type) + " activation " + std::to_string(activation));
        m.given("a", {2, 3, 4}, type)
            .given("b", {3, 1}, type, {}, divides ? DrawnFrom{1, 7} : DrawnFrom{})
            .result("y", type);
        arithmetic(&m, code, activation);
        cases->push_back(m.done());
      }
    }
  }
}

void add_binary(TfliteCases* cases) {
  struct Binary {
    int32_t code;
    const char* name;
    std::vector<int8_t> types;
    bool gives_bools = false;
  };
  const std::vector<int8_t> numbers = {kTfFloat, kTfInt, kTfLong};
  const std::vector<Binary> all = {{55, "MAXIMUM", numbers},
                                   {57, "MINIMUM", numbers},
                                   {58, "LESS", numbers, true},
                                   {61, "GREATER", numbers, true},
                                   {62, "GREATER_EQUAL", numbers, true},
                                   {63, "LESS_EQUAL", numbers, true},
                                   {71, "EQUAL", {kTfFloat, kTfInt, kTfLong, kTfBool}, true},
                                   {72, "NOT_EQUAL", {kTfFloat, kTfInt, kTfLong, kTfBool}, true},
                                   {84, "LOGICAL_OR", {kTfBool}, true},
                                   {86, "LOGICAL_AND", {kTfBool}, true},
                                   {99, "SQUARED_DIFFERENCE", {kTfFloat, kTfInt}},
                                   {160, "BITWISE_XOR", {kTfInt, kTfSigned, kTfByte, kTfShort}},
                                   {161, "RIGHT_SHIFT", {kTfInt, kTfSigned, kTfByte, kTfShort}}};
  for (const Binary& binary : all)
    for (const int8_t type : binary.types)
      for (const auto& pair : {kPairs[0], kPairs[1], kPairs[3]}) {
        CaseModel m(std::string(binary.name) + " " + type_name(type) + text_of(pair));
        const bool shifts = binary.code == 161;
        // Few different numbers, so that some are equal.
        const DrawnFrom from =
            shifts || type == kTfShort || type == kTfSigned || type == kTfByte ? DrawnFrom{} : DrawnFrom{-3, 3, 0.5};
        m.given("a", pair.first, type, {}, from);
        m.given("b", pair.second, type, {}, shifts ? DrawnFrom{0, 6} : from);
        m.result("y", binary.gives_bools ? int8_t{kTfBool} : type).op(binary.code, {"a", "b"}, {"y"});
        cases->push_back(m.done());
      }
  for (const auto& pair : {kPairs[0], kPairs[1], kPairs[3]}) {
    CaseModel m("POW f32" + text_of(pair));
    m.given("a", pair.first, kTfFloat, {}, {0.1, 3}).given("b", pair.second, kTfFloat, {}, {-3, 3}).result("y");
    m.op(78, {"a", "b"}, {"y"});
    cases->push_back(m.done(kApproximate));
    CaseModel n("POW i32" + text_of(pair));
    n.given("a", pair.first, kTfInt, {}, {-5, 5}).given("b", pair.second, kTfInt, {}, {0, 7}).result("y", kTfInt);
    n.op(78, {"a", "b"}, {"y"});
    cases->push_back(n.done());
  }
  {
    CaseModel angle("ATAN2 f32");
    angle.given("a", {3, 4}).given("b", {3, 4}).result("y").op(156, {"a", "b"}, {"y"});
    cases->push_back(angle.done(kApproximate));
    constexpr float kInf = std::numeric_limits<float>::infinity();
    CaseModel m("ATAN2 f32 special");
    m.given_bytes("a", {12}, kTfFloat,
                  bytes_of_numbers<float>({0, -0.0f, 0, -0.0f, 1, -1, kInf, kInf, -kInf, 1, -1, 0}));
    m.given_bytes("b", {12}, kTfFloat,
                  bytes_of_numbers<float>({1, 1, -1, -1, 0, -0.0f, kInf, -kInf, -kInf, kInf, -kInf, 0}));
    m.result("y").op(156, {"a", "b"}, {"y"});
    cases->push_back(m.done(kApproximate));
  }
  for (const auto& [code, name] : {std::pair{90, "FLOOR_DIV"}, {95, "FLOOR_MOD"}})
    for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfSigned, kTfShort}) {
      if (code == 90 && type == kTfLong) continue;
      for (const bool is_negative : {false, true}) {
        CaseModel m(std::string(name) + " " + type_name(type) + (is_negative ? " by negative ones" : ""));
        m.given("a", {3, 7}, type).given("b", {7}, type, {}, is_negative ? DrawnFrom{-5, -1} : DrawnFrom{1, 5});
        m.result("y", type).op(code, {"a", "b"}, {"y"});
        cases->push_back(m.done({.ulps = 4, .absolute = code == 95 ? 2e-6 : 0}));
      }
    }
}

void add_others(TfliteCases* cases) {
  for (const int8_t type : {kTfFloat, kTfInt}) {
    CaseModel m("ADD_N " + type_name(type));
    m.given("a", {2, 5}, type).given("b", {2, 5}, type).given("c", {2, 5}, type).result("y", type);
    m.op(106, {"a", "b", "c"}, {"y"});
    cases->push_back(m.done({.terms = 3}));
  }
  for (const Shape& alpha : {Shape{1, 1, 3}, Shape{2, 2, 3}, Shape{1}}) {
    CaseModel m("PRELU f32 " + std::to_string(alpha.size()) + " axes, " + std::to_string(alpha[0]));
    m.given("x", {1, 2, 2, 3}).stored("a", alpha).result("y").op(54, {"x", "a"}, {"y"});
    cases->push_back(m.done());
  }
  for (const int8_t type : {kTfFloat, kTfInt, kTfLong, kTfBool, kTfSigned, kTfByte, kTfShort}) {
    CaseModel m("SELECT " + type_name(type));
    m.given("c", {2, 3}, kTfBool).given("a", {2, 3}, type).given("b", {2, 3}, type).result("y", type);
    m.op(64, {"c", "a", "b"}, {"y"});
    cases->push_back(m.done());
    CaseModel rows("SELECT " + type_name(type) + " rows");
    rows.given("c", {4}, kTfBool).given("a", {4, 3}, type).given("b", {4, 3}, type).result("y", type);
    rows.op(64, {"c", "a", "b"}, {"y"});
    cases->push_back(rows.done());
    CaseModel wide("SELECT_V2 " + type_name(type));
    wide.given("c", {3, 1}, kTfBool).given("a", {2, 3, 4}, type).given("b", {4}, type).result("y", type);
    wide.op(123, {"c", "a", "b"}, {"y"});
    cases->push_back(wide.done());
  }
  const std::vector<int8_t> types = {kTfFloat, kTfInt, kTfLong, kTfBool, kTfSigned, kTfByte, kTfShort};
  for (const int8_t from : types)
    for (const int8_t to : types) {
      if (from == to) continue;
      CaseModel m("CAST " + type_name(from) + " to " + type_name(to));
      // Values that the other type has: beyond, C++ leaves the result open.
      m.given("x", {2, 9}, from, {}, {from == kTfByte || to == kTfByte ? 0.0 : -100.0, 100});
      m.result("y", to).op(53, {"x"}, {"y"});
      cases->push_back(m.done());
    }
}

}  // namespace

void add_element_cases(TfliteCases* cases) {
  add_unary(cases);
  add_arithmetic(cases);
  add_binary(cases);
  add_others(cases);
}

}  // namespace hone
