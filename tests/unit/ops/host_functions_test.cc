// Functions in C against plain ones.
#include "compiler/ops/host_function.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <type_traits>

#include "compiler/build/build.h"
#include "compiler/ir/layout.h"
#include "compiler/runtime/include/hone_runtime.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using Tensors = std::vector<std::vector<char>>;

template <class T>
std::vector<char> bytes_of(const std::vector<T>& v) {
  const auto* p = reinterpret_cast<const char*>(v.data());
  return {p, p + v.size() * sizeof(T)};
}
template <class T>
std::vector<T> as(const std::vector<char>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

// The outputs; around the workspace and behind each output nothing may be written.
Tensors call(const std::string& workload, Tensors inputs) {
  const auto f = host_function_of(Workload::parse(test_operators(), workload));
  if (!f) {
    ADD_FAILURE() << workload << " is no function in C";
    return {};
  }
  constexpr size_t kGuard = 64;
  constexpr char kGuarded = 0x5a;
  Tensors outputs;
  for (const TensorType& t : f->outputs)
    outputs.emplace_back(static_cast<size_t>(element_count(t.shape) * t.dtype.bytes()) + kGuard, kGuarded);
  std::vector<void*> tensors;
  for (auto* list : {&inputs, &outputs})
    for (std::vector<char>& t : *list) tensors.push_back(t.data());
  const auto size = static_cast<size_t>(f->workspace_bytes);
  std::vector<char> workspace(size + kGuard, kGuarded);
  EXPECT_EQ(f->call(f->numbers.data(), tensors.data(), workspace.data()), 0);
  const auto is_guarded = [](char c) { return c == kGuarded; };
  EXPECT_TRUE(std::all_of(workspace.begin() + static_cast<std::ptrdiff_t>(size), workspace.end(), is_guarded));
  for (std::vector<char>& t : outputs) {
    EXPECT_TRUE(std::all_of(t.end() - kGuard, t.end(), is_guarded));
    t.resize(t.size() - kGuard);
  }
  return outputs;
}

TEST(HostFunctions, NonzeroFindsWhatIsTrue) {
  std::mt19937 random(1);
  for (const int64_t n : {1, 2, 63, 200}) {
    std::vector<uint8_t> x(static_cast<size_t>(n));
    std::vector<int64_t> places;
    for (size_t i = 0; i < x.size(); ++i)
      if ((x[i] = random() % 3 == 0)) places.push_back(static_cast<int64_t>(i));
    const Tensors out = call("nonzero(n=" + std::to_string(n) + ")", {bytes_of(x)});
    EXPECT_EQ(as<int64_t>(out[1])[0], std::ssize(places));
    places.resize(x.size(), 0);
    EXPECT_EQ(as<int64_t>(out[0]), places);
  }
}

template <class T>
void expect_top_k(const std::string& dtype, const std::vector<T>& x, int64_t outer, int64_t n, int64_t inner, int64_t k,
                  bool largest) {
  const Tensors out =
      call("top_k(shape=" + std::to_string(outer) + "x" + std::to_string(n) + "x" + std::to_string(inner) +
               ",axis=1,k=" + std::to_string(k) + ",largest=" + (largest ? "1" : "0") + ",dtype=" + dtype + ")",
           {bytes_of(x)});
  const std::vector<int64_t> got = as<int64_t>(out[0]);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<int64_t> order(static_cast<size_t>(n));
      std::iota(order.begin(), order.end(), 0);
      const auto at = [&](int64_t p) { return x[static_cast<size_t>((o * n + p) * inner + i)]; };
      std::stable_sort(order.begin(), order.end(),
                       [&](int64_t a, int64_t b) { return largest ? at(b) < at(a) : at(a) < at(b); });
      for (int64_t j = 0; j < k; ++j)
        EXPECT_EQ(got[static_cast<size_t>((o * k + j) * inner + i)], order[static_cast<size_t>(j)]);
    }
}

