// Shapes and parts of definitions that the operators over rows share (softmax, layer_norm, …).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ops/attributes/attribute.h"
#include "compiler/ops/chain_stage.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/infer.h"

namespace hone {

/// `shape=12x128x128,axis=2`, read.
struct RowsShape {
  std::vector<int64_t> shape;
  std::vector<size_t> axes;      ///< of a row, ascending
  std::vector<int64_t> per_row;  ///< the shape with one element in these
  std::vector<int64_t> extents;  ///< of these
  int64_t length = 1;            ///< elements of a row
};
const RowsShape& rows_shape(const Workload& w);
/// A row is axis `axis` alone, or with `to_last` all from there to the last one.
RowsShape rows_shape_of(const Attributes& a, bool to_last);

/// A number from 0 to 1. Value: double.
AttributeParser small_number();

/// A definition under way: x (input) of the shape, constants with one element for each of a row where the attribute of
/// their name is 1, and the stages' view of x: its elements behind the prologue, in the accumulators' type.
struct Rows {
  const RowsShape& shape;
  DType type;  ///< of accumulators
  Tensor x;
  std::vector<Tensor> constants;  ///< null where the workload has none
  Definition definition;

  explicit Rows(const Workload& w, const std::vector<std::string>& constant_names = {});
  Expr x_at(const std::vector<Expr>& i) const;
  /// One element a row: `value` of the elements of it, reduced.
  Tensor reduce(const std::string& name, const std::vector<Tensor>& reads, Reduction (*kind)(Expr, std::vector<Axis>),
                const std::function<Expr(const std::vector<Expr>&)>& value) const;
  /// One element a row, from others.
  Tensor each_row(const std::string& name, const Tensor& of, const std::function<Expr(const Expr&)>& f) const;
  /// A stage of x's shape.
  Tensor each(const std::string& name, const std::vector<Tensor>& reads,
              const std::function<Expr(const std::vector<Expr>&)>& value) const;
  /// The row's element of `t`, one of each_row's or reduce's, for the element at `i`.
  Expr of_row(const Tensor& t, std::vector<Expr> i) const;
  /// The element of constant number `n` in the place of element `i` of its row; null where there is none.
  Expr constant_at(size_t n, const std::vector<Expr>& i) const;
  /// Ends the definition with the last stage, `value` behind the epilogue.
  Definition finish(const Workload& w, const std::string& name, const std::vector<Tensor>& reads,
                    const std::function<Expr(const std::vector<Expr>&)>& value);
};

/// The `shape` of an operator's epilogue and prologue.
ChainSource rows_source();
/// shape and dtype.
AttributeTexts infer_rows(std::span<const TensorType> inputs);
/// `operations` for each element.
std::function<double(const Workload&)> rows_flops(double operations);

}  // namespace hone
