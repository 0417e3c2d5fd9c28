// The same of whole numbers with scales.
#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

struct NarrowUnary {
  int32_t code;
  const char* name;
  std::vector<int8_t> types;
};

int64_t zero_of(int8_t type, int64_t zero) { return type == kTfShort ? 0 : type == kTfByte ? zero + 128 : zero; }

constexpr AnswerBound kStep = {.steps = 1};

void add_functions(TfliteCases* cases) {
  const std::vector<NarrowUnary> all = {{14, "LOGISTIC", {kTfSigned, kTfByte, kTfShort}},
                                        {28, "TANH", {kTfSigned, kTfByte, kTfShort}},
                                        {19, "RELU", {kTfSigned, kTfByte, kTfShort}},
                                        {20, "RELU_N1_TO_1", {kTfSigned, kTfByte}},
                                        {21, "RELU6", {kTfSigned, kTfByte, kTfShort}},
                                        {152, "RELU_0_TO_1", {kTfSigned, kTfByte}},
                                        {117, "HARD_SWISH", {kTfSigned, kTfByte}},
                                        {111, "ELU", {kTfSigned}},
                                        {47, "EXP", {kTfSigned, kTfShort}},
                                        {76, "RSQRT", {kTfSigned}},
                                        {101, "ABS", {kTfSigned, kTfShort}}};
  for (const NarrowUnary& u : all)
    for (const int8_t type : u.types) {
      const bool is_short = type == kTfShort, is_positive = u.code == 76;
      CaseModel m(std::string(u.name) + " " + type_name(type));
      const float scale = is_short ? 1.0f / 4096 : 0.047f;
      DrawnFrom from;
      if (is_positive) from = is_short ? DrawnFrom{1, 32767} : DrawnFrom{-127, 127};
      m.given("x", {3, 43}, type, scaled(scale, is_positive && !is_short ? -128 : zero_of(type, 7)), from);
      TfliteScales to = scaled(is_short ? 1.0f / 2048 : 0.051f, zero_of(type, -11));
      if (u.code == 14) to = is_short ? scaled(1.0f / 32768) : scaled(1.0f / 256, type == kTfByte ? 0 : -128);
      if (u.code == 28) to = is_short ? scaled(1.0f / 32768) : scaled(1.0f / 128, type == kTfByte ? 128 : 0);
      if (u.code == 76) to = scaled(is_short ? 0.002f : 0.03f, zero_of(type, -128));
      if (u.code == 47) to = scaled(is_short ? 0.1f : 1.3f, zero_of(type, -128));
      m.result("y", type, to).op(u.code, {"x"}, {"y"});
      // For 16 bits the library has a table of 513 entries, and lines between them.
      const bool has_table = is_short && (u.code == 14 || u.code == 28 || u.code == 47);
      cases->push_back(m.done({.steps = has_table ? 16 : 1}));
    }
  for (const int8_t type : {kTfSigned, kTfByte, kTfShort}) {
    CaseModel m("LEAKY_RELU " + type_name(type));
    m.given("x", {3, 43}, type, scaled(0.05f, zero_of(type, 3))).result("y", type, scaled(0.04f, zero_of(type, -20)));
    m.op(98, {"x"}, {"y"}, tables::CreateLeakyReluOptions(m.b, 0.2f));
    cases->push_back(m.done(kStep));
  }
  for (const int8_t type : {kTfSigned, kTfByte})
    for (const bool is_approximate : {false, true}) {
      CaseModel m("GELU " + type_name(type) + (is_approximate ? " tanh" : " erf"));
      m.given("x", {3, 43}, type, scaled(0.03f, zero_of(type, 3)))
          .result("y", type, scaled(0.025f, zero_of(type, -80)));
      m.op(150, {"x"}, {"y"}, tables::CreateGeluOptions(m.b, is_approximate));
      cases->push_back(m.done(kStep));
      if (is_approximate) continue;
      CaseModel p("PRELU " + type_name(type));
      p.given("x", {1, 3, 7, 3}, type, scaled(0.03f, zero_of(type, 3)));
      p.stored("a", {1, 1, 3}, type, scaled(0.01f, zero_of(type, 9)))
          .result("y", type, scaled(0.025f, zero_of(type, -8)));
      p.op(54, {"x", "a"}, {"y"});
      cases->push_back(p.done(kStep));
    }
}

