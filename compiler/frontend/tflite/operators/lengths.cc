// Operators whose outputs are as long as a call finds out.
#include "compiler/frontend/lowering/ragged.h"

#include "compiler/frontend/tflite/node/node.h"

namespace hone::tflite {
namespace {

// Coordinates of what is true, or not 0, in row-major order: [how many, rank].
void where_true(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  const Extents& shape = x.type.shape;
  HONE_USER_CHECK(!x.is_empty() && !shape.empty()) << to_string(x.type);
  const Operand mask = x.type.dtype.is_bool() ? x : l.pointwise("not_equal", {x, l.number(0, x.type.dtype)});
  const Operand positions = positions_of_true(l, mask);
  if (positions.is_empty()) return void(c.outputs[0] = {kNoValue, {i64, {0, static_cast<int64_t>(shape.size())}}});
  const int64_t n = positions.type.shape[0];
  std::vector<Operand> columns;
  for (const Operand& along : coordinates_of(l, positions, shape)) columns.push_back(l.reshape(along, {n, 1}));
  c.outputs[0] = l.concat(columns, 1);
  if (positions.ragged) c.outputs[0].ragged = Ragged{0, positions.ragged->count};
}

// The different elements, in the order in which they occur, and which of them each element is.
void unique(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  c.require_outputs(2);
  HONE_USER_CHECK(x.rank() == 1 && !x.is_empty()) << to_string(x.type);
  const int64_t n = x.type.shape[0];
  const ValueId all = l.value(l.numbers({n}));
  const std::vector<ValueId> made = l.b.add("unique", {{"sorted", "0"}}, {l.as(x, {n, 1}), all});
  const Operand kept = l.add("gather", {{"axis", "0"}}, {l.value(x), made[0]}, x.type.shape);
  c.outputs[0] = with_extent(l, kept, 0, made[3]);
  c.outputs[1] = l.cast({made[1], {i64, {n}}}, c.type_of_output(1));
}

}  // namespace

void add_length_operators(ConverterTable& t) {
  t.own[103] = {&unique, Numbers::kMoved};
  t.own[109] = {&where_true, Numbers::kAsIs};
}

}  // namespace hone::tflite
