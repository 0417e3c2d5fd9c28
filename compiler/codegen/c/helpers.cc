#include "compiler/codegen/c/helpers.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <optional>

#include "base/check.h"
#include "compiler/codegen/c/templates.h"
#include "compiler/codegen/text/names.h"

namespace hone {
namespace {

constexpr std::string_view kPrelude = R"(#include <math.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this file is for little-endian processors"
#endif
#ifdef __FAST_MATH__
#error "compile it without -ffast-math, which changes how numbers are rounded here; -ffp-contract=fast is fine"
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "f32 has to be computed as f32: on 32-bit x86 with -msse2 -mfpmath=sse"
#endif
/* Vectors are GCC's, which Clang has as well. Vectors that a processor lacks are made of what it has. */
#pragma GCC diagnostic ignored "-Wpsabi"
#ifndef __clang__ /* GCC does not see which lanes a mask lets be read */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif
#define HONE_INLINE static inline __attribute__((always_inline, unused))
#define HONE_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define HONE_STACK __attribute__((aligned(64), unused))
#if defined(__clang__) || __GNUC__ >= 9
#define HONE_CONVERTS 1
#endif
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
/* Elements in memory: the workspace holds now these, now those. */
#define HONE_ELEMENT(type) typedef type __attribute__((may_alias)) type##_element;
HONE_ELEMENT(i8)
HONE_ELEMENT(u8)
HONE_ELEMENT(i16)
HONE_ELEMENT(u16)
HONE_ELEMENT(i32)
HONE_ELEMENT(u32)
HONE_ELEMENT(i64)
HONE_ELEMENT(u64)
HONE_ELEMENT(f32)
HONE_ELEMENT(f64)
#define HONE_VECTOR(type, lanes)                                              \
  typedef type type##x##lanes __attribute__((vector_size(sizeof(type) * lanes))); \
  typedef type##x##lanes __attribute__((may_alias, aligned(sizeof(type)))) type##x##lanes##_element;
)";

// Dot products of bytes, u8 by s8, for vectors of as many lanes as the processor's: by its instruction, or on AVX2 by
// products of 16 bits, two of which fit into 32.
constexpr std::string_view kDotPrelude = R"(#if defined(__AVX2__)
#include <immintrin.h>
#endif
#if defined(__AVX512VNNI__)
#define HONE_DOT4_16(type, sum, a, b) (type)_mm512_dpbusd_epi32((__m512i)(sum), (__m512i)(a), (__m512i)(b))
#endif
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
#define HONE_DOT4_8(type, sum, a, b) (type)_mm256_dpbusd_epi32((__m256i)(sum), (__m256i)(a), (__m256i)(b))
#define HONE_DOT4_4(type, sum, a, b) (type)_mm_dpbusd_epi32((__m128i)(sum), (__m128i)(a), (__m128i)(b))
#elif defined(__AVXVNNI__)
#define HONE_DOT4_8(type, sum, a, b) (type)_mm256_dpbusd_avx_epi32((__m256i)(sum), (__m256i)(a), (__m256i)(b))
#define HONE_DOT4_4(type, sum, a, b) (type)_mm_dpbusd_avx_epi32((__m128i)(sum), (__m128i)(a), (__m128i)(b))
#elif defined(__AVX2__)
#define HONE_DOT4_8(type, sum, a, b)                                                                          \
  (type)_mm256_add_epi32(                                                                                     \
      (__m256i)(sum),                                                                                         \
      _mm256_add_epi32(                                                                                       \
          _mm256_madd_epi16(_mm256_and_si256((__m256i)(a), _mm256_set1_epi16(255)),                           \
                            _mm256_srai_epi16(_mm256_slli_epi16((__m256i)(b), 8), 8)),                        \
          _mm256_madd_epi16(_mm256_srli_epi16((__m256i)(a), 8), _mm256_srai_epi16((__m256i)(b), 8))))
#elif defined(__aarch64__) && defined(__ARM_FEATURE_MATMUL_INT8)
#include <arm_neon.h>
#define HONE_DOT4_4(type, sum, a, b) (type)vusdotq_s32((int32x4_t)(sum), (uint8x16_t)(a), (int8x16_t)(b))
#elif defined(__aarch64__) && defined(__ARM_FEATURE_DOTPROD)
#include <arm_neon.h>
/* a as s8 is 128 less: 64 * b twice makes up for it. */
#define HONE_DOT4_4(type, sum, a, b)                                                                     \
  (type)vdotq_s32(vdotq_s32(vdotq_s32((int32x4_t)(sum), vdupq_n_s8(64), (int8x16_t)(b)), vdupq_n_s8(64), \
                            (int8x16_t)(b)),                                                             \
                  (int8x16_t)veorq_u8((uint8x16_t)(a), vdupq_n_u8(128)), (int8x16_t)(b))
#endif
)";

