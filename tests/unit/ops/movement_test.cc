// Operators that move elements: their definitions, as the naive program in the interpreter, against plain loops.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "compiler/ir/interp.h"
#include "compiler/lower/lower.h"
#include "compiler/ops/definition.h"
#include "compiler/schedule/schedule.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Shape = std::vector<int64_t>;

int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

int64_t flat(const Shape& shape, const Shape& at) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    EXPECT_GE(at[d], 0);
    EXPECT_LT(at[d], shape[d]);
    index = index * shape[d] + at[d];
  }
  return index;
}

// Calls f with the indices of every element of `shape`, in order.
template <class F>
void for_each_element(const Shape& shape, const F& f) {
  Shape at(shape.size(), 0);
  for (int64_t n = count_of(shape); n > 0; --n) {
    f(at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

template <class T>
std::vector<char> bytes_of_in_movement(const std::vector<T>& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// 1, 2, 3, …: no two elements are alike.
std::vector<float> ascending(int64_t count, float first = 1) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

// The results of the naive program of an f32 workload.
std::vector<float> computed_in_movement(const std::string& text, std::vector<std::vector<char>> inputs,
                                        const Shape& shape) {
  const Definition d = define(parse_workload(text));
  EXPECT_EQ(d.output()->shape, shape) << text;
  EXPECT_EQ(d.inputs.size(), inputs.size()) << text;
  std::vector<InterpArg> args;
  for (size_t i = 0; i < inputs.size(); ++i)
    args.push_back({inputs[i].data(), element_count(d.inputs[i].first->shape)});
  std::vector<float> out(static_cast<size_t>(element_count(d.output()->shape)), std::nanf(""));
  args.push_back({out.data(), static_cast<int64_t>(out.size())});
  interpret(lower(Schedule(d.inputs, d.outputs), {}), args);
  return out;
}

// The input has the elements 1, 2, …: each element of the output is that of x at `source`, or `value` if the source has
// no dimensions.
template <class F>
void expect_moves(const std::string& text, const Shape& from, const Shape& to, const F& source, float value = 0) {
  SCOPED_TRACE(text);
  std::vector<float> want;
  for_each_element(to, [&](const Shape& at) {
    const Shape s = source(at);
    want.push_back(s.empty() ? value : static_cast<float>(flat(from, s) + 1));
  });
  EXPECT_EQ(computed_in_movement(text, {bytes_of_in_movement(ascending(count_of(from)))}, to), want);
}

std::string refusal_in_movement(const std::string& text) {
  try {
    return "accepted: " + to_string(parse_workload(text));
  } catch (const UserError& e) {
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
    return e.what();
  }
}
std::string canonical_in_movement(const std::string& text) {
  const std::string once = to_string(parse_workload(text));
  EXPECT_EQ(to_string(parse_workload(once)), once);
  return once;
}

TEST(Movement, Transposes) {
  expect_moves("transpose(shape=2x3x4x5,perm=0:2:3:1)", {2, 3, 4, 5}, {2, 4, 5, 3}, [](const Shape& i) {
    return Shape{i[0], i[3], i[1], i[2]};
  });
  expect_moves("transpose(shape=2x3x5)", {2, 3, 5}, {5, 3, 2}, [](const Shape& i) { return Shape{i[2], i[1], i[0]}; });
  EXPECT_EQ(canonical_in_movement("transpose(shape=2x3x4,perm=-1:0:1)"), "transpose(shape=2x3x4,perm=2:0:1,dtype=f32)");
  EXPECT_EQ(canonical_in_movement("transpose(shape=2x3,dtype=bool)"), "transpose(shape=2x3,perm=1:0,dtype=bool)");
  EXPECT_THAT(refusal_in_movement("transpose(shape=2x3,perm=0:0)"), HasSubstr("perm=0:0 names an axis twice"));
  EXPECT_THAT(refusal_in_movement("transpose(shape=2x3,perm=0:2)"),
              HasSubstr("perm: '2' is not a whole number from -2 to 1"));
  EXPECT_THAT(refusal_in_movement("transpose(shape=2x3,perm=0:1:1)"), HasSubstr("are 3 numbers, not 2"));
  EXPECT_THAT(refusal_in_movement("transpose(dtype=f8)"), HasSubstr("dtype=f8 is not supported; allowed: f16,"));
  EXPECT_THAT(refusal_in_movement("reduce(dtype=bool)"), HasSubstr("dtype=bool is not supported"));
}

TEST(Movement, Reshapes) {
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{{{2, 3, 4}, {6, 4}},
                                                                     {{6, 4}, {2, 3, 4}},
                                                                     {{6, 35, 2}, {7, 1, 60}},
                                                                     {{1, 5, 1, 1}, {5}},
                                                                     {{5}, {1, 1, 5, 1}},
                                                                     {{4, 6}, {3, 8}},
                                                                     {{1}, {1, 1}}}) {
    const auto text = [](const Shape& s) { return fmt::format("{}", fmt::join(s, "x")); };
    expect_moves(fmt::format("reshape(shape={},to={})", text(from), text(to)), from, to,
                 [&, f = from, t = to](const Shape& i) {
                   int64_t n = flat(t, i);
                   Shape at(f.size());
                   for (size_t d = f.size(); d-- > 0; n /= f[d]) at[d] = n % f[d];
                   return at;
                 });
  }
  EXPECT_EQ(canonical_in_movement("reshape(shape=2x3)"), "reshape(shape=2x3,to=2x3,dtype=f32)");
  EXPECT_THAT(refusal_in_movement("reshape(shape=2x3,to=7)"), HasSubstr("to=7 has 7 elements, shape=2x3 has 6"));
}

TEST(Movement, Broadcasts) {
  expect_moves("broadcast(shape=2x1x3x1,to=2x4x3x5)", {2, 1, 3, 1}, {2, 4, 3, 5}, [](const Shape& i) {
    return Shape{i[0], 0, i[2], 0};
  });
  expect_moves("broadcast(shape=1,to=7)", {1}, {7}, [](const Shape&) { return Shape{0}; });
  EXPECT_THAT(refusal_in_movement("broadcast(shape=2x3,to=4x3)"), HasSubstr("to=4x3: shape=2x3 does not fit"));
  EXPECT_THAT(refusal_in_movement("broadcast(shape=3,to=4x3)"), HasSubstr("to=4x3: shape=3 does not fit"));
  EXPECT_THAT(refusal_in_movement("broadcast(shape=1x1,to=4294967296x4294967296)"),
              HasSubstr("more than 2^48 elements"));
}

TEST(Movement, Concatenates) {
  for (const auto& [outer, extents, inner] : std::vector<std::tuple<int64_t, Shape, int64_t>>{
           {2, {3}, 5}, {1, {2, 4, 1}, 3}, {3, {1, 1, 1, 7, 2}, 1}, {1, Shape(256, 1), 2}}) {
    std::string shapes;
    std::vector<std::vector<char>> inputs;
    std::vector<std::vector<float>> values;
    for (int64_t extent : extents) {
      shapes += fmt::format("{}{}x{}x{}", shapes.empty() ? "" : ":", outer, extent, inner);
      values.push_back(ascending(outer * extent * inner, 1000 * static_cast<float>(values.size())));
      inputs.push_back(bytes_of_in_movement(values.back()));
    }
    std::vector<float> want;
    for (int64_t o = 0; o < outer; ++o)
      for (size_t x = 0; x < extents.size(); ++x)
        for (int64_t e = 0; e < extents[x] * inner; ++e)
          want.push_back(values[x][static_cast<size_t>(o * extents[x] * inner + e)]);
    const int64_t length = std::accumulate(extents.begin(), extents.end(), int64_t{0});
    EXPECT_EQ(computed_in_movement(fmt::format("concat(shapes={},axis=1)", shapes), inputs, {outer, length, inner}),
              want);
  }
  EXPECT_EQ(canonical_in_movement("concat(shapes=2x3:2x4,axis=-1)"), "concat(shapes=2x3:2x4,axis=1,dtype=f32)");
  EXPECT_THAT(refusal_in_movement("concat(shapes=2x3:2x4,axis=0)"),
              HasSubstr("2x4 does not fit 2x3; they differ in nothing but"));
  EXPECT_THAT(refusal_in_movement("concat(shapes=2x3:3,axis=0)"), HasSubstr("3 does not fit 2x3"));
  EXPECT_THAT(refusal_in_movement("concat(shapes=2x3,axis=2)"),
              HasSubstr("axis: '2' is not a whole number from -2 to 1"));
  EXPECT_THAT(refusal_in_movement("concat(shapes=4294967296:4294967296,axis=0)"),
              HasSubstr("is not a whole number from 1 to"));
  std::string many = "1";
  for (int n = 0; n < 256; ++n) many += ":1";
  EXPECT_THAT(refusal_in_movement("concat(axis=0,shapes=" + many + ")"),
              HasSubstr("shapes are 257 shapes; at most 256"));
}

TEST(Movement, Slices) {
  expect_moves("slice(shape=9x40,begin=8:1,step=-2:3,size=4x13)", {9, 40}, {4, 13}, [](const Shape& i) {
    return Shape{8 - 2 * i[0], 1 + 3 * i[1]};
  });
  expect_moves("slice(shape=5x6,begin=4:0,step=-1:1)", {5, 6}, {5, 6}, [](const Shape& i) {
    return Shape{4 - i[0], i[1]};
  });
  expect_moves("slice(shape=7,begin=3,step=-4294967296,size=1)", {7}, {1}, [](const Shape&) { return Shape{3}; });
  EXPECT_EQ(canonical_in_movement("slice(shape=5x6,begin=1,step=2)"),
            "slice(shape=5x6,begin=1:1,step=2:2,size=2x3,dtype=f32)");
  EXPECT_THAT(refusal_in_movement("slice(shape=5x6,step=0:1)"), HasSubstr("step=0:1: a step is 0"));
  EXPECT_THAT(refusal_in_movement("slice(shape=5x6,begin=5:0)"),
              HasSubstr("5 is outside of axis 0, which has 5 elements"));
  EXPECT_THAT(refusal_in_movement("slice(shape=5x6,begin=1:0,size=5x6)"),
              HasSubstr("along axis 0 there are 4 elements from 1"));
  EXPECT_THAT(refusal_in_movement("slice(shape=5x6,begin=1:0,step=-1:1,size=3x6)"),
              HasSubstr("there are 2 elements from 1 by"));
  EXPECT_THAT(refusal_in_movement("slice(shape=5x6,size=5)"), HasSubstr("size=5 has 1 dimensions, shape has 2"));
  EXPECT_THAT(refusal_in_movement("slice(shape=5,step=9223372036854775807)"),
              HasSubstr("is not a whole number from -4294967296"));
}

TEST(Movement, Pads) {
  const Shape from{3, 5}, to{3 + 1 + 2, 5 + 3 + 4};
  const std::string sizes = "shape=3x5,before=1:3,after=2:4";
  const auto moves = [&](const std::string& mode, const std::function<int64_t(int64_t, int64_t)>& stand_in) {
    expect_moves(
        fmt::format("pad({},{})", sizes, mode), from, to,
        [&](const Shape& i) {
          const Shape at{stand_in(i[0] - 1, 3), stand_in(i[1] - 3, 5)};
          return at[0] < 0 || at[1] < 0 ? Shape{} : at;
        },
        -2.5f);
  };
  moves("value=-2.5", [](int64_t j, int64_t n) { return j < 0 || j >= n ? -1 : j; });
  moves("mode=edge", [](int64_t j, int64_t n) { return j < 0 ? 0 : j >= n ? n - 1 : j; });
  moves("mode=wrap", [](int64_t j, int64_t n) { return (j + 10 * n) % n; });
  moves("mode=reflect", [](int64_t j, int64_t n) { return j < 0 ? -j : j >= n ? n - 1 - (j - (n - 1)) : j; });
  expect_moves("pad(shape=2,before=5,after=3,mode=wrap)", {2}, {10},
               [](const Shape& i) { return Shape{(i[0] + 1) % 2}; });
}

TEST(Movement, PaddingHasOneTextANumber) {
  const auto value = [](const std::string& args) {
    const std::string text = canonical_in_movement("pad(shape=3,before=1," + args + ")");
    const size_t at = text.find("value=") + 6;
    return text.substr(at, text.find(',', at) - at);
  };
  EXPECT_EQ(value("value=1.0"), "1");
  EXPECT_EQ(value("value=1e3"), "1000");
  EXPECT_EQ(value("value=0.1"), "0.1");
  EXPECT_EQ(value("value=0.10000000149"), "0.1");
  EXPECT_EQ(value("value=0.10000000149,dtype=f64"), "0.10000000149");
  EXPECT_EQ(value("value=-inf,dtype=f16"), "-inf");
  EXPECT_EQ(value("value=-nan"), "nan");
  EXPECT_EQ(value("value=18446744073709551615,dtype=u64"), "18446744073709551615");
  EXPECT_EQ(value("value=-9223372036854775808,dtype=s64"), "-9223372036854775808");
  EXPECT_EQ(value("value=1e2,dtype=s8"), "100");
  EXPECT_EQ(value("value=7,mode=edge"), "0");
  for (const char* args : {"value=128,dtype=s8", "value=-1,dtype=u64", "value=0.5,dtype=s32", "value=nan,dtype=u8",
                           "value=inf,dtype=s64", "value=2,dtype=bool", "value=1e39", "value=70000,dtype=f16",
                           "value=18446744073709551616,dtype=u64", "value=9223372036854775808,dtype=s64"})
    EXPECT_THAT(refusal_in_movement(fmt::format("pad(shape=3,{})", args)), HasSubstr("is no ")) << args;
  EXPECT_THAT(refusal_in_movement("pad(value=x)"), HasSubstr("value=x is not a number"));
  EXPECT_THAT(refusal_in_movement("pad(value=1e999)"), HasSubstr("value=1e999 is not a number"));
  EXPECT_THAT(refusal_in_movement("pad(shape=3,before=3,mode=reflect)"),
              HasSubstr("has 2 elements to mirror along axis 0, not 3"));
  EXPECT_THAT(refusal_in_movement("pad(shape=3,before=-1)"), HasSubstr("before: '-1' is not a whole number from 0"));
  EXPECT_THAT(refusal_in_movement("pad(shape=3,before=4294967296)"),
              HasSubstr("is not a whole number from 1 to 4294967296"));
  EXPECT_THAT(refusal_in_movement("pad(shape=3,before=9223372036854775807)"),
              HasSubstr("is not a whole number from 0"));
}

TEST(Movement, Gathers) {
  const Shape data{3, 5, 4}, indices{2, 3}, to{3, 2, 3, 4};
  const std::vector<int64_t> which{0, 4, -1, -5, 7, -9};
  const auto row = [&](int64_t n) {
    const int64_t i = which[static_cast<size_t>(n)];
    return std::clamp<int64_t>(i < 0 ? i + 5 : i, 0, 4);
  };
  std::vector<float> want;
  for_each_element(to, [&](const Shape& i) {
    want.push_back(static_cast<float>(flat(data, {i[0], row(i[1] * 3 + i[2]), i[3]}) + 1));
  });
  const auto x = bytes_of_in_movement(ascending(60));
  EXPECT_EQ(computed_in_movement("gather(shape=3x5x4,indices=2x3,axis=1)", {x, bytes_of_in_movement(which)}, to), want);
  const std::vector<int32_t> narrow(which.begin(), which.end());
  EXPECT_EQ(
      computed_in_movement("gather(shape=3x5x4,indices=2x3,axis=-2,index=s32)", {x, bytes_of_in_movement(narrow)}, to),
      want);
  const std::vector<int64_t> ends{INT64_MIN, INT64_MAX};
  EXPECT_EQ(computed_in_movement("gather(shape=3,indices=2,axis=0)",
                                 {bytes_of_in_movement(ascending(3)), bytes_of_in_movement(ends)}, {2}),
            (std::vector<float>{1, 3}));
  EXPECT_EQ(canonical_in_movement("gather(shape=3x5,indices=2,axis=-1)"),
            "gather(shape=3x5,indices=2,axis=1,index=s64,dtype=f32)");
  EXPECT_THAT(refusal_in_movement("gather(indices=scalar)"), HasSubstr("indices=scalar is not supported"));
  EXPECT_THAT(refusal_in_movement("gather(index=u8)"), HasSubstr("index=u8 is unknown; allowed: s32, s64"));
  EXPECT_THAT(refusal_in_movement("gather(shape=2x2x2x2x2,indices=1x1x1x1x1,axis=0)"),
              HasSubstr("has 9 axes; at most 8"));
  EXPECT_THAT(refusal_in_movement("gather(shape=2x4294967296,indices=4294967296,axis=0)"),
              HasSubstr("more than 2^48 elements"));
}

TEST(Movement, GathersElements) {
  const Shape data{4, 3, 2}, to{3, 5, 2};
  std::vector<int64_t> which;
  for (int64_t n = 0; n < count_of(to); ++n) which.push_back(n * 5 % 11 - 5);
  std::vector<float> want;
  for_each_element(to, [&](const Shape& i) {
    const int64_t index = which[static_cast<size_t>(flat(to, i))];
    const int64_t at = std::clamp<int64_t>(index < 0 ? index + 3 : index, 0, 2);
    want.push_back(static_cast<float>(flat(data, {i[0], at, i[2]}) + 1));
  });
  EXPECT_EQ(computed_in_movement("gather_elements(shape=4x3x2,indices=3x5x2,axis=1)",
                                 {bytes_of_in_movement(ascending(24)), bytes_of_in_movement(which)}, to),
            want);
  EXPECT_EQ(canonical_in_movement("gather_elements(shape=4x3,indices=4x9,axis=-1,index=s32)"),
            "gather_elements(shape=4x3,indices=4x9,axis=1,index=s32,dtype=f32)");
  EXPECT_THAT(refusal_in_movement("gather_elements(shape=4x3,indices=5x3,axis=1)"), HasSubstr("do not fit shape=4x3"));
  EXPECT_THAT(refusal_in_movement("gather_elements(shape=4x3,indices=4,axis=1)"), HasSubstr("do not fit shape=4x3"));
}

TEST(Movement, LooksBytesUp) {
  std::vector<float> table = ascending(256);
  const std::vector<uint8_t> bytes{0, 255, 7, 128, 127, 1};
  EXPECT_EQ(computed_in_movement("lookup(shape=2x3,index=u8,dtype=f32)",
                                 {bytes_of_in_movement(bytes), bytes_of_in_movement(table)}, {2, 3}),
            (std::vector<float>{1, 256, 8, 129, 128, 2}));
  EXPECT_EQ(computed_in_movement("lookup(shape=2x3,index=s8,dtype=f32)",
                                 {bytes_of_in_movement(bytes), bytes_of_in_movement(table)}, {2, 3}),
            (std::vector<float>{129, 128, 136, 1, 256, 130}));
  EXPECT_EQ(canonical_in_movement("lookup(shape=4)"), "lookup(shape=4,index=u8,dtype=u8)");
  EXPECT_THAT(refusal_in_movement("lookup(index=s16)"), HasSubstr("index=s16 is unknown; allowed: u8, s8"));
}

TEST(Movement, GathersByRowsOfIndices) {
  const Shape data{3, 5, 2};
  const auto x = bytes_of_in_movement(ascending(30));
  const std::vector<int32_t> rows{0, 4, -1, -2, 7, 0, 2, -9};
  std::vector<float> want;
  for (const auto& [r, c] : std::vector<std::pair<int64_t, int64_t>>{{0, 4}, {2, 3}, {2, 0}, {2, 0}})
    for (int64_t e = 0; e < 2; ++e) want.push_back(static_cast<float>(flat(data, {r, c, e}) + 1));
  EXPECT_EQ(computed_in_movement("gather_nd(shape=3x5x2,indices=2x2x2,index=s32)", {x, bytes_of_in_movement(rows)},
                                 {2, 2, 2}),
            want);
  EXPECT_EQ(computed_in_movement("gather_nd(shape=3x5x2,indices=3)",
                                 {x, bytes_of_in_movement(std::vector<int64_t>{1, -1, 1})}, {1}),
            (std::vector<float>{static_cast<float>(flat(data, {1, 4, 1}) + 1)}));
  EXPECT_EQ(
      computed_in_movement("gather_nd(shape=3,indices=2x1)",
                           {bytes_of_in_movement(ascending(3)), bytes_of_in_movement(std::vector<int64_t>{2, 0})}, {2}),
      (std::vector<float>{3, 1}));
  EXPECT_THAT(refusal_in_movement("gather_nd(shape=3x5,indices=2x3)"),
              HasSubstr("have rows of 3, shape=3x5 has 2 dimensions"));
}

TEST(Movement, MovesBlocksBetweenChannelsAndPixels) {
  expect_moves("depth_to_space(shape=2x12x3x4,block=2)", {2, 12, 3, 4}, {2, 3, 6, 8}, [](const Shape& i) {
    return Shape{i[0], (i[2] % 2 * 2 + i[3] % 2) * 3 + i[1], i[2] / 2, i[3] / 2};
  });
  expect_moves("depth_to_space(shape=2x12x3x4,block=2,mode=CRD)", {2, 12, 3, 4}, {2, 3, 6, 8}, [](const Shape& i) {
    return Shape{i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2};
  });
  expect_moves("space_to_depth(shape=1x3x6x9,block=3)", {1, 3, 6, 9}, {1, 27, 2, 3}, [](const Shape& i) {
    const int64_t place = i[1] / 3;
    return Shape{i[0], i[1] % 3, i[2] * 3 + place / 3, i[3] * 3 + place % 3};
  });
  EXPECT_THAT(refusal_in_movement("depth_to_space(shape=1x6x2x2)"),
              HasSubstr("6 channels are no multiple of block*block=4"));
  EXPECT_THAT(refusal_in_movement("depth_to_space(shape=6x2x2)"), HasSubstr("shape=6x2x2 must have 4 dimensions"));
  EXPECT_THAT(refusal_in_movement("space_to_depth(shape=1x1x5x4)"),
              HasSubstr("an image of 5x4 is no multiple of block=2"));
}

// ONNX's Resize along one axis, from its text: coordinates in double, where they are exact for these sizes.
struct Resize1d {
  std::string mode, coordinates, rounding = "round_prefer_floor";
  double scale, a = -0.75;
  bool exclude_outside = false;
  int64_t in, out;

  double coordinate(int64_t i) const {
    const auto x = static_cast<double>(i);
    if (coordinates == "asymmetric") return x / scale;
    if (coordinates == "align_corners")
      return out == 1 ? 0 : x * static_cast<double>(in - 1) / static_cast<double>(out - 1);
    if (coordinates == "pytorch_half_pixel" && out == 1) return 0;
    return (x + 0.5) / scale - 0.5;
  }
  // Weights of the input's elements.
  std::vector<double> weights(int64_t i) const {
    std::vector<double> w(static_cast<size_t>(in), 0);
    const double x = coordinate(i), base = std::floor(x), t = x - base;
    const auto add = [&](double at, double weight) {
      w[static_cast<size_t>(std::clamp(at, 0.0, static_cast<double>(in - 1)))] += weight;
    };
    if (mode == "nearest") {
      add(rounding == "floor"                ? base
          : rounding == "ceil"               ? std::ceil(x)
          : rounding == "round_prefer_floor" ? std::ceil(x - 0.5)
                                             : std::floor(x + 0.5),
          1);
    } else if (mode == "linear") {
      add(base, 1 - t);
      add(base + 1, t);
    } else {
      double sum = 0;
      std::vector<std::pair<double, double>> taps;
      for (int k = -1; k <= 2; ++k) {
        const double d = std::fabs(t - k);
        double weight =
            d <= 1 ? (a + 2) * d * d * d - (a + 3) * d * d + 1 : a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a;
        if (exclude_outside && (base + k < 0 || base + k >= static_cast<double>(in))) weight = 0;
        taps.emplace_back(base + k, weight);
        sum += weight;
      }
      for (const auto& [at, weight] : taps) add(at, exclude_outside ? weight / sum : weight);
    }
    return w;
  }
};

void expect_resizes(const Resize1d& rows, const Resize1d& columns, const std::string& scales) {
  const std::string text = fmt::format(
      "resize(shape=2x{}x{},size=2x{}x{},mode={},coordinates={},rounding={},scales={},cubic_coeff_a={},"
      "exclude_outside={})",
      rows.in, columns.in, rows.out, columns.out, rows.mode, rows.coordinates, rows.rounding, scales, rows.a,
      rows.exclude_outside ? 1 : 0);
  SCOPED_TRACE(text);
  std::vector<float> x;
  for (int64_t n = 0; n < 2 * rows.in * columns.in; ++n) x.push_back(static_cast<float>(n * n % 37) / 4);
  const Shape to{2, rows.out, columns.out};
  const std::vector<float> got = computed_in_movement(text, {bytes_of_in_movement(x)}, to);
  size_t n = 0;
  for_each_element(to, [&](const Shape& i) {
    double want = 0;
    const auto r = rows.weights(i[1]), c = columns.weights(i[2]);
    for (size_t p = 0; p < r.size(); ++p)
      for (size_t q = 0; q < c.size(); ++q)
        want += r[p] * c[q] * x[(static_cast<size_t>(i[0]) * r.size() + p) * c.size() + q];
    EXPECT_NEAR(got[n++], want, 2e-5) << fmt::format("{}", fmt::join(i, ","));
  });
}

TEST(Movement, ResizesAsOnnxSays) {
  struct Size {
    int64_t in, out;
  };
  for (const char* coordinates : {"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"}) {
    for (const auto& [h, w] :
         std::vector<std::pair<Size, Size>>{{{4, 8}, {5, 15}}, {{8, 4}, {12, 3}}, {{6, 1}, {4, 6}}, {{1, 4}, {5, 5}}}) {
      Resize1d rows{"nearest", coordinates, "", 0, -0.75, false, h.in, h.out};
      Resize1d columns{"nearest", coordinates, "", 0, -0.75, false, w.in, w.out};
      rows.scale = static_cast<double>(h.out) / static_cast<double>(h.in);
      columns.scale = static_cast<double>(w.out) / static_cast<double>(w.in);
      for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        // Double coordinates are exact where scales are powers of two.
        if (w.out == 15 || w.out == 6 || w.out == 3) continue;
        rows.rounding = columns.rounding = rounding;
        expect_resizes(rows, columns, "size");
      }
      rows.rounding = columns.rounding = "round_prefer_floor";
      rows.mode = columns.mode = "linear";
      expect_resizes(rows, columns, "size");
      rows.mode = columns.mode = "cubic";
      expect_resizes(rows, columns, "size");
      rows.a = columns.a = -0.5;
      rows.exclude_outside = columns.exclude_outside = true;
      expect_resizes(rows, columns, "size");
    }
  }
}

TEST(Movement, ResizesByScalesThatSizesDoNotSay) {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    const Resize1d rows{mode, "asymmetric", "round_prefer_floor", 1, -0.75, false, 3, 3};
    expect_resizes(rows, {mode, "asymmetric", "round_prefer_floor", 1.75, -0.75, false, 5, 8}, "1/1:1/1:7/4");
    expect_resizes(rows, {mode, "asymmetric", "round_prefer_floor", 0.625, -0.75, false, 7, 4}, "1/1:1/1:10/16");
  }
}

TEST(Movement, ResizesIndicesExactly) {
  // A third of an element is no double: exact coordinates still find the middle between two elements.
  expect_moves("resize(shape=9,size=3,coordinates=half_pixel)", {9}, {3},
               [](const Shape& i) { return Shape{3 * i[0] + 1}; });
  expect_moves("resize(shape=3,size=9,coordinates=half_pixel)", {3}, {9},
               [](const Shape& i) { return Shape{i[0] / 3}; });
  expect_moves("resize(shape=10,size=7,coordinates=asymmetric,rounding=floor)", {10}, {7},
               [](const Shape& i) { return Shape{i[0] * 10 / 7}; });
}

TEST(Movement, ResizesToATextOfWhatMatters) {
  EXPECT_EQ(canonical_in_movement("resize(shape=4x6,size=8x9)"),
            "resize(shape=4x6,size=8x9,mode=nearest,coordinates=half_pixel,rounding=round_prefer_floor,"
            "scales=2/1:3/2,cubic_coeff_a=-0.75,exclude_outside=0,dtype=f32)");
  EXPECT_EQ(
      canonical_in_movement("resize(shape=4,size=8,mode=linear,rounding=ceil,cubic_coeff_a=-0.50,exclude_outside=1)"),
      canonical_in_movement("resize(shape=4,size=8,mode=linear)"));
  EXPECT_THAT(canonical_in_movement("resize(shape=4,size=8,mode=cubic,cubic_coeff_a=-0.50,scales=4/2)"),
              HasSubstr("scales=2/1,cubic_coeff_a=-0.5,exclude_outside=0"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=8,scales=2)"), HasSubstr("'2' is no fraction"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=8,scales=1/0)"), HasSubstr("'0' is not a whole number from 1"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=8,scales=1/1:1/1)"), HasSubstr("are 2 fractions, not 1"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=8x1)"), HasSubstr("size=8x1 has 2 dimensions, shape has 1"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=4294967296,scales=1/4294967296)"),
              HasSubstr("do not fit 64 bits"));
  EXPECT_THAT(refusal_in_movement("resize(shape=4,size=8,mode=linear,dtype=bool)"), HasSubstr("mode=linear of bool"));
  EXPECT_THAT(refusal_in_movement("resize(shape=2x2x2,size=3x3x3,mode=cubic)"),
              HasSubstr("along 3 axes is not supported"));
  EXPECT_THAT(
      refusal_in_movement("resize(shape=2,size=9,mode=cubic,coordinates=asymmetric,scales=2/3,exclude_outside=1)"),
      HasSubstr("have nothing inside near them"));
  EXPECT_THAT(refusal_in_movement("resize(cubic_coeff_a=nan)"), HasSubstr("cubic_coeff_a=nan is not a number"));
  EXPECT_THAT(refusal_in_movement("resize(mode=area)"),
              HasSubstr("mode=area is unknown; allowed: nearest, linear, cubic"));
}

}  // namespace
}  // namespace hone
