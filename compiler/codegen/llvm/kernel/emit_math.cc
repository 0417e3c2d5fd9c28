// The polynomials are minimax fits made for this file (Lawson's iteration on 160 Chebyshev nodes in 60 decimal digits,
// each coefficient rounded to f32 before the next is fitted). Their errors, relative to the function: exp 2^-28.2, exp2
// 2^-28.3, log 2^-30.4, tanh 2^-27.6, erf 2^-29.9 and 2^-34.8; 1 + erf, absolute, 2^-25.9; sin 2^-32.5, cos 2^-33.0,
// atan 2^-30.4. Reductions of the argument are Cody and Waite's: ln 2 in two parts, the first with so few bits that its
// multiples are exact.
#include "compiler/codegen/llvm/kernel/emit_math.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <vector>

#include "compiler/codegen/llvm/kernel/emit_expr.h"
#include "compiler/codegen/llvm/machine/x86_features.h"

namespace hone {
namespace {

using llvm::Value;

constexpr int kCurrentRounding = 4;  // _MM_FROUND_CUR_DIRECTION
constexpr double kLog2E = 1.4426950408889634, kLn2High = 0.693145751953125, kLn2Low = 1.4286067653302e-6;

constexpr double kRounder = 12582912;  // 1.5 * 2^23: a sum with it has no room for a fraction

// Writes arithmetic on values of one type, f32 or a vector of it.
class Math {
 public:
  Math(llvm::IRBuilderBase& b, llvm::Type* type, const MathUnits& units)
      : b_(b),
        type_(type),
        int_type_(type->getWithNewType(b.getInt32Ty())),
        scalef_lanes_(units.scalef_bits / 32),
        estimates_(scalef_lanes_ > 0 && !units.divides_fast) {}

  // scale * (p0 + p1 x + …), by Horner's rule.
  Value* polynomial(Value* x, std::initializer_list<double> coefficients, double scale = 1) {
    Value* sum = nullptr;
    for (auto c = std::rbegin(coefficients); c != std::rend(coefficients); ++c)
      sum = sum ? b_.CreateFAdd(b_.CreateFMul(sum, x), real(*c * scale)) : real(*c * scale);
    return sum;
  }

  // e^x = 2^n e^r with |r| <= ln 2 / 2.
  struct Power {
    Value* mantissa;  // e^r
    Value* n;
    Value* bits;  // 32-bit, n in the low 9
  };
  // `any`: x may be anything; then r is bounded (and n is x rounded), and n infinite or NaN as x is. `scale`: a factor
  // of the mantissa.
  Power power(Value* x, bool any = false, double scale = 1) {
    // The nearest n stands in the sum's low bits.
    Value* shifted = b_.CreateFAdd(b_.CreateFMul(x, real(kLog2E)), real(kRounder));
    Value* n = b_.CreateFSub(shifted, real(kRounder));
    Value* r = b_.CreateFSub(b_.CreateFSub(x, b_.CreateFMul(n, real(kLn2High))), b_.CreateFMul(n, real(kLn2Low)));
    if (any) r = nearer_to_zero(r, 0.36);
    Value* mantissa = polynomial(r, {1, 1, 0.5, 0.166665196, 0.0416664109, 0.00836881623, 0.00139398477}, scale);
    return {mantissa, n, b_.CreateBitCast(shifted, int_type_)};
  }

  // x * 2^(n + more) for an exponent from -126 to 127, 0 for one of -127; n stands in the low 9 bits of `bits`.
  Value* scaled(Value* x, Value* bits, int64_t more = 0) {
    constexpr int64_t kBias = 127;
    return b_.CreateFMul(
        x, b_.CreateBitCast(b_.CreateAdd(b_.CreateShl(bits, integer(23)), integer((kBias + more) << 23)), type_));
  }

  // e^x where it is a normal number.
  Value* normal_exp(Value* x) {
    const Power p = power(x);
    return scalef_lanes_ > 0 ? scalef(p.mantissa, p.n) : scaled(p.mantissa, p.bits);
  }

