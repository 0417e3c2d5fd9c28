// The `dtype` attribute: the types of an operator's inputs, sums and output.
#pragma once

#include "compiler/ir/dtype.h"
#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/workload.h"

namespace hone {

/// Input, weight, accumulator and output types.
struct DTypes {
  DType in, weight, accumulate, out;
  bool tf32 = false;  ///< f32 factors that are rounded to 11 bits of mantissa
  /// Products, and sums of runs of them (runs.h), are computed in f16; `accumulate`, f32, adds the runs.
  bool f16_runs = false;

  /// The type of the operator's first factor, after an element of the input is read and a prologue applied: the input's
  /// type; for whole numbers and floats of 16 bits that are multiplied by other floats the accumulators' type.
  DType first_factor() const { return in != weight && weight.is_float() ? accumulate : in; }
  /// Definition::factor_error: two factors, each rounded to 11 bits.
  double factor_error() const { return tf32 ? 0x1p-10 : 0; }
};
const DTypes& dtypes_of(const Workload& w);
/// Products of bytes that a processor's dot product sums at once; they lie together in memory.
inline constexpr int64_t kDotBytes = 4;
/// Whether a workload's products are of u8 by s8, summed in s32: the types of those dot products.
bool sums_bytes(const Workload& w);
/// The type in which products are computed and a register tile sums them.
DType type_of_products(const Workload& w);
/// Bits of one accumulator: the unit of a tile's lanes and registers.
int64_t accumulator_bits(const Workload& w);

/// Types of sums of products: f32, f64, tf32, or input:weight:accumulator:output; f16 alone is short for
/// f16:f16:f32:f16, bf16 likewise. f16:f16:f16:f16 and f16:f16:f16:f32 sum runs of products in f16. Value: DTypes.
AttributeParser product_dtypes();

/// One of ONNX's number types (without complex ones and strings), or of its floats. Value: DTypes, all four alike, but
/// for floats of 16 bits, which are computed in f32 and rounded once.
AttributeParser number_dtype();
AttributeParser float_dtype();
/// One of ONNX's number types or bool: of operators that move elements and do not compute with them. Value: DTypes.
AttributeParser element_dtype();

}  // namespace hone
