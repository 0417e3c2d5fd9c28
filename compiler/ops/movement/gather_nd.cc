// gather_nd: slices of data, chosen by the rows of a tensor of indices.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct GatherNdShape {
  std::vector<int64_t> shape, indices;
  size_t depth = 1;  ///< indices in a row: they choose in as many dimensions of data, from the first
  DType index;
  std::vector<int64_t> out;  ///< the indices' dimensions but the last, then data's from `depth` on
};

GatherNdShape shape_of_gather_nd(const Attributes& a) {
  GatherNdShape s{a.get<std::vector<int64_t>>("shape"),
                  a.get<std::vector<int64_t>>("indices"),
                  0,
                  parse_dtype(a.text("index")),
                  {}};
  HONE_USER_CHECK(s.indices.back() <= static_cast<int64_t>(s.shape.size()))
      << "gather_nd: indices=" << a.text("indices") << " have rows of " << s.indices.back()
      << ", shape=" << a.text("shape") << " has " << s.shape.size() << " dimensions";
  s.depth = static_cast<size_t>(s.indices.back());
  s.out.assign(s.indices.begin(), s.indices.end() - 1);
  s.out.insert(s.out.end(), s.shape.begin() + static_cast<std::ptrdiff_t>(s.depth), s.shape.end());
  s.out = checked_shape("gather_nd: the output", s.out);
  return s;
}

Definition slices_gathered(const Workload& w) {
  const auto& s = w.shape_as<GatherNdShape>();
  const Tensor data = placeholder("data", s.shape, dtypes_of(w).in),
               indices = placeholder("indices", s.indices, s.index);
  Definition d;
  d.inputs = {{data, ParamRole::kInput}, {indices, ParamRole::kInput}};
  d.outputs = {compute("out", s.out, axis_names(s.out.size()), {data, indices}, [&](const std::vector<Expr>& i) {
    const auto rows = i.begin() + static_cast<std::ptrdiff_t>(s.indices.size() - 1);
    std::vector<Expr> row(i.begin(), rows), at;
    row.emplace_back();
    for (size_t k = 0; k < s.depth; ++k) {
      row.back() = make_int(static_cast<int64_t>(k));
      at.push_back(index_within(indices.at(row), s.shape[k]));
    }
    // A single row that chooses one element: the output's one axis is not an axis of the data.
    if (s.depth < s.shape.size()) at.insert(at.end(), rows, i.end());
    return data.at(at);
  })};
  return d;
}

}  // namespace

Operator gather_nd_operator() {
  Operator op;
  op.name = "gather_nd";
  op.summary =
      "slices of data, chosen by rows of indices: shape=8x9x64,indices=5x2 gives 5x64; indices as of gather, no batch "
      "dimensions";
  op.attributes = {{"shape", "1000x64", extents()},
                   {"indices", "128x1", indices_of_gather()},
                   {"index", "s64", one_of({"s32", "s64"})},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_gather_nd(a)); };
  op.infer = &infer_gather;
  op.define = &slices_gathered;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