  // AVX-512: 2^x, whatever x is.
  Value* exp2(Value* x) {
    Value* n = b_.CreateFSub(b_.CreateFAdd(x, real(kRounder)), real(kRounder));
    Value* r = nearer_to_zero(b_.CreateFSub(x, n), 0.52);
    return scalef(
        polynomial(r, {1, 0.693147182, 0.240226477, 0.0555035956, 0.00961849932, 0.00133909704, 0.000153292785}), n);
  }

  Value* exp(Value* x) {
    if (scalef_lanes_ > 0) {
      const Power p = power(x, /*any=*/true);
      return scalef(p.mantissa, p.n);
    }
    // Past these the result is infinite or zero; a NaN fails both comparisons and stays.
    const Power p = power(at_most(89, at_least(-105, x)));
    // In two steps, since n reaches from -151 to 128. The bits above n's are shifted out.
    Value* half = b_.CreateAShr(p.bits, integer(1));
    return scaled(scaled(p.mantissa, half), b_.CreateSub(p.bits, half));
  }

  // factor / (1 + e^x).
  Value* logistic(Value* x, Value* factor) {
    if (scalef_lanes_ > 0) return quotient(factor, b_.CreateFAdd(real(1), exp(x)));
    // Past the first bound the power is infinite. At the second the rest of the power is negligible beside 1, so that
    // one step scales all others: n is from -126 to 128, and half of 2^n is left to the mantissa. A negated x has x's
    // bounds, so that the sign goes into the products.
    Value* size = nullptr;
    Value* bounded = llvm::PatternMatch::match(x, llvm::PatternMatch::m_FNeg(llvm::PatternMatch::m_Value(size)))
                         ? b_.CreateFNeg(at_least(-89, at_most(87, size)))
                         : at_most(89, at_least(-87, x));
    const Power p = power(bounded, /*any=*/false, /*scale=*/2);
    return quotient(factor, b_.CreateFAdd(real(1), scaled(p.mantissa, p.bits, /*more=*/-1)));
  }

  // 1 + erf(x): e^q(|x|) where x is negative, else 2 less it. Beyond |x| = 4, where the result is 0 or 2 in f32, q goes
  // on to fall. With AVX-512 it is 2^q, the logarithm being a factor of q's coefficients: q less its integer is exact.
  Value* one_plus_erf(Value* x) {
    const bool of_two = scalef_lanes_ > 0;
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* q = b_.CreateFMul(size, polynomial(size,
                                              {-1.1283803, -0.636596918, -0.102924146, 0.0195953734, -0.000551649369,
                                               -0.00102238776, 0.000305403344, -3.09897041e-05},
                                              of_two ? kLog2E : 1));
    Value* tail = of_two ? exp2(q) : normal_exp(at_least(-87, q));
    return b_.CreateSelect(b_.CreateFCmpOLT(x, real(0)), tail, b_.CreateFSub(real(2), tail));
  }

  Value* log(Value* x) {
    Value* tiny = b_.CreateFCmpOLT(x, real(std::numeric_limits<float>::min()));
    Value* bits = b_.CreateBitCast(b_.CreateSelect(tiny, b_.CreateFMul(x, real(33554432)), x), int_type_);
    // x = 2^e m with m from sqrt(1/2) to sqrt(2), whose bits are 0x3f3504f3 and 0x3fb504f3.
    Value* e = b_.CreateAShr(b_.CreateSub(bits, integer(0x3f3504f3)), integer(23));
    Value* m = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(e, integer(23))), type_);
    Value* n = b_.CreateSIToFP(b_.CreateAdd(e, b_.CreateSelect(tiny, integer(-25), integer(0))), type_);
    Value* f = b_.CreateFSub(m, real(1));
    Value* square = b_.CreateFMul(f, f);
    Value* p = polynomial(f, {0.333333105, -0.249999866, 0.200022236, -0.16669248, 0.142187148, -0.123844407,
                              0.11872676, -0.117891192, 0.0691514984});
    Value* tail = b_.CreateFAdd(b_.CreateFMul(b_.CreateFMul(square, f), p), b_.CreateFMul(square, real(-0.5)));
    tail = b_.CreateFAdd(tail, b_.CreateFMul(n, real(kLn2Low)));
    Value* result = b_.CreateFAdd(b_.CreateFMul(n, real(kLn2High)), b_.CreateFAdd(f, tail));
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    result = b_.CreateSelect(b_.CreateFCmpOLT(x, real(kInfinity)), result, x);  // infinity and NaN stay
    result = b_.CreateSelect(b_.CreateFCmpOLT(x, real(0)), real(std::numeric_limits<float>::quiet_NaN()), result);
    return b_.CreateSelect(b_.CreateFCmpOEQ(x, real(0)), real(-kInfinity), result);
  }