TEST(HostFunctions, TopKIsAStableSort) {
  std::mt19937 random(2);
  const int64_t outer = 2, n = 70, inner = 3;
  std::vector<float> floats;
  std::vector<int64_t> longs;
  std::vector<uint8_t> bytes;
  std::vector<int8_t> small;
  for (int64_t i = 0; i < outer * n * inner; ++i) {
    const auto v = static_cast<int>(random() % 40) - 20;  // with many that are equal
    floats.push_back(v == 3 ? -0.0f : v == 4 ? 0.0f : static_cast<float>(v) / 8);
    longs.push_back(v == 5 ? INT64_MIN : v == 6 ? INT64_MAX : v);
    bytes.push_back(static_cast<uint8_t>(v));
    small.push_back(static_cast<int8_t>(v));
  }
  floats[7] = std::numeric_limits<float>::infinity();
  floats[9] = -std::numeric_limits<float>::infinity();
  for (const int64_t k : {1, 2, 17, 70})
    for (const bool largest : {true, false}) {
      expect_top_k("f32", floats, outer, n, inner, k, largest);
      expect_top_k("s64", longs, outer, n, inner, k, largest);
      expect_top_k("u8", bytes, outer, n, inner, k, largest);
      expect_top_k("s8", small, outer, n, inner, k, largest);
    }
}

TEST(HostFunctions, HaveNoTemplates) {
  try {
    make_space(Workload::parse(test_operators(), "nonzero(n=3)"),
               Target::parse("llvm -mtriple=x86_64-linux -mcpu=znver4"));
    ADD_FAILURE();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(),
                 "nonzero is a part of models alone: a function in C, of which there is no other program to choose");
  }
}

// For short rows the definition is a loop nest, and no function in C is needed.
TEST(HostFunctions, TopKOfShortRowsIsAKernel) {
  EXPECT_FALSE(host_function_of(Workload::parse(test_operators(), "top_k(shape=4x64,k=3)")));
  EXPECT_TRUE(host_function_of(Workload::parse(test_operators(), "top_k(shape=4x65,k=3)")));
}

TEST(HostFunctions, UniqueRows) {
  std::mt19937 random(3);
  for (const bool sorted : {true, false})
    for (const int64_t there : {0, 1, 9, 40}) {
      const int64_t n = 40, m = 2;
      std::vector<int32_t> x;
      for (int64_t i = 0; i < n * m; ++i) x.push_back(static_cast<int32_t>(random() % 4) - 2);
      const Tensors out = call(std::string("unique(rows=40,row=2,sorted=") + (sorted ? "1" : "0") + ",dtype=s32)",
                               {bytes_of(x), bytes_of(std::vector<int64_t>{there})});
      const auto row = [&](int64_t r) {
        return std::pair(x[static_cast<size_t>(r * m)], x[static_cast<size_t>(r * m + 1)]);
      };
      std::vector<std::pair<int32_t, int32_t>> kinds;
      for (int64_t r = 0; r < there; ++r)
        if (std::find(kinds.begin(), kinds.end(), row(r)) == kinds.end()) kinds.push_back(row(r));
      if (sorted) std::sort(kinds.begin(), kinds.end());
      std::vector<int64_t> first(n, 0), inverse(n, 0), counts(n, 0);
      for (int64_t r = there; r-- > 0;) {
        const auto kind = static_cast<size_t>(std::find(kinds.begin(), kinds.end(), row(r)) - kinds.begin());
        first[kind] = r;
        inverse[static_cast<size_t>(r)] = static_cast<int64_t>(kind);
        ++counts[kind];
      }
      EXPECT_EQ(as<int64_t>(out[0]), first);
      EXPECT_EQ(as<int64_t>(out[1]), inverse);
      EXPECT_EQ(as<int64_t>(out[2]), counts);
      EXPECT_EQ(as<int64_t>(out[3])[0], std::ssize(kinds));
    }
}

struct Box {
  float y0, x0, y1, x1;
};
float overlap(const Box& a, const Box& b) {
  const float h = std::min(a.y1, b.y1) - std::max(a.y0, b.y0), w = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (h <= 0 || w <= 0) return 0;
  return h * w / ((a.y1 - a.y0) * (a.x1 - a.x0) + (b.y1 - b.y0) * (b.x1 - b.x0) - h * w);
}

