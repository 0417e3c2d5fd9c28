// Products of matrices.
#include "compiler/frontend/lowering/operators/linear.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// Rows of as many elements as the weights [n, k] have.
void fully_connected(NodeContext& c) {
  using Options = file::FullyConnectedOptions;
  const Operand &x = c.in(0), &weight = c.in(1);
  HONE_USER_CHECK(c.option(&Options::weights_format) == 0) << "weights in a shuffled order are not supported";
  HONE_USER_CHECK(weight.rank() == 2 && !weight.is_empty() && !x.is_empty())
      << to_string(x.type) << " times " << to_string(weight.type);
  const int64_t n = weight.type.shape[0], k = weight.type.shape[1], all = element_count(x.type.shape);
  const bool keeps = c.option(&Options::keep_num_dims);
  HONE_USER_CHECK(all % k == 0 && (!keeps || (x.rank() >= 1 && x.type.shape.back() == k)))
      << to_string(x.type) << " times " << to_string(weight.type);
  const Operand rows = c.l.reshape(x, {all / k, k});
  std::optional<Operand> bias;
  if (c.has(2)) {
    HONE_USER_CHECK(element_count(c.in(2).type.shape) == n)
        << "a bias " << to_string(c.in(2).type) << " for " << n << " columns";
    bias = c.l.reshape(c.in(2), {n});
  }
  Operand out = linear(c.l, rows, weight, bias);
  out = activated(c.l, out, c.option(&Options::activation));
  if (keeps) {
    Extents shape = x.type.shape;
    shape.back() = n;
    out = c.l.reshape(out, shape);
  }
  c.outputs[0] = out;
}

void batch_matmul(NodeContext& c) {
  using Options = file::BatchMatMulOptions;
  const auto oriented = [&](const Operand& x, bool is_turned) {
    HONE_USER_CHECK(x.rank() >= 2) << to_string(x.type);
    if (!is_turned) return x;
    Extents perm;
    for (size_t d = 0; d < x.rank(); ++d) perm.push_back(static_cast<int64_t>(d));
    std::swap(perm[x.rank() - 2], perm.back());
    return c.l.turned(x, perm);
  };
  c.outputs[0] =
      c.l.matmul(oriented(c.in(0), c.option(&Options::adjoint_x)), oriented(c.in(1), c.option(&Options::adjoint_y)));
}

}  // namespace

void add_product_operators(ConverterTable& t) {
  t.own[9] = {&fully_connected};
  t.own[126] = {&batch_matmul};
}

}  // namespace hone::tflite
