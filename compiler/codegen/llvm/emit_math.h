// exp, log, tanh and erf of f32 without calls. Private to codegen/llvm.
#pragma once

#include "compiler/ir/expr.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace hone {

/// f(x) for kExp, kLog, kTanh or kErf and `x` a float or a vector of floats, scalar and vector alike: polynomials, so
/// that a vector stays a vector. f32: at most kMathUlps units in the last place from the exact value, also for
/// denormals, zeros, infinities and NaN. f16 goes through f32. f64 calls the mathematical library lane by lane: it
/// serves references, not kernels. `scalef_bits`: the widest vector, in bits, for which AVX-512's scalef and range may
/// be used; 0: not at all.
llvm::Value* emit_math(llvm::IRBuilderBase& b, Intrinsic f, llvm::Value* x, int scalef_bits);

/// 1 / (1 + e^x) of f32, a float or a vector of floats, at most kMathUlps units in the last place from the exact value;
/// where e^x is past the largest float, 0.
llvm::Value* emit_logistic(llvm::IRBuilderBase& b, llvm::Value* x, int scalef_bits);

/// 1 + erf(x) of f32, a float or a vector of floats, at most two units in the last place of 1 from the exact value:
/// what gelu takes, at half the operations of erf, which must be exact in its small values.
llvm::Value* emit_one_plus_erf(llvm::IRBuilderBase& b, llvm::Value* x, int scalef_bits);

/// 1 / x for x >= 1, infinity or NaN, a float or a vector of floats: what 1 / (1 + e^y) divides by. f32 with AVX-512:
/// an estimate and one step of Newton's method, less than one unit in the last place from the exact value; else a
/// division.
llvm::Value* emit_reciprocal(llvm::IRBuilderBase& b, llvm::Value* x, int scalef_bits);

/// Measured worst cases (tests/unit/codegen/math_test.cc): exp 0.9 (1.1 without FMA), log 0.8, tanh 1.3, erf 1.0.
inline constexpr double kMathUlps = 2;

}  // namespace hone