TEST(HostFunctions, SuppressionTakesTheBestFirst) {
  std::mt19937 random(4);
  const int64_t batches = 2, classes = 3, n = 150, most = 40;
  struct Case {
    bool center;
    int64_t there, takes;
    float apart;  // of seven groups of boxes, as those of classes are put beside each other
  };
  std::vector<Case> cases;
  for (const bool center : {false, true})
    for (const int64_t there : {0, 1, 100, 150})
      for (const int64_t takes : {0, 5, 1000})
        for (const float apart : {0.f, 20.f, 1000.f}) cases.push_back({center, there, takes, apart});
  for (const auto& [center, there, takes, apart] : cases) {
    std::vector<float> boxes, scores;
    std::vector<Box> corners;
    for (int64_t i = 0; i < batches * n; ++i) {
      const auto at = [&] { return static_cast<float>(random() % 64) / 4; };
      const float group = static_cast<float>(i % 7) * apart;
      const float y = group + at(), x = group + at(), h = 1 + at() / 4, w = 1 + at() / 4;
      corners.push_back({y, x, y + h, x + w});
      if (center)
        boxes.insert(boxes.end(), {x + w / 2, y + h / 2, w, h});
      else if (i % 2)  // either diagonal, either corner first
        boxes.insert(boxes.end(), {y, x, y + h, x + w});
      else
        boxes.insert(boxes.end(), {y + h, x, y, x + w});
    }
    for (int64_t i = 0; i < batches * classes * n; ++i) scores.push_back(static_cast<float>(random() % 32) / 32);
    const Tensors out = call(
        std::string("non_max_suppression(batches=2,classes=3,boxes=150,most=40,center=") + (center ? "1" : "0") + ")",
        {bytes_of(boxes), bytes_of(scores), bytes_of(std::vector<int64_t>{there}),
         bytes_of(std::vector<int64_t>{takes}), bytes_of(std::vector<float>{0.4f}),
         bytes_of(std::vector<float>{0.25f})});
    std::vector<int64_t> wanted;
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t c = 0; c < classes; ++c) {
        const auto score = [&](int64_t i) { return scores[static_cast<size_t>((b * classes + c) * n + i)]; };
        std::vector<int64_t> order;
        for (int64_t i = 0; i < there; ++i)
          if (score(i) > 0.25f) order.push_back(i);
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score(i) > score(j); });
        std::vector<int64_t> taken;
        const auto box = [&](int64_t i) { return corners[static_cast<size_t>(b * n + i)]; };
        for (const int64_t i : order) {
          if (std::ssize(taken) == std::min(most, takes)) break;
          if (std::any_of(taken.begin(), taken.end(), [&](int64_t t) { return overlap(box(t), box(i)) > 0.4f; }))
            continue;
          taken.push_back(i);
          wanted.insert(wanted.end(), {b, c, i});
        }
      }
    EXPECT_EQ(as<int64_t>(out[1])[0], std::ssize(wanted) / 3);
    wanted.resize(static_cast<size_t>(batches * classes * most * 3), 0);
    EXPECT_EQ(as<int64_t>(out[0]), wanted);
  }
}

TEST(HostFunctions, RequireFailsWhereTheConditionDoesNotHold) {
  const auto f = host_function_of(Workload::parse(test_operators(), "require(shape=3)"));
  std::vector<float> x{1, 2, 3}, y(3, 0);
  uint8_t holds = 1;
  void* tensors[] = {x.data(), &holds, y.data()};
  EXPECT_EQ(f->call(f->numbers.data(), tensors, nullptr), HONE_OK);
  EXPECT_EQ(y, x);
  holds = 0;
  EXPECT_EQ(f->call(f->numbers.data(), tensors, nullptr), HONE_NO_RESULT);
}

TEST(HostFunctions, ScatterTakesNoPlaceThatIsNone) {
  const auto f = host_function_of(Workload::parse(test_operators(), "scatter(n=3,to=5,dtype=s32)"));
  std::vector<int32_t> x{7, 8, 9}, y(5, -1);
  std::vector<int64_t> places{4, 1, 4};
  void* tensors[] = {x.data(), places.data(), y.data()};
  EXPECT_EQ(f->call(f->numbers.data(), tensors, nullptr), HONE_OK);
  EXPECT_EQ(y, (std::vector<int32_t>{0, 8, 0, 0, 9}));
  for (const int64_t none : {int64_t{-1}, int64_t{5}, INT64_MAX, INT64_MIN}) {
    places[1] = none;
    EXPECT_EQ(f->call(f->numbers.data(), tensors, nullptr), HONE_NO_RESULT);
  }
}

