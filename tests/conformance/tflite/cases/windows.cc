// Convolutions and poolings of floats: odd extents, strides, dilations, both paddings.
#include <cmath>

#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

constexpr int8_t kSamePadding = 0, kValidPadding = 1;

struct Conv {
  std::string what;
  Shape image, weight;
  int8_t padding = kSamePadding;
  int stride_w = 1, stride_h = 1;
  int8_t activation = 0;
  int dilation_w = 1, dilation_h = 1;
};

const std::vector<Conv> kConvs = {
    {"same", {1, 5, 7, 3}, {4, 3, 3, 3}},
    {"same, strides 2 and 3, relu6", {2, 7, 6, 3}, {5, 3, 2, 3}, kSamePadding, 3, 2, 3},
    {"valid, stride 2, relu", {1, 8, 5, 2}, {3, 2, 3, 2}, kValidPadding, 2, 2, 1},
    {"dilations 2 and 3, same", {1, 9, 8, 2}, {3, 3, 3, 2}, kSamePadding, 1, 1, 0, 3, 2},
    {"dilation 2, valid", {1, 9, 7, 2}, {3, 3, 2, 2}, kValidPadding, 1, 1, 2, 2, 2},
    {"1x1", {1, 3, 5, 6}, {7, 1, 1, 6}},
    {"a row", {1, 1, 11, 3}, {4, 1, 5, 3}, kSamePadding, 2, 1},
    {"a column", {1, 11, 1, 3}, {4, 4, 1, 3}, kSamePadding, 1, 2},
    {"groups", {1, 5, 5, 6}, {4, 3, 3, 3}},
    {"larger than the image", {1, 2, 3, 2}, {3, 5, 5, 2}},
};

struct Depthwise {
  std::string what;
  Shape image, weight;
  int multiplier;
  int8_t padding = kSamePadding;
  int stride = 1;
  int8_t activation = 0;
  int dilation_w = 1, dilation_h = 1;
};

const std::vector<Depthwise> kDepthwise = {
    {"3x3", {1, 5, 7, 4}, {1, 3, 3, 4}, 1},
    {"3x3, stride 2, relu6", {2, 7, 6, 8}, {1, 3, 3, 8}, 1, kSamePadding, 2, 3},
    {"multiplier 3", {1, 5, 4, 2}, {1, 3, 2, 6}, 3},
    {"multiplier of one channel", {1, 6, 5, 1}, {1, 4, 4, 5}, 5, kValidPadding, 2, 1},
    {"5x5, dilations", {1, 9, 11, 3}, {1, 5, 3, 3}, 1, kSamePadding, 1, 0, 2, 2},
};

AnswerBound of_terms(const Shape& weight, bool is_depthwise) {
  return {.ulps = 4, .terms = static_cast<double>(weight[1] * weight[2] * (is_depthwise ? 1 : weight[3]))};
}

void add_convolutions(TfliteCases* cases) {
  for (const Conv& c : kConvs) {
    CaseModel m("CONV_2D f32 " + c.what);
    m.given("x", c.image).stored("w", c.weight).stored("b", {c.weight[0]});
    m.result("y").op(
        3, {"x", "w", "b"}, {"y"},
        tables::CreateConvOptions(m.b, c.padding, c.stride_w, c.stride_h, c.activation, c.dilation_w, c.dilation_h));
    cases->push_back(m.done(of_terms(c.weight, false)));
  }
  for (const Depthwise& d : kDepthwise) {
    CaseModel m("DEPTHWISE_CONV_2D f32 " + d.what);
    m.given("x", d.image).stored("w", d.weight).stored("b", {d.weight[3]}).result("y");
    m.op(4, {"x", "w", "b"}, {"y"},
         tables::CreateDepthwiseConvOptions(m.b, d.padding, d.stride, d.stride, d.multiplier, d.activation,
                                            d.dilation_w, d.dilation_h));
    cases->push_back(m.done(of_terms(d.weight, true)));
  }
  {  // Weights of 16 bits behind DEQUANTIZE.
    CaseModel m("CONV_2D f16 weights");
    std::vector<uint16_t> halves;
    for (int i = 0; i < 2 * 3 * 3 * 2; ++i) halves.push_back(static_cast<uint16_t>(0x3000 + 97 * i % 0x0c00));
    m.given("x", {1, 5, 5, 2}).data("h", {2, 3, 3, 2}, kTfHalf, bytes_of_numbers(halves)).tensor("w", {2, 3, 3, 2});
    m.stored("b", {2}).result("y").op(6, {"h"}, {"w"});
    m.op(3, {"x", "w", "b"}, {"y"}, tables::CreateConvOptions(m.b, kSamePadding, 1, 1, 1));
    cases->push_back(m.done({.terms = 18}));
  }
}

