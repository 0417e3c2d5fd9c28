// exp, log, tanh and erf of f32 without calls. Private to codegen/llvm.
#pragma once

#include "compiler/ir/expr.h"
#include "compiler/target/target.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace hone {

/// Properties of the CPU that decide between equivalent forms of f32 functions.
struct MathUnits {
  int scalef_bits = 0;        ///< the widest vector, in bits, for which AVX-512's scalef and range may be used; 0: none
  bool divides_fast = false;  ///< a division takes less of the ports than an estimate and a step of Newton's method
};

/// The properties of `target` for vectors of at most `vector_bits`.
MathUnits math_units(const Target& target, int vector_bits);

/// f(x) for a transcendental function and `x` a float or a vector of floats, scalar and vector alike: polynomials, so
/// that a vector stays a vector. f32: at most kMathUlps units in the last place from the exact value, also for
/// denormals, zeros, infinities and NaN; sine and cosine up to |x| = 2^20, beyond which
/// their error is up to 2^-44 |x|. f16 goes through f32. f64 calls the mathematical library lane by lane: it
/// serves references, not kernels.
llvm::Value* emit_math(llvm::IRBuilderBase& b, Intrinsic f, llvm::Value* x, const MathUnits& units);

/// factor / (1 + e^x) of f32, a float or a vector of floats, at most kMathUlps units in the last place from the exact
/// value; where e^x is past the largest float, 0 times `factor`. A null `factor` is 1.
llvm::Value* emit_logistic(llvm::IRBuilderBase& b, llvm::Value* x, llvm::Value* factor, const MathUnits& units);

/// 1 + erf(x) of f32, a float or a vector of floats, at most two units in the last place of 1 from the exact value.
/// gelu uses it: half the operations of erf, which must be exact in its small values.
llvm::Value* emit_one_plus_erf(llvm::IRBuilderBase& b, llvm::Value* x, const MathUnits& units);

/// factor / x for x >= 1, infinity or NaN, a float or a vector of floats, as in 1 / (1 + e^y). f32 with AVX-512 where a
/// division is slow: an estimate and one step of Newton's method, at most kMathUlps units in the last place from the
/// exact value; else a division. A null `factor` is 1.
llvm::Value* emit_quotient(llvm::IRBuilderBase& b, llvm::Value* factor, llvm::Value* x, const MathUnits& units);

/// Measured worst cases (tests/unit/codegen/math_test.cc): exp 0.9 (1.1 without FMA), log 0.8, tanh 1.3, erf 1.0.
inline constexpr double kMathUlps = 2;

}  // namespace hone
