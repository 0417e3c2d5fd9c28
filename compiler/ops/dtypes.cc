#include "compiler/ops/dtypes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ops/split_text.h"

namespace hone {
namespace {

// f16 and bf16 alone abbreviate the first of their kind: sums are f32's.
constexpr std::string_view kProducts[] = {"f32",
                                          "f64",
                                          "tf32",
                                          "f16:f16:f32:f16",
                                          "f16:f16:f32:f32",
                                          "bf16:bf16:f32:bf16",
                                          "bf16:bf16:f32:f32",
                                          "u8:s8:s32:s32",
                                          "s8:s8:s32:s32"};

std::string canonical_text(std::string_view text) {
  const auto parts = split_text(text, ':');
  const bool one = std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts[0]; });
  std::string out = one && (parts.size() == 1 || parts.size() == 4) ? parts[0] : std::string(text);
  if (text == "f16" || text == "bf16") out = fmt::format("{0}:{0}:f32:{0}", text);
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
  return {parse_dtype(parts[0]), parse_dtype(parts[1]), parse_dtype(parts[2]), parse_dtype(parts[3])};
}

}  // namespace

const DTypes& dtypes_of(const Workload& w) { return w.attributes.get<DTypes>("dtype"); }

AttributeParser product_dtypes() {
  return [](std::string_view text, const AttributeContext&) {
    std::string canonical = canonical_text(text);
    DTypes types = types_of(canonical);
    return ParsedAttribute{std::move(canonical), types};
  };
}

AttributeParser float_dtype() {
  return [](std::string_view text, const AttributeContext& context) {
    std::string canonical = canonical_text(text);
    HONE_USER_CHECK(canonical == "f32" || canonical == "f64")
        << context.op << ": dtype=" << text << " is not supported; allowed: f32, f64";
    DTypes types = types_of(canonical);
    return ParsedAttribute{std::move(canonical), types};
  };
}

}  // namespace hone