struct Transposed {
  std::string what;
  Shape image, weight, to;
  int8_t padding = kSamePadding;
  int stride_w = 2, stride_h = 2;
  bool has_bias = true;
  int8_t activation = 0;
};

const std::vector<Transposed> kTransposed = {
    {"same", {1, 3, 4, 3}, {2, 3, 3, 3}, {1, 6, 8, 2}},
    {"same, an odd output", {1, 3, 4, 3}, {2, 3, 3, 3}, {1, 5, 7, 2}},
    {"valid", {2, 3, 2, 2}, {3, 2, 3, 2}, {2, 6, 5, 3}, kValidPadding},
    {"valid, stride 3 of a kernel of 2", {1, 3, 3, 2}, {3, 2, 2, 2}, {1, 8, 8, 3}, kValidPadding, 3, 3, false},
    {"stride 1, relu", {1, 4, 5, 2}, {3, 3, 2, 2}, {1, 4, 5, 3}, kSamePadding, 1, 1, true, 1},
};

void add_transposed(TfliteCases* cases) {
  for (const Transposed& t : kTransposed) {
    CaseModel m("TRANSPOSE_CONV f32 " + t.what);
    m.numbers("s", t.to).given("x", t.image).stored("w", t.weight);
    std::vector<std::string> inputs{"s", "w", "x"};
    if (t.has_bias) m.stored("b", {t.weight[0]}), inputs.push_back("b");
    m.result("y").op(67, inputs, {"y"},
                     tables::CreateTransposeConvOptions(m.b, t.padding, t.stride_w, t.stride_h, t.activation));
    cases->push_back(m.done({.terms = static_cast<double>(t.weight[1] * t.weight[2] * t.weight[3])}));
  }
}

void add_volumes(TfliteCases* cases) {
  struct Volume {
    std::string what;
    Shape volume, weight;
    int8_t padding;
    int d, w, h, dilation = 1;
    int8_t activation = 0;
  };
  const std::vector<Volume> all = {
      {"same", {1, 3, 5, 4, 2}, {2, 3, 3, 2, 3}, kSamePadding, 1, 1, 1},
      {"valid, strides, relu", {2, 5, 6, 7, 2}, {3, 2, 3, 2, 2}, kValidPadding, 2, 3, 2, 1, 1},
      {"same, strides", {1, 4, 5, 7, 3}, {3, 3, 3, 3, 2}, kSamePadding, 2, 2, 2}};
  for (const Volume& v : all) {
    CaseModel m("CONV_3D f32 " + v.what);
    m.given("x", v.volume).stored("k", v.weight).stored("b", {v.weight[4]}).result("y");
    m.op(132, {"x", "k", "b"}, {"y"},
         tables::CreateConv3DOptions(m.b, v.padding, v.d, v.w, v.h, v.activation, v.dilation, v.dilation, v.dilation));
    cases->push_back(m.done({.terms = 54}));
  }
  for (const bool is_valid : {false, true}) {
    CaseModel m(std::string("CONV_3D_TRANSPOSE f32 ") + (is_valid ? "valid" : "same"));
    m.numbers("s", is_valid ? Shape{1, 5, 6, 7, 2} : Shape{1, 4, 5, 6, 2});
    m.given("x", {1, 2, is_valid ? 2 : 3, 3, 3}).stored("k", {3, 3, 3, 2, 3}).result("y");
    m.op(141, {"s", "k", "x"}, {"y"},
         tables::CreateConv3DOptions(m.b, is_valid ? kValidPadding : kSamePadding, 2, 2, 2));
    cases->push_back(m.done({.terms = 81}));
  }
}

