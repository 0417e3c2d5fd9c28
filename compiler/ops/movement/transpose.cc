// transpose: the dimensions of x in another order.
#include <algorithm>

#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct TransposeShape {
  std::vector<int64_t> perm;  ///< dimension d of the output is dimension perm[d] of x
  std::vector<int64_t> out;
};

// Each axis of `shape` once, joined by colons, negative ones from the end, or `reversed`.
AttributeParser permutation() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto rank = static_cast<int64_t>(context.before.get<std::vector<int64_t>>("shape").size());
    std::vector<int64_t> perm;
    if (text == "reversed") {
      for (int64_t d = rank; d-- > 0;) perm.push_back(d);
    } else {
      perm = parse_numbers("perm", text, static_cast<size_t>(rank), -rank, rank - 1);
    }
    for (int64_t& axis : perm) axis += axis < 0 ? rank : 0;
    std::vector<int64_t> sorted = perm;
    std::sort(sorted.begin(), sorted.end());
    HONE_USER_CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end())
        << "perm=" << text << " names an axis twice";
    return ParsedAttribute{text_of_numbers(perm), std::move(perm)};
  };
}

TransposeShape shape_of_transpose(const Attributes& a) {
  const auto& shape = a.get<std::vector<int64_t>>("shape");
  TransposeShape s{a.get<std::vector<int64_t>>("perm"), {}};
  for (int64_t axis : s.perm) s.out.push_back(shape[static_cast<size_t>(axis)]);
  return s;
}

Definition transposed(const Workload& w) {
  const auto& s = w.shape_as<TransposeShape>();
  return moved(w, s.out, [&](const Tensor& x, const std::vector<Expr>& i) {
    std::vector<Expr> at(i.size());
    for (size_t d = 0; d < i.size(); ++d) at[static_cast<size_t>(s.perm[d])] = i[d];
    return x.at(at);
  });
}

}  // namespace

Operator transpose_operator() {
  Operator op;
  op.name = "transpose";
  op.summary = "the dimensions of x in another order: dimension d is x's perm[d], perm=0:2:3:1, reversed";
  op.attributes = {
      {"shape", "1x64x56x56", extents()}, {"perm", "reversed", permutation()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_transpose(a)); };
  op.infer = &infer_shape_and_dtype;
  op.define = &transposed;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