// In every type whole numbers wrap around, and a NaN makes a maximum or a minimum NaN.
template <class T>
std::vector<T> scattered_rows(const std::string& attributes, std::vector<T> x, std::vector<int64_t> places,
                              std::vector<T> updates) {
  const auto f = host_function_of(Workload::parse(test_operators(), "scatter_rows(" + attributes + ")"));
  std::vector<T> y(x.size(), T{77});
  void* tensors[] = {x.data(), places.data(), updates.data(), y.data()};
  EXPECT_EQ(f->call(f->numbers.data(), tensors, nullptr), HONE_OK);
  return y;
}
template <class T>
void check_scattered_rows(const std::string& type) {
  const T most = std::numeric_limits<T>::max();
  const std::string of = "n=4,rows=3,row=2,dtype=" + type + ",reduction=";
  const std::vector<T> x{1, 2, 3, 4, 5, 6}, u{7, 8, 2, 9, most, most, 1, 1};
  const std::vector<int64_t> places{2, 0, 3, 2};  // 3 is none
  EXPECT_EQ(scattered_rows<T>(of + "none", x, places, u), (std::vector<T>{2, 9, 3, 4, 1, 1})) << type;
  EXPECT_EQ(scattered_rows<T>(of + "add", x, places, u), (std::vector<T>{3, 11, 3, 4, 13, 15})) << type;
  EXPECT_EQ(scattered_rows<T>(of + "mul", x, places, u), (std::vector<T>{2, 18, 3, 4, 35, 48})) << type;
  EXPECT_EQ(scattered_rows<T>(of + "max", x, places, u), (std::vector<T>{2, 9, 3, 4, 7, 8})) << type;
  EXPECT_EQ(scattered_rows<T>(of + "min", x, places, u), (std::vector<T>{1, 2, 3, 4, 1, 1})) << type;
  if constexpr (std::is_integral_v<T>) {
    const T least = std::numeric_limits<T>::min();
    const std::string one = "n=1,rows=1,row=1,dtype=" + type + ",reduction=";
    EXPECT_EQ(scattered_rows<T>(one + "add", {most}, {0}, {1}), std::vector<T>{least}) << type;
    EXPECT_EQ(scattered_rows<T>(one + "mul", {most}, {0}, {2}), std::vector<T>{static_cast<T>(most * 2ull)}) << type;
  }
}

TEST(HostFunctions, ScatterRowsCombinesEveryType) {
  check_scattered_rows<float>("f32");
  check_scattered_rows<double>("f64");
  check_scattered_rows<int8_t>("s8");
  check_scattered_rows<int16_t>("s16");
  check_scattered_rows<int32_t>("s32");
  check_scattered_rows<int64_t>("s64");
  check_scattered_rows<uint8_t>("u8");
  check_scattered_rows<uint16_t>("u16");
  check_scattered_rows<uint32_t>("u32");
  check_scattered_rows<uint64_t>("u64");
  const float nan = NAN;
  for (const char* reduction : {"max", "min"}) {
    const std::string of = std::string("n=2,rows=2,row=1,reduction=") + reduction;
    for (const float y : scattered_rows<float>(of, {nan, 1}, {0, 1}, {1, nan})) EXPECT_TRUE(std::isnan(y)) << reduction;
  }
}

TEST(HostFunctions, ScatterRowsLeavesOutWhatHasNoPlace) {
  for (const int64_t none : {int64_t{-1}, int64_t{3}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(scattered_rows<uint16_t>("n=1,rows=3,row=1,dtype=bf16", {1, 2, 3}, {none}, {9}),
              (std::vector<uint16_t>{1, 2, 3}))
        << none;
  for (const char* bad : {"reduction=sum", "reduction=add,dtype=f16", "reduction=max,dtype=bool"})
    EXPECT_THROW(Workload::parse(test_operators(), std::string("scatter_rows(") + bad + ")"), UserError) << bad;
}

}  // namespace
}  // namespace hone
