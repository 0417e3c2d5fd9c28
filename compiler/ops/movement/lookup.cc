// lookup: each byte of x replaced by the table's entry for it.
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

constexpr int64_t kEntries = 256;

AttributeTexts infer_lookup(std::span<const TensorType> inputs) {
  const TensorType &x = input_at(inputs, 0, "x"), &table = input_at(inputs, 1, "table");
  HONE_USER_CHECK(table.shape == std::vector<int64_t>{kEntries})
      << "the table is " << to_string(table) << "; it has " << kEntries << " entries";
  return {{"shape", text_of_extents(x.shape)}, {"index", to_string(x.dtype)}, {"dtype", to_string(table.dtype)}};
}

Definition looked_up(const Workload& w) {
  const auto& shape = w.shape_as<std::vector<int64_t>>();
  const DType index = parse_dtype(w.attributes.text("index"));
  const Tensor x = placeholder("x", shape, index), table = placeholder("table", {kEntries}, dtypes_of(w).in);
  Definition d;
  d.inputs = {{x, ParamRole::kInput}, {table, ParamRole::kInput}};
  d.outputs = {compute("out", shape, axis_names(shape.size()), {x, table}, [&](const std::vector<Expr>& i) {
    const Expr position = index == u8 ? x.at(i) : cast(u8, cast(i32, x.at(i)) + kEntries / 2);
    return table.at({cast(kIndex, position)});
  })};
  return d;
}

}  // namespace

Operator lookup_operator() {
  Operator op;
  op.name = "lookup";
  op.summary = "bytes replaced by what a table of 256 entries has for them, that of the least one first";
  op.attributes = {
      {"shape", "1x64x56x56", extents()}, {"index", "u8", one_of({"u8", "s8"})}, {"dtype", "u8", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(a.get<std::vector<int64_t>>("shape")); };
  op.infer = &infer_lookup;
  op.define = &looked_up;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
