#include "compiler/codegen/c/templates.h"

namespace hone {
namespace {

using Of = FunctionTemplate::For;

// A mask is 0 or -1 in each lane of 32 bits; of scalars 0 or 1.
constexpr FunctionTemplate kBasic[] = {
    {"splat", Of::kScalars, "", 0, "$V", "$E x", "  return x;"},
    {"splat", Of::kVectors, "", 0, "$V", "$E x", "  return ($V){$(x)};"},
    {"mask", Of::kScalars, "", 0, "int", "int c", "  return c;"},
    {"mask", Of::kVectors, "", 32, "$M", "$B c", "  return c;"},
    {"mask", Of::kVectors, "", 0, "$M", "$B c", "  return $M_of_$B(c);"},
    {"any", Of::kVectors, "i", 32, "int", "$V m",
     "  i32 any = 0;\n  for (int l = 0; l < $N; ++l) any |= m[l];\n  return any != 0;"},
    {"select", Of::kScalars, "", 0, "$V", "int c, $V a, $V b", "  return c ? a : b;"},
    {"select", Of::kVectors, "", 32, "$V", "$M c, $V a, $V b", "  return ($V)((($M)a & c) | (($M)b & ~c));"},
    {"select", Of::kVectors, "", 0, "$V", "$M c, $V a, $V b",
     "  const $B m = $B_of_$M(c);\n  return ($V)((($B)a & m) | (($B)b & ~m));"},
    // The second operand where the two do not compare; `minimum` and `maximum` give a NaN where one of them is.
    {"min", Of::kScalars, "", 0, "$V", "$V a, $V b", "  return a < b ? a : b;"},
    {"min", Of::kVectors, "", 0, "$V", "$V a, $V b",
     "  const $B m = ($B)(a < b);\n  return ($V)((($B)a & m) | (($B)b & ~m));"},
    {"max", Of::kScalars, "", 0, "$V", "$V a, $V b", "  return b < a ? a : b;"},
    {"max", Of::kVectors, "", 0, "$V", "$V a, $V b",
     "  const $B m = ($B)(b < a);\n  return ($V)((($B)a & m) | (($B)b & ~m));"},
    {"minimum", Of::kScalars, "f", 0, "$V", "$V a, $V b", "  return a < b || a != a ? a : b;"},
    {"minimum", Of::kVectors, "f", 0, "$V", "$V a, $V b",
     "  const $B m = ($B)(a < b) | ($B)(a != a);\n  return ($V)((($B)a & m) | (($B)b & ~m));"},
    {"maximum", Of::kScalars, "f", 0, "$V", "$V a, $V b", "  return b < a || a != a ? a : b;"},
    {"maximum", Of::kVectors, "f", 0, "$V", "$V a, $V b",
     "  const $B m = ($B)(b < a) | ($B)(a != a);\n  return ($V)((($B)a & m) | (($B)b & ~m));"},
    {"ramp", Of::kVectors, "", 0, "$V", "$E base, $E stride",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l) v[l] = base + l * stride;\n  return v;"},

    {"load", Of::kVectors, "", 0, "$V", "const void* p", "  return *(const $V_element*)p;"},
    {"words", Of::kAll, "u", 32, "$V", "const void* p",
     "  typedef $V __attribute__((may_alias, aligned(1))) any;\n  return *(const any*)p;"},
    {"load_where", Of::kVectors, "", 0, "$V", "$M m, const $E_element* p",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l)\n    if (m[l]) v[l] = p[l];\n  return v;"},
    {"strided", Of::kVectors, "", 0, "$V", "const $E_element* p, i64 stride",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l) v[l] = p[l * stride];\n  return v;"},
    {"strided_where", Of::kVectors, "", 0, "$V", "$M m, const $E_element* p, i64 stride",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l)\n    if (m[l]) v[l] = p[l * stride];\n  return v;"},
    {"gather", Of::kVectors, "", 0, "$V", "const $E_element* p, $L i",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l) v[l] = p[i[l]];\n  return v;"},
    {"gather_where", Of::kVectors, "", 0, "$V", "$M m, const $E_element* p, $L i",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l)\n    if (m[l]) v[l] = p[i[l]];\n  return v;"},
    {"store", Of::kVectors, "", 0, "void", "void* p, $V v", "  *($V_element*)p = v;"},
    {"store_where", Of::kVectors, "", 0, "void", "$M m, $E_element* p, $V v",
     "  for (int l = 0; l < $N; ++l)\n    if (m[l]) p[l] = v[l];"},
    {"store_strided", Of::kVectors, "", 0, "void", "$E_element* p, i64 stride, $V v",
     "  for (int l = 0; l < $N; ++l) p[l * stride] = v[l];"},
    {"store_strided_where", Of::kVectors, "", 0, "void", "$M m, $E_element* p, i64 stride, $V v",
     "  for (int l = 0; l < $N; ++l)\n    if (m[l]) p[l * stride] = v[l];"},
    {"scatter", Of::kVectors, "", 0, "void", "$E_element* p, $L i, $V v",
     "  for (int l = 0; l < $N; ++l) p[i[l]] = v[l];"},
    {"scatter_where", Of::kVectors, "", 0, "void", "$M m, $E_element* p, $L i, $V v",
     "  for (int l = 0; l < $N; ++l)\n    if (m[l]) p[i[l]] = v[l];"},

    // Rounding down. A lane that is not wanted may divide by zero.
    {"floordiv", Of::kScalars, "u", 0, "$V", "$V a, $V b", "  return b == 0 ? 0 : a / b;"},
    {"floordiv", Of::kScalars, "", 0, "$V", "$V a, $V b",
     "  if (b == 0) return 0;\n  if (b == -1) return ($V)(0 - (u64)a);\n  return ($V)(a / b - (a % b != 0 && (a < 0) "
     "!= "
     "(b < 0)));"},
    {"floordiv", Of::kVectors, "", 0, "$V", "$V a, $V b",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l) v[l] = floordiv_$E(a[l], b[l]);\n  return v;"},
    {"floormod", Of::kScalars, "u", 0, "$V", "$V a, $V b", "  return b == 0 ? 0 : a % b;"},
    {"floormod", Of::kScalars, "", 0, "$V", "$V a, $V b",
     "  if (b == 0 || b == -1) return 0;\n  return ($V)(a % b != 0 && (a < 0) != (b < 0) ? a % b + b : a % b);"},
    {"floormod", Of::kVectors, "", 0, "$V", "$V a, $V b",
     "  $V v = {0};\n  for (int l = 0; l < $N; ++l) v[l] = floormod_$E(a[l], b[l]);\n  return v;"},
    {"abs", Of::kAll, "u", 0, "$V", "$V x", "  return x;"},
    {"abs", Of::kScalars, "i", 0, "$V", "$V x", "  return x < 0 ? ($V)(0 - (u64)x) : x;"},
    {"abs", Of::kVectors, "i", 0, "$V", "$V x",
     "  const $B m = x < 0;\n  $V v = x;\n  for (int l = 0; l < $N; ++l) v[l] = ($E)(((u64)x[l] ^ (u64)m[l]) - "
     "(u64)m[l]);\n  return v;"},
    // For i32: the sum of four products of u8 and s8.
    {"dot4", Of::kAll, "i", 32, "$V", "$A a0, $A a1, $A a2, $A a3, $S b0, $S b1, $S b2, $S b3",
     "  return $V_of_$A(a0) * $V_of_$S(b0) + $V_of_$A(a1) * $V_of_$S(b1) + $V_of_$A(a2) * $V_of_$S(b2) +\n         "
     "$V_of_$A(a3) * $V_of_$S(b3);"},
    // The same for words that hold four bytes each, the first one lowest, added to a sum.
    {"dot4_words", Of::kAll, "i", 32, "$V", "$V sum, $U a, $U b",
     "#ifdef HONE_DOT4_$N\n  return HONE_DOT4_$N($V, sum, a, b);\n#else\n"
     "  return ($V)(($U)sum + ($U)(($V)(a & 255) * (($V)(b << 24) >> 24) + ($V)(a >> 8 & 255) * (($V)(b << 16) >> 24) "
     "+\n      ($V)(a >> 16 & 255) * (($V)(b << 8) >> 24) + ($V)(a >> 24) * (($V)b >> 24)));\n#endif"},
};

bool is_for(const FunctionTemplate& f, DType t) {
  if (f.lanes == Of::kScalars && t.is_vector()) return false;
  if (f.lanes == Of::kVectors && !t.is_vector()) return false;
  const char kind = t.is_float() ? 'f' : t.code == TypeCode::kUInt ? 'u' : 'i';
  return (f.kinds.empty() || f.kinds.find(kind) != std::string_view::npos) && (f.bits == 0 || f.bits == t.bits);
}

}  // namespace

std::span<const FunctionTemplate> basic_templates() { return kBasic; }

const FunctionTemplate* template_of(std::string_view name, DType t) {
  for (const auto& all : {basic_templates(), math_templates()})
    for (const FunctionTemplate& f : all)
      if (f.name == name && is_for(f, t)) return &f;
  return nullptr;
}

}  // namespace hone
