#include "compiler/codegen/c/emit_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace hone {
namespace {

// arm_neon.h's letters for a type, and the type of elements in memory.
struct Letters {
  std::string_view of, element;
};
Letters letters_of(DType t) {
  if (t == u8) return {"u8", "uint8_t"};
  if (t == i8) return {"s8", "int8_t"};
  if (t == i32) return {"s32", "int32_t"};
  if (t == f32) return {"f32", "float32_t"};
  HONE_ICHECK(t == bf16) << "no block has elements of " << to_string(t);
  return {"u16", "uint16_t"};
}

std::string_view function_of(const MatrixUnit& u) {
  if (u.product == "smmla") return "vmmlaq_s32";
  if (u.product == "ummla") return "vmmlaq_u32";
  if (u.product == "usmmla") return "vusmmlaq_s32";
  HONE_ICHECK(u.product == "bfmmla") << "no function of blocks is called " << u.product;
  return "vbfmmlaq_f32";
}

}  // namespace

std::optional<TileRegion> match_block_region(const Stmt& s) {
  static const Target with_blocks = Target::parse("llvm -mtriple=aarch64-linux -mcpu=generic -mattr=+bf16,+i8mm");
  auto region = match_tile_region(s, with_blocks);
  // The sums of u8 by u8, which no operator has, are of another type there.
  return region && region->unit().product != "ummla" ? std::move(region) : std::nullopt;
}

std::string_view macro_of(const TileRegion& region) {
  return region.unit().a == "bf16" ? "__ARM_FEATURE_BF16_VECTOR_ARITHMETIC" : "__ARM_FEATURE_MATMUL_INT8";
}

// The row's address as arm_neon.h takes it.
std::string BlockWriter::row(const TileNest::Operand& operand, int row) {
  const Expr at = row ? operand.first + operand.stride : operand.first;
  exprs_.begin({at});
  return fmt::format("({}*){}", letters_of(operand.buffer->dtype).element, exprs_.pointer(operand.buffer.get(), at));
}

std::string BlockWriter::factor(const TileNest::Operand& operand, int64_t depth) {
  const auto known =
      std::find_if(loaded_.begin(), loaded_.end(), [&](const Loaded& l) { return l.operand.is(operand); });
  if (known != loaded_.end()) return known->name;
  const DType t = operand.buffer->dtype;
  const std::string_view of = letters_of(t).of;
  std::string value = operand.stride == depth ? fmt::format("vld1q_{}({})", of, row(operand, 0))
                                              : fmt::format("vcombine_{0}(vld1_{0}({1}), vld1_{0}({2}))", of,
                                                            row(operand, 0), row(operand, 1));
  if (t == bf16) value = fmt::format("vreinterpretq_bf16_u16({})", value);
  const std::string name = names_.fresh("rows"), type = t == bf16 ? "bfloat16x8_t"
                                                        : t == u8 ? "uint8x16_t"
                                                                  : "int8x16_t";
  lines_.add(fmt::format("const {} {} = {};", type, name, value));
  loaded_.push_back({operand, name});
  return name;
}

void BlockWriter::begin() {
  const DType t = region_.sums.front().buffer->dtype;
  const std::string_view of = letters_of(t).of;
  lines_.open("{");
  for (const TileNest::Operand& c : region_.sums) {
    sums_.push_back(names_.fresh("block"));
    lines_.add(fmt::format("{}x4_t {} = vcombine_{}(vld1_{}({}), vld1_{}({}));", t == f32 ? "float32" : "int32",
                           sums_.back(), of, of, row(c, 0), of, row(c, 1)));
    // Columns in the place of rows: the second and third of four change places.
    if (swaps())
      lines_.add(
          fmt::format("{0} = vcombine_s32(vzip1_s32(vget_low_s32({0}), vget_high_s32({0})), "
                      "vzip2_s32(vget_low_s32({0}), vget_high_s32({0})));",
                      sums_.back()));
  }
  forget();
}

void BlockWriter::nest(const TileNest& nest) {
  const auto at =
      std::find_if(region_.sums.begin(), region_.sums.end(), [&](const TileNest::Operand& c) { return c.is(nest.c); });
  const std::string& sum = sums_[static_cast<size_t>(at - region_.sums.begin())];
  std::string a = factor(nest.a, nest.unit->depth), b = factor(nest.b, nest.unit->depth);
  if (swaps()) std::swap(a, b);
  lines_.add(fmt::format("{0} = {1}({0}, {2}, {3});", sum, function_of(*nest.unit), a, b));
}

void BlockWriter::end() {
  const std::string_view of = letters_of(region_.sums.front().buffer->dtype).of;
  for (size_t s = 0; s < sums_.size(); ++s) {
    for (int r = 0; r < 2; ++r) {
      const std::string low = fmt::format("vget_low_{}({})", of, sums_[s]),
                        high = fmt::format("vget_high_{}({})", of, sums_[s]);
      const std::string elements = swaps() ? fmt::format("vzip{}_{}({}, {})", r + 1, of, low, high) : r ? high : low;
      lines_.add(fmt::format("vst1_{}({}, {});", of, row(region_.sums[s], r), elements));
    }
  }
  lines_.close();
}

}  // namespace hone
