// Products of matrices.
#include "compiler/frontend/onnx/lowering.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

void matmul(NodeContext& c) {
  Operand a = c.in(0), b = c.in(1);
  HONE_USER_CHECK(a.rank() >= 1 && b.rank() >= 1) << to_string(a.type) << " times " << to_string(b.type);
  // Vectors are matrices of one row or column, which the result does not have.
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = c.l.reshape(a, {1, a.type.shape[0]});
  if (column) b = c.l.reshape(b, {b.type.shape[0], 1});
  Operand out;
  if (element_count(a.type.shape) == 0 || element_count(b.type.shape) == 0)
    throw UserError("a product of tensors without elements is not supported");
  out = b.rank() == 2 && c.l.data_of(b) ? c.l.dense(a, b, false) : c.l.batch_matmul(a, b);
  if (row || column) {
    Extents shape = out.type.shape;
    if (column) shape.pop_back();
    if (row) shape.erase(shape.end() - (column ? 1 : 2));
    out = c.l.reshape(out, shape);
  }
  c.outputs[0] = out;
}

void gemm(NodeContext& c) {
  Operand a = c.in(0);
  const Operand& b = c.in(1);
  HONE_USER_CHECK(a.rank() == 2 && b.rank() == 2) << to_string(a.type) << " times " << to_string(b.type);
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  if (c.number("transA", 0)) a = c.l.transpose(a, {1, 0});
  const bool transposed = c.number("transB", 0) != 0;
  const DType t = a.type.dtype;
  const auto scaled = [&](const Operand& x, double by) {
    return by == 1 ? x : c.l.pointwise(fmt::format("mul[{}]", number_text(by, t)), {x});
  };
  const int64_t n = b.type.shape[transposed ? 0 : 1];
  const bool is_dense = c.l.data_of(b).has_value();
  const bool has_bias = c.has(2) && beta != 0;
  if (is_dense && has_bias && alpha == 1 && c.in(2).rank() > 0 && element_count(c.in(2).type.shape) == n &&
      c.in(2).type.shape.back() == n && c.l.data_of(c.in(2))) {
    c.outputs[0] = c.l.dense(a, b, transposed, "bias", {c.l.reshape(scaled(c.in(2), beta), {n})});
    return;
  }
  Operand out = is_dense ? c.l.dense(a, b, transposed) : c.l.batch_matmul(a, transposed ? c.l.transpose(b, {1, 0}) : b);
  out = scaled(out, alpha);
  if (has_bias) out = c.l.pointwise("add", {out, scaled(c.in(2), beta)});
  c.outputs[0] = out;
}

}  // namespace

void add_product_rows(RowTable& t) {
  t[":MatMul"] = &matmul;
  t[":Gemm"] = &gemm;
}

}  // namespace hone::onnx