constexpr std::string_view kArmPrelude = R"(#if defined(__aarch64__) && \
    (defined(__ARM_FEATURE_MATMUL_INT8) || defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC))
#include <arm_neon.h>
#endif
)";

std::string plain_name(DType t) {
  const std::string element = memory_type(t.scalar());
  return t.is_vector() ? fmt::format("{}x{}", element, t.lanes) : element;
}

// The type of a comparison's lanes: signed numbers of as many bits.
DType comparison_type(DType t) { return DType{TypeCode::kInt, t.bits, t.lanes}; }

// The type that `$X` stands for in a template over t; nothing for other letters.
std::optional<DType> letter_type(char letter, DType t) {
  const auto of = [&](DType scalar) { return std::optional(scalar.with_lanes(t.lanes)); };
  switch (letter) {
    case 'V': return t;
    case 'E': return t.scalar();
    case 'B': return comparison_type(t);
    case 'M': return of(i32);  // a mask
    case 'I': return of(i32);
    case 'U': return of(u32);
    case 'H': return of(u16);
    case 'A': return of(u8);
    case 'S': return of(i8);
    case 'L': return of(i64);
    case 'F': return of(f32);
    case 'D': return of(f64);
    default: return std::nullopt;
  }
}

}  // namespace

DType value_type(DType t) {
  if (t.is_narrow_float()) return f32.with_lanes(t.lanes);
  return t.is_bool() && t.is_vector() ? i32.with_lanes(t.lanes) : t;
}

void Helpers::need_type(DType t) {
  if (!t.is_vector() || !known_.insert(plain_name(t)).second) return;
  types_ += fmt::format("HONE_VECTOR({}, {})\n", memory_type(t.scalar()), t.lanes);
}

std::string Helpers::type(DType t) {
  const DType v = value_type(t);
  if (v.is_bool()) return "int";
  need_type(v);
  return plain_name(v);
}

std::string Helpers::memory(DType t) {
  const DType element = t.is_bool() ? u8.with_lanes(t.lanes) : t.is_narrow_float() ? u16.with_lanes(t.lanes) : t;
  need_type(element);
  return plain_name(element);
}

std::string Helpers::function(std::string_view name, DType t) {
  const DType v = value_type(t);
  return instance(name, v.is_bool() ? i32 : v, type(v.is_bool() ? i32 : v));
}

std::string Helpers::memory_function(std::string_view name, DType t) {
  const DType element = t.is_bool() ? u8.with_lanes(t.lanes) : t.is_narrow_float() ? u16.with_lanes(t.lanes) : t;
  return instance(name, element, memory(t));
}

std::string Helpers::instance(std::string_view name, DType t, const std::string& of) {
  std::string full = fmt::format("{}_{}", name, of);
  if (known_.contains(full)) return full;
  const FunctionTemplate* found = template_of(name, t);
  HONE_ICHECK(found) << "no function " << name << " of " << to_string(t) << " in C";
  // Filling the texts first adds the functions that this one uses in front of it.
  std::string made = fmt::format("HONE_INLINE {} {}({}) {{\n{}\n}}\n", filled(found->result, t), full,
                                 filled(found->parameters, t), filled(found->body, t));
  if (known_.insert(full).second) functions_ += made;
  return full;
}