  // x + x^3 p(x^2) near zero, else 1 - 2 / (e^(2|x|) + 1) with x's sign; 1 from |x| = 9.01 on.
  Value* tanh(Value* x) {
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* square = b_.CreateFMul(x, x);
    Value* p = polynomial(square, {-0.333332777, 0.133313164, -0.0537283793, 0.0205996577, -0.00565850642});
    Value* near = b_.CreateFAdd(x, b_.CreateFMul(x, b_.CreateFMul(square, p)));
    Value* bounded = b_.CreateSelect(b_.CreateFCmpOLT(size, real(10)), size, real(10));
    Value* power = normal_exp(b_.CreateFAdd(bounded, bounded));
    Value* sum = b_.CreateFAdd(power, real(1));
    Value* part = estimates_ ? b_.CreateFMul(real(2), finite_reciprocal(sum)) : b_.CreateFDiv(real(2), sum);
    Value* far = b_.CreateFSub(real(1), part);
    // A NaN is near, and the sum may lose -0.
    return with_sign_of(b_.CreateSelect(b_.CreateFCmpOGT(size, real(0.625)), far, near), x);
  }

  // factor / x for x >= 1, infinity and NaN. With AVX-512 an Intel CPU's division occupies its port as long as ten
  // other instructions; Zen's is done beside them.
  Value* quotient(Value* factor, Value* x) {
    if (!estimates_) return b_.CreateFDiv(factor ? factor : real(1), x);
    Value* near = estimated_reciprocal(x);  // of infinity, whose refinement would be NaN: 0
    Value* finite = b_.CreateFCmpOLT(x, real(std::numeric_limits<float>::infinity()));
    Value* reciprocal = b_.CreateSelect(finite, refined_reciprocal(x, near), near);
    return factor ? b_.CreateFMul(factor, reciprocal) : reciprocal;
  }

  // x + x p(x^2) near zero, else 1 - e^q(|x|) with x's sign; 1 from |x| = 3.92 on.
  Value* erf(Value* x) {
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* p = polynomial(b_.CreateFMul(x, x), {0.128379166, -0.376126289, 0.112836242, -0.0268555917, 0.00519196969,
                                                -0.000804424286, 7.97202447e-05});
    Value* near = b_.CreateFAdd(x, b_.CreateFMul(x, p));
    Value* bounded = b_.CreateSelect(b_.CreateFCmpOLT(size, real(3.95)), size, real(3.95));
    Value* q = polynomial(bounded, {0.000163086675, -1.12944865, -0.633509696, -0.10805583, 0.024930058, -0.00407076906,
                                    0.000401949859, -1.52001139e-05, -4.57473107e-07});
    Value* far = b_.CreateFSub(real(1), normal_exp(q));
    return with_sign_of(b_.CreateSelect(b_.CreateFCmpOGT(size, real(0.925)), far, near), x);
  }

