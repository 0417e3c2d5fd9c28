// Products of matrices.
#include "compiler/frontend/onnx/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

void matmul(NodeContext& c) { c.outputs[0] = c.l.matmul(c.in(0), c.in(1)); }

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
  const bool is_dense = !a.is_empty() && !b.is_empty() && c.l.data_of(b).has_value();
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

// By rows: the minor of the last rows and some of the columns is a sum over these columns. Nothing is divided.
void determinant(NodeContext& c) {
  const Operand& x = c.in(0);
  constexpr int64_t kMost = 6;  // 2^n sums
  HONE_USER_CHECK(x.rank() >= 2 && x.type.shape.back() == x.type.shape[x.rank() - 2] && !x.is_empty())
      << to_string(x.type);
  const int64_t n = x.type.shape.back();
  HONE_USER_CHECK(n <= kMost) << "determinants of " << n << " x " << n << "; " << kMost << " are supported";
  const Extents batch(x.type.shape.begin(), x.type.shape.end() - 2);
  const int64_t count = element_count(batch);
  const Operand matrices = c.l.reshape(x, {count, n, n});
  const auto element = [&](int64_t row, int64_t column) {
    return c.l.slice(matrices, {0, row, column}, {1, 1, 1}, {count, 1, 1});
  };
  std::vector<std::optional<Operand>> minors(size_t{1} << n);
  for (size_t columns = 1; columns < minors.size(); ++columns) {
    const int64_t row = n - __builtin_popcountll(columns);
    bool adds = true;
    for (int64_t j = 0; j < n; ++j) {
      const size_t bit = size_t{1} << j;
      if (!(columns & bit)) continue;
      const std::optional<Operand>& rest = minors[columns & ~bit];
      const Operand term = rest ? c.l.pointwise("mul", {element(row, j), *rest}) : element(row, j);
      minors[columns] = minors[columns] ? c.l.pointwise(adds ? "add" : "sub", {*minors[columns], term}) : term;
      adds = !adds;
    }
  }
  c.outputs[0] = c.l.reshape(*minors.back(), batch);
}

}  // namespace

void add_product_operators(ConverterTable& t) {
  t[":MatMul"] = &matmul;
  t[":Gemm"] = &gemm;
  t[":Det"] = &in_f32<&determinant>;
}

}  // namespace hone::onnx
