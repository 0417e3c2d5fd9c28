// From a node of a graph to a workload: attributes that the types of the inputs say, and the types of the outputs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/dtype.h"
#include "compiler/ops/workload.h"

namespace hone {

/// Type and shape of a tensor.
struct TensorType {
  DType dtype;
  std::vector<int64_t> shape;
  bool operator==(const TensorType&) const = default;
};
/// `f32[1, 64, 56, 56]`
std::string to_string(const TensorType& t);

using AttributeTexts = std::vector<std::pair<std::string, std::string>>;

/// A workload and the types around it, inputs in the order of its definition's.
struct Inferred {
  Workload workload;
  std::vector<TensorType> inputs, outputs;
};

/// The types around `w`.
Inferred inferred(Workload w);

/// The workload of an operator on inputs of these types: data, weight, …, then operands of prologue and epilogue, in
/// the order of its definition. `given` are the attributes that types do not determine (strides, pads, axes, layout,
/// epilogue); `dtype` may be among them and sets the types of sums and outputs, which follow from the inputs'
/// otherwise. UserError, one line, for an unknown operator or attribute, a given attribute that the inputs determine,
/// too few or too many inputs, ranks, types or extents that do not go together.
Inferred infer(const OperatorTable& operators, std::string_view op,
               std::span<const std::pair<std::string, std::string>> given, std::span<const TensorType> inputs);

/// Pieces of the rows' functions (Operator::infer). UserError unless input number `index`, called `name`, is there.
const TensorType& input_at(std::span<const TensorType> inputs, size_t index, std::string_view name);
/// The same of an input of `rank` dimensions.
const TensorType& input_of_rank(std::span<const TensorType> inputs, size_t index, std::string_view name, size_t rank);
/// The `dtype` attribute of products of these factors: f16 sums in f32, whole numbers in s32. UserError where there is
/// no such product.
std::string product_dtype_of(DType in, DType weight);
/// n, c (called `channels`), h, w and dtype of a pooling's input.
AttributeTexts infer_image(std::span<const TensorType> inputs, std::string_view channels);

}  // namespace hone