  // sin(x + quarters * pi / 2). n is the integer nearest to x / (pi / 2); the result is the sine or cosine of the
  // remainder, n decides which and its sign. The remainder is computed in f64 with pi / 2 in two parts; the first has
  // 32 fractional bits, so that a float's n times it is exact.
  Value* sine(Value* x, int quarters) {
    constexpr double kWideRounder = 6755399441055744;  // 1.5 * 2^52, see kRounder
    constexpr double kTwoOverPi = 0.63661977236758134, kHalfPiHigh = 1.5707963267341256,
                     kHalfPiLow = 6.077100506506192e-11;
    llvm::Type* wide = type_->getWithNewType(b_.getDoubleTy());
    llvm::Type* wide_int = type_->getWithNewType(b_.getInt64Ty());
    const auto f64 = [&](double v) { return llvm::ConstantFP::get(wide, v); };
    Value* all = b_.CreateFPExt(x, wide);
    Value* shifted = b_.CreateFAdd(b_.CreateFMul(all, f64(kTwoOverPi)), f64(kWideRounder));
    Value* n = b_.CreateFSub(shifted, f64(kWideRounder));
    Value* left =
        b_.CreateFSub(b_.CreateFSub(all, b_.CreateFMul(n, f64(kHalfPiHigh))), b_.CreateFMul(n, f64(kHalfPiLow)));
    // A large x has no exact n; the clamp still gives a result from -1 to 1.
    Value* r = at_most(0.7854, at_least(-0.7854, b_.CreateFPTrunc(left, type_)));
    Value* quarter = b_.CreateAdd(b_.CreateTrunc(b_.CreateBitCast(shifted, wide_int), int_type_), integer(quarters));
    Value* square = b_.CreateFMul(r, r);
    Value* sine = b_.CreateFMul(r, polynomial(square, {1, -0.166666672, 0.0083333794, -0.000198530717, 2.83268014e-6}));
    Value* cosine = polynomial(square, {1, -0.5, 0.0416666456, -0.00138873095, 2.44323364e-5});
    Value* is_cosine = b_.CreateICmpNE(b_.CreateAnd(quarter, integer(1)), integer(0));
    Value* size = b_.CreateBitCast(b_.CreateSelect(is_cosine, cosine, sine), int_type_);
    Value* sign = b_.CreateShl(b_.CreateAnd(quarter, integer(2)), integer(30));
    return b_.CreateBitCast(b_.CreateXor(size, sign), type_);
  }

  // A half, a quarter or nothing of pi, and the arc tangent of the remainder by tan(a + b)'s formula: at most
  // tan(pi / 8) in size.
  Value* atan(Value* x) {
    constexpr double kQuarterPi = 0.7853981852531433, kQuarterPiRest = -2.1855695e-08;  // as f32, and what it lacks
    Value* size = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    Value* is_large = b_.CreateFCmpOGT(size, real(2.41421356));
    Value* is_middle = b_.CreateFCmpOGT(size, real(0.414213562));
    const auto choose = [&](double large, Value* middle, Value* small) {
      return b_.CreateSelect(is_large, real(large), b_.CreateSelect(is_middle, middle, small));
    };
    Value* left = b_.CreateFDiv(choose(-1, b_.CreateFSub(size, real(1)), size),
                                b_.CreateSelect(is_large, size, choose(1, b_.CreateFAdd(size, real(1)), real(1))));
    Value* p =
        polynomial(b_.CreateFMul(left, left), {-0.333333164, 0.199985281, -0.14244391, 0.105991699, -0.0609006248});
    Value* rest = b_.CreateFMul(b_.CreateFMul(left, b_.CreateFMul(left, left)), p);
    rest = b_.CreateFAdd(rest, choose(2 * kQuarterPiRest, real(kQuarterPiRest), real(0)));
    Value* sum = b_.CreateFAdd(choose(2 * kQuarterPi, real(kQuarterPi), real(0)), b_.CreateFAdd(left, rest));
    return with_sign_of(sum, x);
  }

 private:
  // x, or the bound that it is beyond; a NaN stays.
  Value* at_most(double bound, Value* x) { return b_.CreateSelect(b_.CreateFCmpOGT(x, real(bound)), real(bound), x); }
  Value* at_least(double bound, Value* x) { return b_.CreateSelect(b_.CreateFCmpOLT(x, real(bound)), real(bound), x); }