void add_poolings(TfliteCases* cases) {
  struct Pool {
    std::string what;
    Shape image;
    int8_t padding;
    int stride_w, stride_h, w, h;
    int8_t activation = 0;
  };
  const std::vector<Pool> all = {{"same, odd", {1, 5, 7, 3}, kSamePadding, 2, 2, 2, 2},
                                 {"same, 3x3", {2, 5, 4, 3}, kSamePadding, 1, 1, 3, 3, 1},
                                 {"valid, overlapping", {1, 7, 6, 2}, kValidPadding, 1, 2, 2, 3},
                                 {"of all", {1, 5, 4, 3}, kValidPadding, 1, 1, 4, 5, 3}};
  for (const auto& [code, name] : {std::pair{1, "AVERAGE_POOL_2D"}, {17, "MAX_POOL_2D"}, {12, "L2_POOL_2D"}})
    for (const Pool& p : all) {
      if (code == 12 && p.activation == 3) continue;
      CaseModel m(std::string(name) + " f32 " + p.what);
      m.given("x", p.image).result("y");
      m.op(code, {"x"}, {"y"},
           tables::CreatePoolOptions(m.b, p.padding, p.stride_w, p.stride_h, p.w, p.h, p.activation));
      cases->push_back(m.done({.terms = code == 17 ? 0 : static_cast<double>(p.w * p.h)}));
    }
}

// Whole numbers.

// A bias in steps of the product.
void add_bias(CaseModel* m, int channels, const TfliteScales& weights, float input, int8_t type) {
  TfliteScales s = weights;
  s.axis = 0;
  s.zero.assign(s.zero.size(), 0);
  for (float& v : s.scale) v *= input;
  m->stored("b", {channels}, type == kTfShort ? int8_t{kTfLong} : int8_t{kTfInt}, s, {-900, 900});
}

struct Kind {
  int8_t type, weight;
  bool is_by_channel;
  const char* name;
};
// Weights of int8 have no zero points; those of uint8 have one scale and a zero point.
const std::vector<Kind> kKinds = {{kTfSigned, kTfSigned, true, "i8 by channel"},
                                  {kTfSigned, kTfSigned, false, "i8"},
                                  {kTfByte, kTfByte, false, "u8"},
                                  {kTfShort, kTfSigned, true, "i16 by channel"}};

float input_scale(int8_t type) { return type == kTfShort ? 0.0004f : 0.05f; }
int64_t zero_point(int8_t type, int64_t z) { return type == kTfShort ? 0 : type == kTfByte ? 128 + z : z; }

TfliteScales weight_scales(const Kind& k, int channels, int axis) {
  if (k.is_by_channel) return scaled_by_channel(0.01f, channels, axis);
  return scaled(0.012f, k.weight == kTfByte ? 121 : 0);
}

// Wide enough for most sums, so that not all are saturated.
TfliteScales output_scales(int8_t type, double terms) {
  const auto size = static_cast<float>(2.5 * (type == kTfShort ? 4 : 1) * std::sqrt(terms));
  return type == kTfShort ? scaled(size / 30000) : scaled(size / 128, zero_point(type, -7));
}

constexpr AnswerBound kStepOfWindows = {.steps = 1};

DrawnFrom weights_of(const Kind& k) { return k.weight == kTfSigned ? DrawnFrom{-127, 127} : DrawnFrom{}; }

