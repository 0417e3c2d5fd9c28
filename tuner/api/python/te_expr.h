// Definitions in Python: expressions, tensors, reductions.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/te/tensor.h"

namespace hone::python {

/// An expression, and the tensors whose elements it reads, each once. Passes walk expressions as trees: a part that is
/// used twice counts twice, and both sizes are bounded.
struct PyExpr {
  Expr expr;
  std::vector<Tensor> reads = {};
  int64_t depth = 1, nodes = 1;
};
inline constexpr int64_t kMostDepth = 2000, kMostNodes = 100000;

struct PyTensor {
  Tensor tensor;
  bool is_constant = false;  ///< of a placeholder
};

/// An axis to reduce over.
struct PyAxis {
  Axis axis;
};

struct PyReduction {
  Reduction reduction;
  std::vector<Tensor> reads;
};

/// numpy's names (float32, int8, bool) and Hone's (f32, s8); UserError for others.
DType dtype_named(const std::string& name);
/// numpy's name.
std::string numpy_name(DType t);

/// PyExpr, PyTensor, PyAxis, PyReduction and the functions over them.
void bind_expressions(pybind11::module_& m);

}  // namespace hone::python