  Value* real(double v) { return llvm::ConstantFP::get(type_, v); }
  Value* integer(int64_t v) { return llvm::ConstantInt::get(int_type_, static_cast<uint64_t>(v), true); }
  // AVX-512: x * 2^n, rounded once, for every integer n as a float; 0 or infinity where n is infinite and x positive.
  Value* scalef(Value* x, Value* n) {
    using namespace llvm::Intrinsic;
    return in_registers({x, n}, [&](unsigned lanes, llvm::ArrayRef<Value*> a) {
      llvm::Type* type = a[0]->getType();
      const auto whole = std::array<Value*, 4>{a[0], a[1], llvm::PoisonValue::get(type), all_of(lanes)};
      if (lanes < 16)
        return b_.CreateIntrinsic(lanes == 4 ? x86_avx512_mask_scalef_ps_128 : x86_avx512_mask_scalef_ps_256, {},
                                  whole);
      return b_.CreateIntrinsic(x86_avx512_mask_scalef_ps_512, {},
                                {whole[0], whole[1], whole[2], whole[3], b_.getInt32(kCurrentRounding)});
    });
  }

  // AVX-512: 1 / x for x >= 1 that is finite.
  Value* finite_reciprocal(Value* x) { return refined_reciprocal(x, estimated_reciprocal(x)); }
  // One step of Newton's method: 14 bits become 28.
  Value* refined_reciprocal(Value* x, Value* near) {
    Value* error = b_.CreateFSub(real(1), b_.CreateFMul(x, near));
    return b_.CreateFAdd(near, b_.CreateFMul(near, error));
  }
  // AVX-512: 1 / x to a relative 2^-14.
  Value* estimated_reciprocal(Value* x) {
    using namespace llvm::Intrinsic;
    return in_registers({x}, [&](unsigned lanes, llvm::ArrayRef<Value*> a) {
      const auto id = lanes == 4   ? x86_avx512_rcp14_ps_128
                      : lanes == 8 ? x86_avx512_rcp14_ps_256
                                   : x86_avx512_rcp14_ps_512;
      return b_.CreateIntrinsic(id, {}, {a[0], llvm::PoisonValue::get(a[0]->getType()), all_of(lanes)});
    });
  }

  // AVX-512: x, or `bound` with x's sign where |x| is larger or x is NaN.
  Value* nearer_to_zero(Value* x, double bound) {
    using namespace llvm::Intrinsic;
    constexpr int kLeastAbsolute = 2;
    return in_registers({x, real(bound)}, [&](unsigned lanes, llvm::ArrayRef<Value*> a) {
      llvm::Type* type = a[0]->getType();
      const auto whole =
          std::array<Value*, 5>{a[0], a[1], b_.getInt32(kLeastAbsolute), llvm::PoisonValue::get(type), all_of(lanes)};
      if (lanes < 16)
        return b_.CreateIntrinsic(lanes == 4 ? x86_avx512_mask_range_ps_128 : x86_avx512_mask_range_ps_256, {}, whole);
      return b_.CreateIntrinsic(x86_avx512_mask_range_ps_512, {},
                                {whole[0], whole[1], whole[2], whole[3], whole[4], b_.getInt32(kCurrentRounding)});
    });
  }

  // f(lanes, operands) of scalars and vectors of any length, in registers of 4, 8 or 16 lanes.
  Value* in_registers(llvm::ArrayRef<Value*> operands,
                      const std::function<Value*(unsigned, llvm::ArrayRef<Value*>)>& f) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type_);
    const unsigned n = vector ? vector->getNumElements() : 1;
    const unsigned lanes = std::clamp(std::bit_ceil(n), 4U, static_cast<unsigned>(scalef_lanes_));
    if (n == lanes) return f(lanes, operands);
    llvm::Type* type = llvm::FixedVectorType::get(b_.getFloatTy(), lanes);
    std::vector<Value*> results;
    for (unsigned first = 0; first < n; first += lanes) {
      std::vector<Value*> part;
      for (Value* v : operands)
        part.push_back(vector ? b_.CreateShuffleVector(v, positions(first, std::min(lanes, n - first), lanes))
                              : b_.CreateInsertElement(llvm::PoisonValue::get(type), v, uint64_t{0}));
      results.push_back(f(lanes, part));
    }
    if (!vector) return b_.CreateExtractElement(results[0], uint64_t{0});
    Value* all = results.size() > 1 ? llvm::concatenateVectors(b_, results) : results[0];
    return all->getType() == type_ ? all : b_.CreateShuffleVector(all, positions(0, n, n));
  }
  // first, first + 1, …: `count` of them, then any to the length.
  static std::vector<int> positions(unsigned first, unsigned count, unsigned length) {
    std::vector<int> out(length, llvm::PoisonMaskElem);
    std::iota(out.begin(), out.begin() + count, static_cast<int>(first));
    return out;
  }
  Value* all_of(unsigned lanes) { return b_.getIntN(std::max(8U, lanes), (uint64_t{1} << lanes) - 1); }

  Value* with_sign_of(Value* size, Value* x) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, size, x); }

  llvm::IRBuilderBase& b_;
  llvm::Type* type_;
  llvm::Type* int_type_;
  int scalef_lanes_;  // of f32; 0: none
  bool estimates_;    // reciprocals, instead of dividing
};