void add_narrow_convolutions(TfliteCases* cases) {
  for (const Kind& k : kKinds) {
    for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{5}, size_t{6}, size_t{9}}) {
      const Conv& c = kConvs[i];
      CaseModel m(std::string("CONV_2D ") + k.name + " " + c.what);
      const TfliteScales scales = weight_scales(k, c.weight[0], 0);
      m.given("x", c.image, k.type, scaled(input_scale(k.type), zero_point(k.type, 3)));
      m.stored("w", c.weight, k.weight, scales, weights_of(k));
      add_bias(&m, c.weight[0], scales, input_scale(k.type), k.type);
      m.result("y", k.type, output_scales(k.type, c.weight[1] * c.weight[2] * c.weight[3]));
      m.op(3, {"x", "w", "b"}, {"y"},
           tables::CreateConvOptions(m.b, c.padding, c.stride_w, c.stride_h, c.activation, c.dilation_w, c.dilation_h));
      cases->push_back(m.done(kStepOfWindows));
    }
    for (const Depthwise& d : kDepthwise) {
      CaseModel m(std::string("DEPTHWISE_CONV_2D ") + k.name + " " + d.what);
      const TfliteScales scales = weight_scales(k, d.weight[3], 3);
      m.given("x", d.image, k.type, scaled(input_scale(k.type), zero_point(k.type, 3)));
      m.stored("w", d.weight, k.weight, scales, weights_of(k));
      add_bias(&m, d.weight[3], scales, input_scale(k.type), k.type);
      m.result("y", k.type, output_scales(k.type, d.weight[1] * d.weight[2]));
      m.op(4, {"x", "w", "b"}, {"y"},
           tables::CreateDepthwiseConvOptions(m.b, d.padding, d.stride, d.stride, d.multiplier, d.activation,
                                              d.dilation_w, d.dilation_h));
      cases->push_back(m.done(kStepOfWindows));
    }
    for (const Transposed& t : kTransposed) {
      CaseModel m(std::string("TRANSPOSE_CONV ") + k.name + " " + t.what);
      const TfliteScales scales = weight_scales(k, t.weight[0], 0);
      m.numbers("s", t.to).given("x", t.image, k.type, scaled(input_scale(k.type), zero_point(k.type, 3)));
      m.stored("w", t.weight, k.weight, scales, weights_of(k));
      std::vector<std::string> inputs{"s", "w", "x"};
      if (t.has_bias) add_bias(&m, t.weight[0], scales, input_scale(k.type), k.type), inputs.push_back("b");
      m.result("y", k.type, output_scales(k.type, t.weight[1] * t.weight[2] * t.weight[3]));
      m.op(67, inputs, {"y"}, tables::CreateTransposeConvOptions(m.b, t.padding, t.stride_w, t.stride_h, t.activation));
      cases->push_back(m.done(kStepOfWindows));
    }
  }
}

void add_narrow_poolings(TfliteCases* cases) {
  for (const int8_t type : {kTfSigned, kTfByte, kTfShort})
    for (const auto& [code, name] : {std::pair{1, "AVERAGE_POOL_2D"}, {17, "MAX_POOL_2D"}})
      for (const bool is_same : {true, false}) {
        CaseModel m(std::string(name) + " " + type_name(type) + (is_same ? " same" : " valid"));
        const TfliteScales s = scaled(0.05f, zero_point(type, 3));
        m.given("x", {2, 5, 7, 3}, type, s).result("y", type, s);
        m.op(code, {"x"}, {"y"},
             tables::CreatePoolOptions(m.b, is_same ? kSamePadding : kValidPadding, 2, 2, 3, 2, is_same ? 1 : 0));
        cases->push_back(m.done({.steps = code == 1 ? 1 : 0}));
      }
}

// Floats with weights of bytes. TensorFlow Lite rounds each row of floats to bytes, too, by its largest one: half a
// step of an input, for each product.
void add_hybrid_convolutions(TfliteCases* cases) {
  for (const size_t i : {size_t{0}, size_t{2}, size_t{5}}) {
    const Conv& c = kConvs[i];
    const int terms = c.weight[1] * c.weight[2] * c.weight[3];
    CaseModel m("CONV_2D hybrid " + c.what);
    m.given("x", c.image).stored("w", c.weight, kTfSigned, scaled_by_channel(0.01f, c.weight[0], 0), {-127, 127});
    m.stored("b", {c.weight[0]}).result("y");
    m.op(3, {"x", "w", "b"}, {"y"},
         tables::CreateConvOptions(m.b, c.padding, c.stride_w, c.stride_h, c.activation, c.dilation_w, c.dilation_h));
    // Weights are 1.2 on an average at most, and errors of both signs.
    cases->push_back(m.done({.absolute = 2.0 / 127 / 2 * 1.27 * 2.5 * terms}));
  }
  CaseModel m("DEPTHWISE_CONV_2D hybrid");
  m.given("x", {1, 5, 7, 4}).stored("w", {1, 3, 3, 4}, kTfSigned, scaled_by_channel(0.01f, 4, 3), {-127, 127});
  m.stored("b", {4}).result("y");
  m.op(4, {"x", "w", "b"}, {"y"}, tables::CreateDepthwiseConvOptions(m.b, kSamePadding, 1, 1, 1));
  cases->push_back(m.done({.absolute = 2.0 / 127 / 2 * 1.27 * 2.5 * 9}));
}

}  // namespace

void add_window_cases(TfliteCases* cases) {
  add_convolutions(cases);
  add_transposed(cases);
  add_volumes(cases);
  add_poolings(cases);
}

void add_narrow_window_cases(TfliteCases* cases) {
  add_narrow_convolutions(cases);
  add_narrow_poolings(cases);
  add_hybrid_convolutions(cases);
}

}  // namespace hone
