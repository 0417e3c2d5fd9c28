// A program whose constant is packed ahead to two tensors, one of them of another type.
#pragma once

#include "compiler/lower/lower.h"

namespace hone {

/// narrow[i] = s8(w[i]), sums[i] = w[2 i] + w[2 i + 1], d[i] = a[i] * s32(narrow[i]) + sums[i / 2]; `n` elements, which
/// are even; s32. Parameters: a, w (a constant), d.
struct PackedProgram {
  Tensor a, w, narrow, sums, d;
  std::unique_ptr<Schedule> schedule;
  explicit PackedProgram(int64_t n = 8) {
    a = placeholder("a", {n}, i32);
    w = placeholder("w", {n}, i32);
    narrow = compute("narrow", {n}, {"i"}, {w}, [&](const auto& i) { return cast(i8, w(i[0])); });
    sums = compute("sums", {n / 2}, {"j"}, {w}, [&](const auto& j) { return w(j[0] * 2) + w(j[0] * 2 + 1); });
    d = compute("d", {n}, {"i"}, {a, narrow, sums},
                [&](const auto& i) { return a(i[0]) * cast(i32, narrow(i[0])) + sums(floor_div(i[0], 2)); });
    schedule = std::make_unique<Schedule>(
        std::vector<std::pair<Tensor, ParamRole>>{{a, ParamRole::kInput}, {w, ParamRole::kConstant}}, d);
  }
  void prepack() { schedule->prepack({schedule->block("narrow"), schedule->block("sums")}); }
};

inline Module packed_module(int64_t n = 8) {
  PackedProgram p(n);
  p.prepack();
  return lower(*p.schedule, {});
}

}  // namespace hone