const char* library_name(Intrinsic f) {
  switch (f) {
    case Intrinsic::kExp: return "exp";
    case Intrinsic::kLog: return "log";
    case Intrinsic::kTanh: return "tanh";
    case Intrinsic::kSin: return "sin";
    case Intrinsic::kCos: return "cos";
    case Intrinsic::kAtan: return "atan";
    default: return "erf";
  }
}

Value* call_library(llvm::IRBuilderBase& b, Intrinsic f, Value* x) {
  llvm::Type* type = x->getType();
  llvm::Module* module = b.GetInsertBlock()->getModule();
  llvm::FunctionCallee function = module->getOrInsertFunction(library_name(f), b.getDoubleTy(), b.getDoubleTy());
  llvm::cast<llvm::Function>(function.getCallee())->setDoesNotAccessMemory();
  llvm::cast<llvm::Function>(function.getCallee())->setDoesNotThrow();
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return b.CreateCall(function, x);
  Value* out = llvm::PoisonValue::get(type);
  for (uint64_t i = 0; i < vector->getNumElements(); ++i)
    out = b.CreateInsertElement(out, b.CreateCall(function, b.CreateExtractElement(x, i)), i);
  return out;
}

}  // namespace

MathUnits math_units(const Target& target, int vector_bits) {
  return {.scalef_bits = has_x86_features(target, {"avx512f", "avx512vl", "avx512dq"}) ? vector_bits : 0,
          .divides_fast = target.mcpu.rfind("znver", 0) == 0};
}

Value* emit_math(llvm::IRBuilderBase& b, Intrinsic f, Value* x, const MathUnits& units) {
  llvm::Type* type = x->getType();
  llvm::Type* scalar = type->getScalarType();
  if (scalar->isDoubleTy()) return call_library(b, f, x);
  llvm::Type* wide = type->getWithNewType(b.getFloatTy());
  if (scalar->isHalfTy()) return b.CreateFPTrunc(emit_math(b, f, b.CreateFPExt(x, wide), units), type);
  Math math(b, wide, units);
  switch (f) {
    case Intrinsic::kExp: return math.exp(x);
    case Intrinsic::kLog: return math.log(x);
    case Intrinsic::kTanh: return math.tanh(x);
    case Intrinsic::kSin: return math.sine(x, 0);
    case Intrinsic::kCos: return math.sine(x, 1);
    case Intrinsic::kAtan: return math.atan(x);
    default: return math.erf(x);
  }
}

Value* emit_logistic(llvm::IRBuilderBase& b, Value* x, Value* factor, const MathUnits& units) {
  return Math(b, x->getType(), units).logistic(x, factor);
}

Value* emit_one_plus_erf(llvm::IRBuilderBase& b, Value* x, const MathUnits& units) {
  return Math(b, x->getType(), units).one_plus_erf(x);
}

Value* emit_quotient(llvm::IRBuilderBase& b, Value* factor, Value* x, const MathUnits& units) {
  if (!x->getType()->getScalarType()->isFloatTy())
    return b.CreateFDiv(factor ? factor : llvm::ConstantFP::get(x->getType(), 1), x);
  return Math(b, x->getType(), units).quotient(factor, x);
}

}  // namespace hone
