// A decoder with caches, as exporters write it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/fakes/test_model.h"

namespace hone {

/// Heads, elements of each, and rows that its tables have: one more than its caches have in front of a call.
inline constexpr int64_t kDecoderHeads = 4, kDecoderDim = 8, kDecoderRoom = 22;

/// One token a call, behind caches of `past` rows. Its position, and the row of a table of distances that is added to
/// its scores, are made of the caches' shape. `more` may add nodes to the model before its outputs are.
inline TestModel exported_decoder(const std::function<void(TestModel&)>& more = {}) {
  constexpr int64_t width = kDecoderHeads * kDecoderDim;
  const auto weights = [](int64_t count, float step) {
    std::vector<float> out;
    for (int64_t i = 0; i < count; ++i) out.push_back(std::sin(step * static_cast<float>(i + 1)) / 4);
    return out;
  };
  std::vector<float> distances;
  for (int64_t q = 0; q < kDecoderRoom; ++q)
    for (int64_t k = 0; k < kDecoderRoom; ++k) distances.push_back(-0.2f * static_cast<float>(std::abs(q - k)));
  TestModel m;
  m.input("x", {1, width})
      .input("past_k", {1, kDecoderHeads, "past", kDecoderDim})
      .input("past_v", {1, kDecoderHeads, "past", kDecoderDim});
  m.floats("table", {kDecoderRoom, width}, weights(kDecoderRoom * width, 0.37f))
      .floats("distances", {kDecoderRoom, kDecoderRoom}, distances);
  m.numbers("two", {}, {2}).numbers("one", {}, {1}).numbers("axis0", {1}, {0}).numbers("axis1", {1}, {1});
  m.numbers("heads", {4}, {1, kDecoderHeads, 1, kDecoderDim})
      .numbers("row", {2}, {1, width})
      .floats("scale", {}, {0.35f});
  m.node("Shape", {"past_k"}, {"shape"}).node("Gather", {"shape", "two"}, {"position"});
  m.node("Add", {"position", "one"}, {"total"}).node("Range", {"position", "total", "one"}, {"positions"});
  m.node("Gather", {"table", "positions"}, {"embedded"}).node("Add", {"x", "embedded"}, {"h"});
  for (const std::string n : {"q", "k", "v"}) {
    m.floats("w" + n, {width, width}, weights(width * width, 0.1f * static_cast<float>(n[0])));
    m.node("MatMul", {"h", "w" + n}, {n}).node("Reshape", {n, "heads"}, {n + "4"});
    if (n != "q") m.node("Concat", {"past_" + n, n + "4"}, {"present_" + n}).number("axis", 2);
  }
  m.node("Transpose", {"present_k"}, {"kt"}).ints("perm", {0, 1, 3, 2}).node("MatMul", {"q4", "kt"}, {"dots"});
  m.node("Unsqueeze", {"position", "axis0"}, {"from"}).node("Unsqueeze", {"total", "axis0"}, {"to"});
  m.node("Slice", {"distances", "from", "to", "axis0"}, {"one_row"});
  m.node("Slice", {"one_row", "axis0", "to", "axis1"}, {"far"});
  m.node("Mul", {"dots", "scale"}, {"scaled"}).node("Add", {"scaled", "far"}, {"scores"});
  m.node("Softmax", {"scores"}, {"soft"}).number("axis", -1).node("MatMul", {"soft", "present_v"}, {"mix"});
  m.node("Reshape", {"mix", "row"}, {"flat"}).node("Add", {"flat", "h"}, {"y"});
  if (more) more(m);
  return m.output("y").output("present_k").output("present_v");
}

}  // namespace hone
