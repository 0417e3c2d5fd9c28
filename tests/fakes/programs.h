// Small compute definitions for tests of scheduling and lowering, on s32 so that results are exact.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/interp.h"
#include "compiler/schedule/schedule.h"

namespace hone {

struct Program {
  std::string name;
  std::vector<std::pair<Tensor, ParamRole>> inputs;
  Tensor output;
  std::unique_ptr<Schedule> schedule() const { return std::make_unique<Schedule>(inputs, output); }
};

inline Program matmul_program(int64_t m = 5, int64_t n = 7, int64_t k = 6) {
  const Tensor a = placeholder("a", {m, k}, i32), b = placeholder("b", {k, n}, i32), bias = placeholder("bias", {n}, i32);
  const Tensor c = compute_reduce("c", {m, n}, {"i", "j"}, {a, b}, [&](const auto& x) {
    const Axis r = reduce_axis("k", k);
    return sum(a(x[0], r) * b(r, x[1]), {r});
  });
  const Tensor d = compute("d", {m, n}, {"i", "j"}, {c, bias}, [&](const auto& x) { return max(c.at(x) + bias(x[1]), make_int(0, i32)); });
  return {"matmul", {{a, ParamRole::kInput}, {b, ParamRole::kInput}, {bias, ParamRole::kConstant}}, d};
}

inline Program conv_program() {
  const Tensor x = placeholder("x", {3, 5, 6}, i32), w = placeholder("w", {4, 3, 3, 2}, i32);
  const Tensor pad = compute("pad", {3, 7, 8}, {"c", "y", "x"}, {x}, [&](const auto& i) {
    const Expr y = i[1] - 1, z = i[2] - 1;
    const Expr inside = logical_and(logical_and(ge(y, int64_t{0}), lt(y, int64_t{5})), logical_and(ge(z, int64_t{0}), lt(z, int64_t{6})));
    return select(inside, x(i[0], y, z), make_int(0, i32));
  });
  const Tensor conv = compute_reduce("conv", {4, 3, 7}, {"o", "y", "x"}, {pad, w}, [&](const auto& i) {
    const Axis c = reduce_axis("c", 3), kh = reduce_axis("kh", 3), kw = reduce_axis("kw", 2);
    return sum(pad(c, i[1] * 2 + Expr(kh), i[2] + Expr(kw)) * w(i[0], c, kh, kw), {c, kh, kw});
  });
  return {"conv", {{x, ParamRole::kInput}, {w, ParamRole::kConstant}}, conv};
}

inline Program pool_program() {
  const Tensor x = placeholder("x", {4, 9, 9}, i32);
  const Tensor scaled = compute("scaled", {4, 9, 9}, {"c", "y", "x"}, {x}, [&](const auto& i) { return x.at(i) * make_int(3, i32); });
  const Tensor pool = compute_reduce("pool", {4, 4, 4}, {"c", "y", "x"}, {scaled}, [&](const auto& i) {
    const Axis ky = reduce_axis("ky", 3), kx = reduce_axis("kx", 3);
    return max_over(scaled(i[0], i[1] * 2 + Expr(ky), i[2] * 2 + Expr(kx)), {ky, kx});
  });
  const Tensor shifted = compute("shifted", {4, 4, 4}, {"c", "y", "x"}, {pool}, [&](const auto& i) { return pool.at(i) - make_int(1, i32); });
  return {"pool", {{x, ParamRole::kInput}}, shifted};
}

/// Runs `f`, whose parameters lie in `params`' layouts, on seeded logical inputs; the logical output.
inline std::vector<int32_t> run_logical(const Function& f, const std::vector<ScheduledParam>& params) {
  std::mt19937 rng(3);
  std::vector<std::vector<int32_t>> physical;
  for (const ScheduledParam& p : params) {
    std::vector<int32_t> logical(static_cast<size_t>(element_count(p.shape)));
    for (int32_t& v : logical) v = static_cast<int32_t>(rng() % 19) - 9;
    physical.emplace_back(static_cast<size_t>(p.layout.physical_size()), -77777);
    if (p.role != ParamRole::kOutput) pack(logical.data(), physical.back().data(), p.shape, p.layout, 4);
  }
  std::vector<InterpArg> args;
  for (auto& t : physical) args.push_back({t.data(), static_cast<int64_t>(t.size())});
  interpret(f, args);
  std::vector<int32_t> out(static_cast<size_t>(element_count(params.back().shape)));
  unpack(physical.back().data(), out.data(), params.back().shape, params.back().layout, 4);
  return out;
}

}  // namespace hone