// `$V` and the other letters are types (letter_type); `name_$V` is a function, `$V_of_$I` a conversion; `$N` is the
// number of lanes, and `$(text)` stands for the text that many times, with commas.
std::string Helpers::filled(std::string_view text, DType t) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$') {
      out += text[i];
      continue;
    }
    if (text[i + 1] == '(') {
      const size_t end = text.find(')', i);
      for (int lane = 0; lane < t.lanes; ++lane)
        out += fmt::format("{}{}", lane ? ", " : "", text.substr(i + 2, end - i - 2));
      i = end;
      continue;
    }
    const char letter = text[++i];
    if (letter == 'N') {
      out += fmt::format("{}", t.lanes);
      continue;
    }
    const auto found = letter_type(letter, t);
    HONE_ICHECK(found) << "unknown letter in a template of C: " << letter;
    // A conversion: `$V_of_$I`.
    constexpr std::string_view kOf = "_of_$";
    if (text.substr(i + 1).starts_with(kOf)) {
      const DType from = *letter_type(text[i + 1 + kOf.size()], t);
      out += conversion(from, *found);
      i += 1 + kOf.size();
      continue;
    }
    // A function, whose name stands before: `exp_$V`.
    size_t begin = out.size();
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(out[begin - 1])) || out[begin - 1] == '_')) --begin;
    if (begin < out.size() && out.back() == '_') {
      const std::string name = out.substr(begin, out.size() - begin - 1);
      out.resize(begin);
      need_type(*found);
      out += instance(name, *found, plain_name(*found));
      continue;
    }
    need_type(*found);
    out += plain_name(*found);
  }
  return out;
}

std::string Helpers::conversion(DType from, DType to) {
  need_type(from);
  need_type(to);
  const std::string of = plain_name(from), is = plain_name(to), name = fmt::format("{}_of_{}", is, of);
  if (!known_.insert(name).second) return name;
  if (!to.is_vector() || from == to) {
    functions_ += fmt::format("HONE_INLINE {0} {1}({2} x) {{ return ({0})x; }}\n", is, name, of);
    return name;
  }
  functions_ += fmt::format(R"(HONE_INLINE {0} {1}({2} x) {{
#ifdef HONE_CONVERTS
  return __builtin_convertvector(x, {0});
#else
  {0} out;
  for (int l = 0; l < {3}; ++l) out[l] = ({4})x[l];
  return out;
#endif
}}
)",
                            is, name, of, to.lanes, plain_name(to.scalar()));
  return name;
}

std::string Helpers::saturation(DType from, DType to) {
  const std::string of = type(from), is = type(to), name = fmt::format("sat_{}_of_{}", is, of);
  if (known_.contains(name)) return name;
  const bool is_signed = to.code == TypeCode::kInt;
  const char* suffix = from.bits == 32 ? "f" : "";
  const int digits = to.bits - (is_signed ? 1 : 0);
  const std::string least =
      fmt::format("{:a}{}", is_signed ? -static_cast<double>(uint64_t{1} << digits) : 0.0, suffix);
  const std::string select = function("select", from), mask = function("mask", from);
  std::string body;
  if (to.bits < 32) {
    // Whole numbers that the float has: between its bounds by way of 32 bits, which machines convert to.
    const DType wide = i32.with_lanes(to.lanes);
    const std::string most = fmt::format("{}.0{}", (int64_t{1} << digits) - 1, suffix), splat = function("splat", from);
    body = fmt::format(
        "  x = {0}({1}(x == x), x, {2}(0));\n  x = {0}({1}(x < {3}), {2}({3}), x);\n  x = {0}({1}(x > {4}), {2}({4}), "
        "x);\n  return {5}({6}(x));\n",
        select, mask, splat, least, most, conversion(wide, to), conversion(from, wide));
  } else {
    const std::string beyond = fmt::format("{:a}{}", std::ldexp(1, digits), suffix), splat = function("splat", from);
    const std::string choose = function("select", to), all = function("splat", to);
    const std::string largest = is_signed ? fmt::format("INT{}_MAX", to.bits) : fmt::format("UINT{}_MAX", to.bits);
    const std::string smallest = is_signed ? fmt::format("INT{}_MIN", to.bits) : "0";
    const std::string masks = type(boolean.with_lanes(to.lanes));
    body = fmt::format(
        "  const {0} over = {1}(x >= {2}), inside = {1}(x > {3}) & {1}(x < {2});\n  const {4} y = "
        "{5}({6}(inside, x, {7}(0)));\n  return {8}(over, {9}({10}), {8}({1}(x <= {3}), {9}({11}), y));\n",
        masks, mask, beyond, least, is, conversion(from, to), select, splat, choose, all, largest, smallest);
  }
  if (known_.insert(name).second) functions_ += fmt::format("HONE_INLINE {} {}({} x) {{\n{}}}\n", is, name, of, body);
  return name;
}

std::string Helpers::text() const {
  const bool has_dots = functions_.find("HONE_DOT4_") != std::string::npos;
  return std::string(kPrelude) + std::string(has_dots ? kDotPrelude : "") +
         std::string(needs_arm_functions_ ? kArmPrelude : "") + types_ + functions_;
}

}  // namespace hone
