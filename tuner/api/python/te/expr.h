// Definitions in Python: expressions, tensors, reductions.
#pragma once

#include <pybind11/pybind11.h>

#include <initializer_list>
#include <optional>
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
  Expr written = nullptr;  ///< its extent, with named sizes; null: a number
};

/// How a reduction tells the place of an element instead of its value.
enum class Place : uint8_t { kNone, kOfMost, kOfLeast };

struct PyReduction {
  Reduction reduction;
  std::vector<Tensor> reads;
  std::vector<Expr> written;  ///< the extents of its axes, as they were written
  Place place = Place::kNone;
  DType place_type = {};
};

/// Adds those that are not there yet.
void add_reads(std::vector<Tensor>* to, const std::vector<Tensor>& more);
/// Wraps `expr`, which is made of these operands. ValueError if it is too large.
PyExpr made_of(Expr expr, std::initializer_list<const PyExpr*> operands);
/// An expression, or an axis as one; a number where `number` says of which type. TypeError for others.
PyExpr alone(const pybind11::handle& x, std::optional<DType> number = std::nullopt);

/// numpy's names (float32, int8, bool) and Hone's (f32, s8); UserError for others.
DType dtype_named(const std::string& name);
/// numpy's name.
std::string numpy_name(DType t);

/// PyExpr, PyAxis and the functions over them.
void bind_expressions(pybind11::module_& m);

}  // namespace hone::python