void add_pairs(TfliteCases* cases) {
  const std::vector<std::pair<Shape, Shape>> pairs = {{{2, 3, 5}, {2, 3, 5}}, {{2, 3, 5}, {5}}, {{2, 1, 4}, {3, 1}}};
  for (const auto& [code, name] :
       {std::pair{0, "ADD"}, {18, "MUL"}, {41, "SUB"}, {42, "DIV"}, {99, "SQUARED_DIFFERENCE"}})
    for (const int8_t type : {kTfSigned, kTfByte, kTfShort})
      for (size_t p = 0; p < pairs.size(); ++p)
        for (const int8_t activation : {0, 1, 3}) {
          if ((activation && p != 0) || (code == 99 && (activation || type != kTfSigned))) continue;
          if (code == 42 && type != kTfByte) continue;
          if (code == 0 && type == kTfShort && p != 0) continue;  // the library ends the process
          CaseModel m(std::string(name) + " " + type_name(type) + " pair " + std::to_string(p) + " activation " +
                      std::to_string(activation));
          // Sums of 16 bits are of scales that are powers of two, unless an option says otherwise.
          const bool is_short = type == kTfShort;
          const float a = is_short ? 1.0f / 2048 : 0.03f, b = is_short ? 1.0f / 8192 : 0.05f,
                      y = is_short     ? 1.0f / 2048
                          : code == 18 ? 0.11f
                          : code == 99 ? 0.4f
                                       : 0.07f;
          // No 0 is divided: the library gives any number for it.
          m.given("a", pairs[p].first, type, scaled(a, zero_of(type, 5)),
                  code == 42 ? DrawnFrom{140, 255} : DrawnFrom{});
          m.given("b", pairs[p].second, type, scaled(b, zero_of(type, -9)),
                  code == 42 ? DrawnFrom{130, 255} : DrawnFrom{});
          m.result("y", type, scaled(y, zero_of(type, 2)));
          switch (code) {
            case 0: m.op(code, {"a", "b"}, {"y"}, tables::CreateAddOptions(m.b, activation)); break;
            case 18: m.op(code, {"a", "b"}, {"y"}, tables::CreateMulOptions(m.b, activation)); break;
            case 41: m.op(code, {"a", "b"}, {"y"}, tables::CreateSubOptions(m.b, activation)); break;
            case 42: m.op(code, {"a", "b"}, {"y"}, tables::CreateDivOptions(m.b, activation)); break;
            default: m.op(code, {"a", "b"}, {"y"}); break;
          }
          cases->push_back(m.done(kStep));
        }
  for (const auto& [code, name] : {std::pair{55, "MAXIMUM"}, {57, "MINIMUM"}})
    for (const int8_t type : {kTfSigned, kTfByte, kTfShort}) {
      CaseModel m(std::string(name) + " " + type_name(type));
      const TfliteScales s = scaled(0.03f, zero_of(type, 5));
      m.given("a", {2, 3, 5}, type, s).given("b", {5}, type, s).result("y", type, s).op(code, {"a", "b"}, {"y"});
      cases->push_back(m.done());
    }
  for (const auto& [code, name] : {std::pair{58, "LESS"},
                                   {61, "GREATER"},
                                   {62, "GREATER_EQUAL"},
                                   {63, "LESS_EQUAL"},
                                   {71, "EQUAL"},
                                   {72, "NOT_EQUAL"}})
    for (const int8_t type : {kTfSigned, kTfByte}) {
      CaseModel m(std::string(name) + " " + type_name(type));
      // One scale, as converters write them, and few numbers.
      const TfliteScales s = scaled(0.03f, zero_of(type, 5));
      m.given("a", {2, 3, 5}, type, s, {1, 5}).given("b", {5}, type, s, {1, 5}).result("y", kTfBool);
      m.op(code, {"a", "b"}, {"y"});
      cases->push_back(m.done());
    }
}

// From floats to numbers and back, and between scales.
void add_conversions(TfliteCases* cases) {
  for (const int8_t type : {kTfSigned, kTfByte, kTfShort}) {
    const TfliteScales s = scaled(0.25f, zero_of(type, 3));
    CaseModel halves("QUANTIZE f32 to " + type_name(type) + " halves");
    halves.given("x", {2, 31}, kTfFloat, {}, {-40, 40, 0.125}).result("y", type, s).op(114, {"x"}, {"y"});
    cases->push_back(halves.done(kStep));  // halves away from 0, not to the even number
    CaseModel m("QUANTIZE f32 to " + type_name(type));
    m.given("x", {2, 31}, kTfFloat, {}, {-5, 5}).result("y", type, scaled(0.0313f, zero_of(type, 3)));
    m.op(114, {"x"}, {"y"});
    cases->push_back(m.done());
    CaseModel back("DEQUANTIZE " + type_name(type));
    back.given("x", {2, 31}, type, scaled(0.0313f, zero_of(type, 3))).result("y").op(6, {"x"}, {"y"});
    cases->push_back(back.done());
    for (const int8_t to : {kTfSigned, kTfByte, kTfShort}) {
      if ((type == kTfShort && to == kTfByte) || (type != kTfShort && to == kTfShort)) continue;
      CaseModel change("QUANTIZE " + type_name(type) + " to " + type_name(to));
      const float from_scale = type == kTfShort ? 0.0007f : 0.05f, to_scale = to == kTfShort ? 0.0005f : 0.07f;
      change.given("x", {2, 31}, type, scaled(from_scale, zero_of(type, 3)));
      change.result("y", to, scaled(to_scale, zero_of(to, -4))).op(114, {"x"}, {"y"});
      cases->push_back(change.done(kStep));
    }
  }
  {
    CaseModel m("QUANTIZE i32 to i8");
    m.given("x", {2, 9}, kTfInt, scaled(0.01f)).result("y", kTfSigned, scaled(0.02f, 4)).op(114, {"x"}, {"y"});
    cases->push_back(m.done(kStep));
    CaseModel half("DEQUANTIZE f16");
    half.data("h", {2, 3}, kTfHalf, bytes_of_numbers<uint16_t>({0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff, 0x8000}));
    half.given("x", {2, 3}).result("y").op(6, {"h"}, {"f"}).op(0, {"x", "f"}, {"y"}, tables::CreateAddOptions(half.b));
    cases->push_back(half.done());
  }
  for (const int bits : {8, 4}) {
    CaseModel m("FAKE_QUANT " + std::to_string(bits) + " bits");
    m.given("x", {2, 31}, kTfFloat, {}, {-3, 3}).result("y");
    m.op(80, {"x"}, {"y"}, tables::CreateFakeQuantOptions(m.b, -1.3f, 2.1f, bits));
    cases->push_back(m.done({.ulps = 8, .absolute = 1e-6}));
  }
}

}  // namespace

void add_narrow_element_cases(TfliteCases* cases) {
  add_functions(cases);
  add_pairs(cases);
  add_conversions(cases);
}

}  // namespace hone
