// gather: slices of data, chosen by indices.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct GatherShape {
  std::vector<int64_t> shape, indices;
  size_t axis = 0;
  DType index;
  std::vector<int64_t> out;  ///< data's, with the indices' dimensions instead of the axis
};

GatherShape shape_of_gather(const Attributes& a) {
  GatherShape s{a.get<std::vector<int64_t>>("shape"),
                a.get<std::vector<int64_t>>("indices"),
                static_cast<size_t>(a.number("axis")),
                parse_dtype(a.text("index")),
                {}};
  for (size_t d = 0; d < s.shape.size(); ++d) {
    if (d == s.axis)
      s.out.insert(s.out.end(), s.indices.begin(), s.indices.end());
    else
      s.out.push_back(s.shape[d]);
  }
  s.out = checked_shape("gather: the output", s.out);
  return s;
}

Definition gathered(const Workload& w) {
  const auto& s = w.shape_as<GatherShape>();
  const Tensor data = placeholder("data", s.shape, dtypes_of(w).in),
               indices = placeholder("indices", s.indices, s.index);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}, {indices, ParamRole::kInput}};
  d.outputs = {compute("out", s.out, axis_names(s.out.size()), {data, indices}, [&](const std::vector<Expr>& i) {
    const auto first = i.begin() + static_cast<std::ptrdiff_t>(s.axis),
               last = first + static_cast<std::ptrdiff_t>(s.indices.size());
    std::vector<Expr> at(i.begin(), first);
    at.push_back(index_within(indices.at({first, last}), s.shape[s.axis]));
    at.insert(at.end(), last, i.end());
    return data.at(at);
  })};
  return d;
}

}  // namespace

Operator gather_operator() {
  Operator op;
  op.name = "gather";
  op.summary =
      "slices of data along an axis, chosen by indices: shape=1000x64,indices=8x16,axis=0; negative ones count from "
      "the "
      "end, others outside are clamped";
  op.attributes = {{"shape", "1000x64", extents()},
                   {"indices", "128", indices_of_gather()},
                   {"axis", "0", axis_of_shape()},
                   {"index", "s64", one_of({"s32", "s64"})},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_gather(a)); };
  op.infer = &infer_gather;
  op.define = &gathered;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
