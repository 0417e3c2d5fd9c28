// Products of matrices.
#include <cmath>

#include "tests/conformance/tflite/case.h"

namespace hone {
namespace {

using Shape = std::vector<int32_t>;

constexpr AnswerBound kStepOfProducts = {.steps = 1};

int64_t zero_in(int8_t type, int64_t z) { return type == kTfShort ? 0 : type == kTfByte ? 128 + z : z; }

void add_fully_connected(TfliteCases* cases) {
  struct Product {
    std::string what;
    Shape x;
    int32_t n, k;
    int8_t activation = 0;
    bool keeps = false, has_bias = true;
  };
  const std::vector<Product> all = {{"odd", {3, 7}, 5, 7},
                                    {"a row, relu", {1, 19}, 3, 19, 1},
                                    {"of an image, relu6", {2, 2, 3, 2}, 4, 12, 3},
                                    {"keeps axes", {2, 3, 7}, 5, 7, 0, true},
                                    {"no bias", {4, 8}, 8, 8, 0, false, false}};
  struct Numbers {
    int8_t x, w;
    bool is_by_channel;
    const char* name;
  };
  const std::vector<Numbers> kinds = {{kTfFloat, kTfFloat, false, "f32"},
                                      {kTfSigned, kTfSigned, false, "i8"},
                                      {kTfSigned, kTfSigned, true, "i8 by channel"},
                                      {kTfByte, kTfByte, false, "u8"},
                                      {kTfShort, kTfSigned, false, "i16"},
                                      {kTfFloat, kTfSigned, false, "hybrid"}};
  for (const Numbers& n : kinds)
    for (const Product& p : all) {
      CaseModel m(std::string("FULLY_CONNECTED ") + n.name + " " + p.what);
      const bool is_float = n.x == kTfFloat, is_hybrid = is_float && n.w != kTfFloat;
      const float input = n.x == kTfShort ? 0.0004f : 0.05f;
      TfliteScales scales;
      if (n.w != kTfFloat)
        scales = n.is_by_channel ? scaled_by_channel(0.01f, p.n, 0) : scaled(0.012f, n.w == kTfByte ? 121 : 0);
      m.given("x", p.x, n.x, is_float ? TfliteScales{} : scaled(input, zero_in(n.x, 3)));
      m.stored("w", {p.n, p.k}, n.w, scales, n.w == kTfSigned ? DrawnFrom{-127, 127} : DrawnFrom{});
      std::vector<std::string> inputs{"x", "w"};
      if (p.has_bias) {
        TfliteScales of_bias = scales;
        for (float& s : of_bias.scale) s *= input;
        of_bias.zero.assign(of_bias.zero.size(), 0);
        if (is_float)
          m.stored("b", {p.n});
        else
          m.stored("b", {p.n}, n.x == kTfShort ? int8_t{kTfLong} : int8_t{kTfInt}, of_bias, {-900, 900});
        inputs.push_back("b");
      } else {
        inputs.push_back("");
      }
      const float size = 2.5f * (n.x == kTfShort ? 4.0f : 1.0f) * std::sqrt(static_cast<float>(p.k));
      m.result("y", n.x, is_float ? TfliteScales{} : scaled(size / (n.x == kTfShort ? 30000 : 128), zero_in(n.x, -7)));
      m.op(9, inputs, {"y"}, tables::CreateFullyConnectedOptions(m.b, p.activation, 0, p.keeps));
      AnswerBound bound = kStepOfProducts;
      if (is_float) bound = {.terms = static_cast<double>(p.k)};
      // Half a step of each input times its weight.
      if (is_hybrid) bound.absolute = 2.0 / 127 / 2 * 1.53 * p.k;
      cases->push_back(m.done(bound));
    }
  {
    CaseModel m("FULLY_CONNECTED sparse weights");
    m.given("x", {2, 3}).data("w", {2, 3}, kTfFloat, bytes_of_numbers<float>({1.5f, -2, 3}), {}, m.three_of_two_rows());
    m.result("y").op(124, {"w"}, {"d"}).op(9, {"x", "d", ""}, {"y"}, tables::CreateFullyConnectedOptions(m.b));
    cases->push_back(m.done({.terms = 3}));
  }
}

void add_batch_matmul(TfliteCases* cases) {
  struct Batch {
    std::string what;
    Shape a, b;
    bool turns_a = false, turns_b = false;
  };
  const std::vector<Batch> all = {{"plain", {2, 3, 5}, {2, 5, 4}},
                                  {"broadcast", {2, 1, 3, 5}, {3, 5, 2}},
                                  {"both turned", {2, 5, 3}, {2, 4, 5}, true, true},
                                  {"second turned", {3, 5}, {4, 5}, false, true}};
  for (const Batch& p : all) {
    const double k = 5;
    CaseModel m("BATCH_MATMUL f32 " + p.what);
    m.given("a", p.a).given("b", p.b).result("y");
    m.op(126, {"a", "b"}, {"y"}, tables::CreateBatchMatMulOptions(m.b, p.turns_a, p.turns_b));
    cases->push_back(m.done({.terms = k}));
    for (const int8_t type : {kTfSigned, kTfShort}) {
      CaseModel q("BATCH_MATMUL " + type_name(type) + " " + p.what);
      const float scale = type == kTfShort ? 0.0002f : 0.05f;
      q.given("a", p.a, type, scaled(scale, zero_in(type, 4))).given("b", p.b, type, scaled(scale, zero_in(type, -9)));
      q.result("y", type, scaled(type == kTfShort ? 0.005f : 0.4f, zero_in(type, 11)));
      q.op(126, {"a", "b"}, {"y"}, tables::CreateBatchMatMulOptions(q.b, p.turns_a, p.turns_b));
      cases->push_back(q.done(kStepOfProducts));
    }
  }
}

// Two axes of points; what is not complex is compared.
void add_fourier(TfliteCases* cases) {
  for (const auto& [h, w] : {std::pair{4, 8}, {8, 4}, {1, 16}, {2, 2}})
    for (const auto& [code, name] : {std::pair{134, "REAL"}, {133, "IMAG"}, {135, "COMPLEX_ABS"}}) {
      CaseModel m("RFFT2D " + std::to_string(h) + "x" + std::to_string(w) + " " + name);
      constexpr int8_t kTfComplex = 8;
      m.given("x", {2, h == 1 ? 1 : 5, 7}).numbers("n", {h, w}).tensor("c", {}, kTfComplex).result("y");
      m.op(131, {"x", "n"}, {"c"}).op(code, {"c"}, {"y"});
      cases->push_back(m.done({.terms = static_cast<double>(h * w), .absolute = 1e-6}));
    }
}

}  // namespace

void add_product_cases(TfliteCases* cases) {
  add_fully_connected(cases);
  add_batch_matmul(cases);
  add_fourier(cases);
}

}  // namespace hone
