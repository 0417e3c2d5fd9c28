// gather_elements: elements of data, each chosen along one axis by an index of its own.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct GatherElementsShape {
  std::vector<int64_t> shape, indices;  ///< of as many dimensions; but for the axis, indices are no longer than data
  size_t axis = 0;
  DType index;
};

GatherElementsShape shape_of_gather_elements(const Attributes& a) {
  GatherElementsShape s{a.get<std::vector<int64_t>>("shape"), a.get<std::vector<int64_t>>("indices"),
                        static_cast<size_t>(a.number("axis")), parse_dtype(a.text("index"))};
  bool fits = s.indices.size() == s.shape.size();
  for (size_t d = 0; fits && d < s.shape.size(); ++d) fits = d == s.axis || s.indices[d] <= s.shape[d];
  HONE_USER_CHECK(fits) << "gather_elements: indices=" << a.text("indices") << " do not fit shape=" << a.text("shape")
                        << "; they have as many dimensions, none but axis " << s.axis << " longer";
  return s;
}

Definition elements_gathered(const Workload& w) {
  const auto& s = w.shape_as<GatherElementsShape>();
  const Tensor data = placeholder("data", s.shape, dtypes_of(w).in),
               indices = placeholder("indices", s.indices, s.index);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}, {indices, ParamRole::kInput}};
  d.outputs = {
      compute("out", s.indices, axis_names(s.indices.size()), {data, indices}, [&](const std::vector<Expr>& i) {
        std::vector<Expr> at = i;
        at[s.axis] = index_within(indices.at(i), s.shape[s.axis]);
        return data.at(at);
      })};
  return d;
}

}  // namespace

Operator gather_elements_operator() {
  Operator op;
  op.name = "gather_elements";
  op.summary =
      "elements of data, each chosen along an axis by an index of its own: shape=1000x64,indices=8x64,axis=0; indices "
      "as "
      "of gather";
  op.attributes = {{"shape", "1000x64", extents()},
                   {"indices", "128x64", indices_of_gather()},
                   {"axis", "0", axis_of_shape()},
                   {"index", "s64", one_of({"s32", "s64"})},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_gather_elements(a)); };
  op.infer = &infer_gather;
  op.define = &elements_gathered;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
