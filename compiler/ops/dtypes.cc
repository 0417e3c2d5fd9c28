#include "compiler/ops/dtypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ops/attributes/split_text.h"

namespace hone {
namespace {

// f16 and bf16 alone stand for the first row of their type: sums in f32.
constexpr std::string_view kProducts[] = {"f32",
                                          "f64",
                                          "tf32",
                                          "f16:f16:f32:f16",
                                          "f16:f16:f32:f32",
                                          "f16:f16:f16:f16",
                                          "f16:f16:f16:f32",
                                          "bf16:bf16:f32:bf16",
                                          "bf16:bf16:f32:f32",
                                          "f16:f32:f32:f16",
                                          "f16:f32:f32:f32",
                                          "bf16:f32:f32:bf16",
                                          "bf16:f32:f32:f32",
                                          "f32:s8:f32:f32",
                                          "u8:f32:f32:f32",
                                          "s8:f32:f32:f32",
                                          "u16:f32:f32:f32",
                                          "s16:f32:f32:f32",
                                          "u8:s8:s32:s32",
                                          "s8:s8:s32:s32",
                                          "s8:u8:s32:s32",
                                          "s16:s16:s32:s32"};

std::string canonical_text(std::string_view text) {
  const auto parts = split_text(text, ':');
  const bool one = std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts[0]; });
  const bool narrow = text == "f16" || text == "bf16";
  std::string out = narrow ? fmt::format("{0}:{0}:f32:{0}", text)
                    : one && (parts.size() == 1 || (parts.size() == 4 && parts[0] != "f16")) ? parts[0]
                                                                                             : std::string(text);
  HONE_USER_CHECK(std::find(std::begin(kProducts), std::end(kProducts), out) != std::end(kProducts))
      << "dtype=" << text << " is not supported; allowed: " << fmt::format("{}", fmt::join(kProducts, ", "))
      << "; f16 is short for " << kProducts[3] << ", bf16 likewise";
  return out;
}

// `text` is canonical.
DTypes types_of(const std::string& text) {
  if (text == "tf32") return {f32, f32, f32, f32, true};
  const auto parts = split_text(text, ':');
  if (parts.size() == 1) {
    const DType t = parse_dtype(text);
    return {t, t, t, t};
  }
  DTypes types{parse_dtype(parts[0]), parse_dtype(parts[1]), parse_dtype(parts[2]), parse_dtype(parts[3])};
  if (types.accumulate == f16) types.accumulate = f32, types.f16_runs = true;
  return types;
}

AttributeParser one_type(std::string_view allowed) {
  return [allowed](std::string_view text, const AttributeContext& context) {
    HONE_USER_CHECK(fmt::format(", {},", allowed).find(fmt::format(" {},", text)) != std::string::npos)
        << context.op << ": dtype=" << text << " is not supported; allowed: " << allowed;
    const DType t = parse_dtype(text);
    return ParsedAttribute{std::string(text), DTypes{t, t, t.is_narrow_float() ? f32 : t, t}};
  };
}

}  // namespace

const DTypes& dtypes_of(const Workload& w) { return w.attributes.get<DTypes>("dtype"); }

bool sums_bytes(const Workload& w) {
  if (!w.attributes.has("dtype")) return false;
  const DTypes& t = dtypes_of(w);
  return t.in == u8 && t.weight == i8 && t.accumulate == i32;
}

DType type_of_products(const Workload& w) {
  const DTypes& t = dtypes_of(w);
  return t.f16_runs ? f16 : t.accumulate;
}

int64_t accumulator_bits(const Workload& w) { return 8 * type_of_products(w).bytes(); }

AttributeParser product_dtypes() {
  return [](std::string_view text, const AttributeContext&) {
    std::string canonical = canonical_text(text);
    DTypes types = types_of(canonical);
    return ParsedAttribute{std::move(canonical), types};
  };
}

AttributeParser number_dtype() { return one_type("f16, bf16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64"); }

AttributeParser element_dtype() { return one_type("f16, bf16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64, bool"); }

AttributeParser float_dtype() { return one_type("f16, bf16, f32, f64"); }

}  // namespace hone
