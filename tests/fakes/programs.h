// Small compute definitions for tests of scheduling and lowering, on integers, or floats that are small integers, so
// that results are exact.
#pragma once

#include <cstring>
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
  const Tensor a = placeholder("a", {m, k}, i32), b = placeholder("b", {k, n}, i32),
               bias = placeholder("bias", {n}, i32);
  const Tensor c = compute_reduce("c", {m, n}, {"i", "j"}, {a, b}, [&](const auto& x) {
    const Axis r = reduce_axis("k", k);
    return sum(a(x[0], r) * b(r, x[1]), {r});
  });
  const Tensor d = compute("d", {m, n}, {"i", "j"}, {c, bias},
                           [&](const auto& x) { return max(c.at(x) + bias(x[1]), make_int(0, i32)); });
  return {"matmul", {{a, ParamRole::kInput}, {b, ParamRole::kInput}, {bias, ParamRole::kConstant}}, d};
}

inline Program conv_program() {
  const Tensor x = placeholder("x", {3, 5, 6}, i32), w = placeholder("w", {4, 3, 3, 2}, i32);
  const Tensor pad = compute("pad", {3, 7, 8}, {"c", "y", "x"}, {x}, [&](const auto& i) {
    const Expr y = i[1] - 1, z = i[2] - 1;
    const Expr inside = logical_and(logical_and(ge(y, int64_t{0}), lt(y, int64_t{5})),
                                    logical_and(ge(z, int64_t{0}), lt(z, int64_t{6})));
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
  const Tensor scaled =
      compute("scaled", {4, 9, 9}, {"c", "y", "x"}, {x}, [&](const auto& i) { return x.at(i) * make_int(3, i32); });
  const Tensor pool = compute_reduce("pool", {4, 4, 4}, {"c", "y", "x"}, {scaled}, [&](const auto& i) {
    const Axis ky = reduce_axis("ky", 3), kx = reduce_axis("kx", 3);
    return max_over(scaled(i[0], i[1] * 2 + Expr(ky), i[2] * 2 + Expr(kx)), {ky, kx});
  });
  const Tensor shifted = compute("shifted", {4, 4, 4}, {"c", "y", "x"}, {pool},
                                 [&](const auto& i) { return pool.at(i) - make_int(1, i32); });
  return {"pool", {{x, ParamRole::kInput}}, shifted};
}

/// c = a * transposed b, of u8 and s8 to s32.
inline Program int8_program(int64_t m, int64_t n, int64_t k) {
  const Tensor a = placeholder("a", {m, k}, u8), b = placeholder("b", {n, k}, i8);
  const Tensor c = compute_reduce("c", {m, n}, {"i", "j"}, {a, b}, [&](const auto& x) {
    const Axis r = reduce_axis("k", k);
    return sum(cast(i32, a(x[0], r)) * cast(i32, b(x[1], r)), {r});
  });
  return {"int8", {{a, ParamRole::kInput}, {b, ParamRole::kConstant}}, c};
}

inline Program float_program(int64_t m, int64_t n, int64_t k) {
  const Tensor a = placeholder("a", {m, k}, f32), b = placeholder("b", {k, n}, f32);
  const Tensor c = compute_reduce("c", {m, n}, {"i", "j"}, {a, b}, [&](const auto& x) {
    const Axis r = reduce_axis("k", k);
    return sum(a(x[0], r) * b(r, x[1]), {r});
  });
  return {"float", {{a, ParamRole::kInput}, {b, ParamRole::kConstant}}, c};
}

/// Seeded logical values of a tensor of type `t`: small whole numbers, in u8 and s8 up to the ends of the type.
inline std::vector<std::byte> logical_values(const ScheduledParam& p, std::mt19937& rng) {
  const DType t = p.buffer->dtype;
  std::vector<std::byte> out(static_cast<size_t>(element_count(p.shape) * t.bytes()));
  for (int64_t i = 0; i < element_count(p.shape); ++i) {
    const auto small = static_cast<int32_t>(rng() % 19) - 9;
    const float real = static_cast<float>(small);
    const auto byte = static_cast<uint8_t>(small < 0 ? 256 + 14 * small : 14 * small);
    const void* from = t == f32 ? static_cast<const void*>(&real) : t == i32 ? static_cast<const void*>(&small) : &byte;
    std::memcpy(out.data() + i * t.bytes(), from, static_cast<size_t>(t.bytes()));
  }
  return out;
}

/// A tensor of s32, or of f32 that are whole numbers, as numbers.
inline std::vector<int32_t> numbers(const std::byte* data, DType t, int64_t n) {
  std::vector<int32_t> out(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    float real = 0;
    std::memcpy(t == f32 ? static_cast<void*>(&real) : &out[static_cast<size_t>(i)], data + i * 4, 4);
    if (t == f32) out[static_cast<size_t>(i)] = static_cast<int32_t>(real);
  }
  return out;
}

/// Runs `f`, whose parameters lie in `params`' layouts, on seeded logical inputs; the logical output.
inline std::vector<int32_t> run_logical(const Function& f, const std::vector<ScheduledParam>& params) {
  std::mt19937 rng(3);
  std::vector<std::vector<std::byte>> physical;
  std::vector<InterpArg> args;
  for (const ScheduledParam& p : params) {
    const std::vector<std::byte> logical = logical_values(p, rng);
    const int bytes = p.buffer->dtype.bytes();
    physical.emplace_back(static_cast<size_t>(p.layout.physical_size() * bytes), std::byte{0x9d});
    if (p.role != ParamRole::kOutput) pack(logical.data(), physical.back().data(), p.shape, p.layout, bytes);
  }
  for (size_t i = 0; i < params.size(); ++i) args.push_back({physical[i].data(), params[i].layout.physical_size()});
  interpret(f, args);
  const ScheduledParam& out = params.back();
  std::vector<std::byte> logical(static_cast<size_t>(element_count(out.shape)) * 4);
  unpack(physical.back().data(), logical.data(), out.shape, out.layout, 4);
  return numbers(logical.data(), out.buffer->dtype, element_count(out.shape));
}

}  // namespace hone
