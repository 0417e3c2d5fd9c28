// How an artifact's arithmetic treats denormal numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ir/dtype.h"

namespace hone {

/// Numbers of f32 and f64 between zero and the smallest normal one, and of bf16, which is computed as f32. Those of f16
/// stay numbers either way: they begin at 6e-5, where models have values, and processors compute with them at full
/// speed.
enum class Denormals : uint8_t {
  kKeep,  ///< as the modes of the calling threads are: numbers, unless a program changed that
  kZero,  ///< zeros, as operands and as results, on every thread that runs a part of a call, for that long
};

/// The default of every build. States of recurrent nets and filters decay into denormals, and a model then takes up to
/// 90 times as long on Intel's processors: docs/ship.md has the figures.
inline constexpr Denormals kUsualDenormals = Denormals::kZero;

/// `keep`, `zero`.
std::string_view name_of(Denormals d);
/// UserError for other texts.
Denormals parse_denormals(std::string_view text);

/// Whether kZero makes zeros of denormals of `t`.
bool may_vanish(DType t);
/// The smallest normal number of a float type; for bf16 that of f32.
double smallest_normal(DType t);

}  // namespace hone
