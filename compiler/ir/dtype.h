// Scalar and vector types of the tensor IR.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace hone {

/// kBFloat: the upper half of a float of 32 bits (bf16).
enum class TypeCode : uint8_t { kInt, kUInt, kFloat, kBool, kBFloat };
inline constexpr int kTypeCodeCount = 5;

/// A scalar type and a number of lanes (1 except in vector forms, which only codegen/legalize makes).
struct DType {
  TypeCode code = TypeCode::kInt;
  uint8_t bits = 64;
  uint16_t lanes = 1;

  auto operator<=>(const DType&) const = default;
  bool is_float() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat; }
  /// A float of 16 bits: f16 or bf16.
  bool is_narrow_float() const { return is_float() && bits == 16; }
  bool is_bool() const { return code == TypeCode::kBool; }
  bool is_integer() const { return code == TypeCode::kInt || code == TypeCode::kUInt; }
  bool is_vector() const { return lanes > 1; }
  DType with_lanes(int n) const { return {code, bits, static_cast<uint16_t>(n)}; }
  DType scalar() const { return with_lanes(1); }
  /// Size in memory of one lane; a bool takes one byte.
  int64_t lane_bytes() const { return bits < 8 ? 1 : bits / 8; }
  int64_t bytes() const { return lane_bytes() * lanes; }
};

inline constexpr DType i8{TypeCode::kInt, 8}, i16{TypeCode::kInt, 16}, i32{TypeCode::kInt, 32}, i64{TypeCode::kInt, 64};
inline constexpr DType u8{TypeCode::kUInt, 8}, u16{TypeCode::kUInt, 16}, u32{TypeCode::kUInt, 32},
    u64{TypeCode::kUInt, 64};
inline constexpr DType f16{TypeCode::kFloat, 16}, f32{TypeCode::kFloat, 32}, f64{TypeCode::kFloat, 64},
    bf16{TypeCode::kBFloat, 16};
inline constexpr DType boolean{TypeCode::kBool, 1};
/// The type of every loop variable, index and extent.
inline constexpr DType kIndex = i64;

/// `f32`, `s8`, `u8`, `i64` (index), `bool`, with `x16` behind it for sixteen lanes.
std::string to_string(DType t);
/// Reverses to_string for scalars of workload texts (f16 bf16 f32 f64 s8 s16 s32 s64 u8 u16 u32 u64 bool). UserError
/// for others.
DType parse_dtype(std::string_view text);

}  // namespace hone
