// The polynomials are those of codegen/llvm/emit_math.cc, which says how good they are.
#include "compiler/codegen/c/templates.h"

namespace hone {
namespace {

using Of = FunctionTemplate::For;

constexpr FunctionTemplate kMath[] = {
    // The bits of floats, and back.
    {"as_int", Of::kScalars, "f", 32, "i32", "f32 x", "  const union { f32 f; i32 i; } both = {x};\n  return both.i;"},
    {"as_int", Of::kVectors, "f", 32, "$I", "$V x", "  return ($I)x;"},
    {"as_float", Of::kScalars, "i", 32, "f32", "i32 x",
     "  const union { i32 i; f32 f; } both = {x};\n  return both.f;"},
    {"as_float", Of::kVectors, "i", 32, "$F", "$V x", "  return ($F)x;"},
    {"abs", Of::kAll, "f", 32, "$V", "$V x", "  return as_float_$I(as_int_$V(x) & 0x7fffffff);"},
    // The size of one, the sign of another.
    {"signed", Of::kAll, "f", 32, "$V", "$V size, $V sign",
     "  return as_float_$I((as_int_$V(size) & 0x7fffffff) | (as_int_$V(sign) & (i32)0x80000000));"},
    {"at_most", Of::kAll, "f", 32, "$V", "$E bound, $V x", "  return select_$V(x > bound, splat_$V(bound), x);"},
    {"at_least", Of::kAll, "f", 32, "$V", "$E bound, $V x", "  return select_$V(x < bound, splat_$V(bound), x);"},
    // Halves to the even one: beyond 2^23 all are whole.
    {"rint", Of::kAll, "f", 32, "$V", "$V x",
     "  const $V size = abs_$V(x);\n  return signed_$V(select_$V(size < 0x1p23f, (size + 0x1p23f) - 0x1p23f, size), "
     "x);"},
    // x * 2^n for n from -126 to 127, 0 for -127; n stands in the low 9 bits.
    {"scaled", Of::kAll, "f", 32, "$V", "$V x, $I n", "  return x * as_float_$I(($I)((($U)n << 23) + (127u << 23)));"},
    // e^x = 2^n e^r: n is the nearest whole number to x / ln 2, in the low bits of a sum that has no room for more.
    {"exp_mantissa", Of::kAll, "f", 32, "$V", "$V x, $V shifted",
     "  const $V n = shifted - 0x1.8p23f, r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;\n"
     "  return ((((((0.00139398477f * r + 0.00836881623f) * r + 0.0416664109f) * r + 0.166665196f) * r + 0.5f) * r + "
     "1.0f) *\n          r +\n      1.0f);"},
    {"exp", Of::kAll, "f", 32, "$V", "$V x",
     "  x = at_most_$V(89.0f, at_least_$V(-105.0f, x));\n  const $V shifted = x * 0x1.715476p+0f + 0x1.8p23f;\n"
     "  /* In two steps, since n reaches from -151 to 128. */\n"
     "  const $I n = as_int_$V(shifted), half = n >> 1;\n"
     "  return scaled_$V(scaled_$V(exp_mantissa_$V(x, shifted), half), ($I)(($U)n - ($U)half));"},
    // Where it is a normal number.
    {"normal_exp", Of::kAll, "f", 32, "$V", "$V x",
     "  const $V shifted = x * 0x1.715476p+0f + 0x1.8p23f;\n"
     "  return scaled_$V(exp_mantissa_$V(x, shifted), as_int_$V(shifted));"},
    // x = 2^e m with m from sqrt(1/2) to sqrt(2).
    {"log", Of::kAll, "f", 32, "$V", "$V x",
     "  const $M tiny = x < 0x1p-126f;\n"
     "  const $I bits = as_int_$V(select_$V(tiny, x * 0x1p25f, x));\n"
     "  const $I e = ($I)(($U)bits - 0x3f3504f3u) >> 23;\n"
     "  const $V n = $V_of_$I(e + select_$I(tiny, splat_$I(-25), splat_$I(0)));\n"
     "  const $V f = as_float_$I(($I)(($U)bits - (($U)e << 23))) - 1.0f, square = f * f;\n"
     "  const $V p = (((((((0.0691514984f * f - 0.117891192f) * f + 0.11872676f) * f - 0.123844407f) * f + "
     "0.142187148f) "
     "* f -\n               0.16669248f) * f + 0.200022236f) * f - 0.249999866f) * f + 0.333333105f;\n"
     "  const $V tail = (square * f) * p + square * -0.5f + n * 0x1.7f7d1cp-20f;\n"
     "  $V y = n * 0x1.62e4p-1f + (f + tail);\n"
     "  y = select_$V(x < splat_$V(__builtin_inff()), y, x);\n"
     "  y = select_$V(x < 0.0f, splat_$V(__builtin_nanf(\"\")), y);\n"
     "  return select_$V(x == 0.0f, splat_$V(-__builtin_inff()), y);"},
    {"tanh", Of::kAll, "f", 32, "$V", "$V x",
     "  const $V size = abs_$V(x), square = x * x;\n"
     "  const $V near = x + x * (square * ((((-0.00565850642f * square + 0.0205996577f) * square - 0.0537283793f) * "
     "square "
     "+\n                          0.133313164f) * square - 0.333332777f));\n"
     "  const $V bounded = select_$V(size < 10.0f, size, splat_$V(10.0f));\n"
     "  const $V far = 1.0f - 2.0f / (normal_exp_$V(bounded + bounded) + 1.0f);\n"
     "  return signed_$V(select_$V(size > 0.625f, far, near), x);"},
    {"erf", Of::kAll, "f", 32, "$V", "$V x",
     "  const $V size = abs_$V(x), s = x * x;\n"
     "  const $V near = x + x * ((((((7.97202447e-05f * s - 0.000804424286f) * s + 0.00519196969f) * s - "
     "0.0268555917f) * "
     "s +\n                             0.112836242f) * s - 0.376126289f) * s + 0.128379166f);\n"
     "  const $V b = select_$V(size < 3.95f, size, splat_$V(3.95f));\n"
     "  const $V q = (((((((-4.57473107e-07f * b - 1.52001139e-05f) * b + 0.000401949859f) * b - 0.00407076906f) * b "
     "+\n"
     "                   0.024930058f) * b - 0.10805583f) * b - 0.633509696f) * b - 1.12944865f) * b + "
     "0.000163086675f;\n"
     "  return signed_$V(select_$V(size > 0.925f, 1.0f - normal_exp_$V(q), near), x);"},
    // The nearest quarter of a turn, in f64, and the sine or cosine of the remainder.
    {"sine", Of::kAll, "f", 32, "$V", "$V x, i32 quarters",
     "  const $D all = $D_of_$F(x), shifted = all * 0x1.45f306dc9c883p-1 + 0x1.8p52, n = shifted - 0x1.8p52;\n"
     "  const $D left = (all - n * 1.5707963267341256) - n * 6.077100506506192e-11;\n"
     "  const $V r = at_most_$V(0.7854f, at_least_$V(-0.7854f, $F_of_$D(left))), s = r * r;\n"
     "  const $I quarter = $I_of_$L(bits_$D(shifted)) + quarters;\n"
     "  const $V sine = r * ((((2.83268014e-6f * s - 0.000198530717f) * s + 0.0083333794f) * s - 0.166666672f) * s + "
     "1.0f);\n"
     "  const $V cosine = (((2.44323364e-5f * s - 0.00138873095f) * s + 0.0416666456f) * s - 0.5f) * s + 1.0f;\n"
     "  const $I size = as_int_$V(select_$V((quarter & 1) != 0, cosine, sine));\n"
     "  return as_float_$I(size ^ ($I)(($U)(quarter & 2) << 30));"},
    {"bits", Of::kScalars, "f", 64, "i64", "f64 x",
     "  const union { f64 f; i64 i; } both = {x};\n  return both.i & 0xffff;"},
    {"bits", Of::kVectors, "f", 64, "$L", "$V x", "  return ($L)x & 0xffff;"},
    {"sin", Of::kAll, "f", 32, "$V", "$V x", "  return sine_$V(x, 0);"},
    {"cos", Of::kAll, "f", 32, "$V", "$V x", "  return sine_$V(x, 1);"},
    // A half, a quarter or nothing of pi, and the arc tangent of the remainder.
    {"atan", Of::kAll, "f", 32, "$V", "$V x",
     "  const $V size = abs_$V(x), one = splat_$V(1.0f), none = splat_$V(0.0f);\n"
     "  const $M large = size > 2.41421356f, middle = size > 0.414213562f;\n"
     "  const $V left = select_$V(large, -one, select_$V(middle, size - 1.0f, size)) /\n"
     "                  select_$V(large, size, select_$V(middle, size + 1.0f, one));\n"
     "  const $V s = left * left;\n"
     "  const $V p = ((((-0.0609006248f * s + 0.105991699f) * s - 0.14244391f) * s + 0.199985281f) * s - "
     "0.333333164f);\n"
     "  const $V quarter = splat_$V(0.7853981852531433f), rest = splat_$V(-2.1855695e-08f);\n"
     "  const $V turned = select_$V(large, 2.0f * quarter, select_$V(middle, quarter, none));\n"
     "  const $V lacks = select_$V(large, 2.0f * rest, select_$V(middle, rest, none));\n"
     "  return signed_$V(turned + (left + (left * s * p + lacks)), x);"},
    {"sqrt", Of::kScalars, "f", 32, "$V", "$V x", "  return sqrtf(x);"},
    {"sqrt", Of::kVectors, "f", 32, "$V", "$V x", "  for (int l = 0; l < $N; ++l) x[l] = sqrtf(x[l]);\n  return x;"},
    // Where the processor has none, a product of two f32 is exact in f64.
    {"fma", Of::kScalars, "f", 32, "$V", "$V a, $V b, $V c",
     "#ifdef __FP_FAST_FMAF\n  return fmaf(a, b, c);\n#else\n  return (f32)((f64)a * b + c);\n#endif"},
    {"fma", Of::kVectors, "f", 0, "$V", "$V a, $V b, $V c",
     "  for (int l = 0; l < $N; ++l) c[l] = fma_$E(a[l], b[l], c[l]);\n  return c;"},
    {"fma", Of::kScalars, "f", 64, "$V", "$V a, $V b, $V c", "  return fma(a, b, c);"},

    // f64: the library's, lane by lane.
    {"exp", Of::kScalars, "f", 64, "f64", "f64 x", "  return exp(x);"},
    {"log", Of::kScalars, "f", 64, "f64", "f64 x", "  return log(x);"},
    {"tanh", Of::kScalars, "f", 64, "f64", "f64 x", "  return tanh(x);"},
    {"erf", Of::kScalars, "f", 64, "f64", "f64 x", "  return erf(x);"},
    {"sin", Of::kScalars, "f", 64, "f64", "f64 x", "  return sin(x);"},
    {"cos", Of::kScalars, "f", 64, "f64", "f64 x", "  return cos(x);"},
    {"atan", Of::kScalars, "f", 64, "f64", "f64 x", "  return atan(x);"},
    {"sqrt", Of::kScalars, "f", 64, "f64", "f64 x", "  return sqrt(x);"},
    {"rint", Of::kScalars, "f", 64, "f64", "f64 x", "  return rint(x);"},
    {"abs", Of::kScalars, "f", 64, "f64", "f64 x", "  return fabs(x);"},
#define HONE_BY_LANE(name) \
  { name, Of::kVectors, "f", 64, "$V", "$V x", "  for (int l = 0; l < $N; ++l) x[l] = " name "_$E(x[l]);\n  return x;" }
    HONE_BY_LANE("exp"),
    HONE_BY_LANE("log"),
    HONE_BY_LANE("tanh"),
    HONE_BY_LANE("erf"),
    HONE_BY_LANE("sin"),
    HONE_BY_LANE("cos"),
    HONE_BY_LANE("atan"),
    HONE_BY_LANE("sqrt"),
    HONE_BY_LANE("rint"),
    HONE_BY_LANE("abs"),
#undef HONE_BY_LANE

    // The nearest f16 to an f32, the even one of two, as bits; infinity from 2^16 on.
    {"bits_f16", Of::kAll, "f", 32, "$H", "$V x",
     "  const $I bits = as_int_$V(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;\n"
     "  const $I normal = (size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13;\n"
     "  /* Below 2^-14: half of an f32 has the place that remains. */\n"
     "  const $I small = as_int_$V(as_float_$I(size) + 0.5f) - 0x3f000000;\n"
     "  $I half = select_$I(size < 0x38800000, small, normal);\n"
     "  half = select_$I(size >= 0x47800000, splat_$I(0x7c00), half);\n"
     "  half = select_$I(size > 0x7f800000, 0x7e00 | (size >> 13 & 0x1ff), half);\n"
     "  return $H_of_$I(half | sign);"},
    {"value_f16", Of::kAll, "u", 16, "$F", "$V x",
     "  const $I half = $I_of_$V(x), size = half & 0x7fff, sign = ($I)(($U)(half & 0x8000) << 16);\n"
     "  const $F small = $F_of_$I(size) * 0x1p-24f;\n"
     "  const $I large = (size << 13) + select_$I(size >= 0x7c00, splat_$I(224 << 23), splat_$I(112 << 23));\n"
     "  return as_float_$I(select_$I(size < 0x400, as_int_$F(small), large) | sign);"},
    {"round_f16", Of::kAll, "f", 32, "$V", "$V x", "  return value_f16_$H(bits_f16_$V(x));"},
    // bf16 is the upper half of an f32.
    {"bits_bf16", Of::kAll, "f", 32, "$H", "$V x",
     "  const $U bits = ($U)as_int_$V(x), up = bits + 0x7fffu + (bits >> 16 & 1u);\n"
     "  const $I half = select_$I(mask_$V(x == x), ($I)(up >> 16), ($I)(bits >> 16 | 0x40u));\n"
     "  return $H_of_$I(half);"},
    {"value_bf16", Of::kAll, "u", 16, "$F", "$V x", "  return as_float_$I(($I)($U_of_$V(x) << 16));"},
    {"round_bf16", Of::kAll, "f", 32, "$V", "$V x", "  return value_bf16_$H(bits_bf16_$V(x));"},
};

}  // namespace

std::span<const FunctionTemplate> math_templates() { return kMath; }

}  // namespace hone
