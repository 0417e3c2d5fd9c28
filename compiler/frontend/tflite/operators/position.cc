// Operators whose elements depend on where they stand: diagonals, sequences, bounds.
#include <algorithm>

#include "compiler/frontend/lowering/operators/positions.h"
#include "compiler/frontend/lowering/window.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

// [rows, columns]: whether an element lies on the diagonal.
Operand is_diagonal(Lowering& l, int64_t rows, int64_t columns) {
  return l.pointwise("equal", {positions_along(l, rows, 0, 2), positions_along(l, columns, 1, 2)});
}

// The last axis becomes a matrix's diagonal.
void matrix_diag(NodeContext& c) {
  const Operand& x = c.in(0);
  HONE_USER_CHECK(x.rank() >= 1 && !x.type.dtype.is_bool()) << to_string(x.type);
  Extents shape = x.type.shape, to = shape;
  to.push_back(shape.back());
  shape.insert(shape.end() - 1, 1);
  if (x.is_empty()) return void(c.outputs[0] = {kNoValue, {x.type.dtype, to}});
  c.outputs[0] = c.l.pointwise("where", {c.l.broadcast(c.l.reshape(x, shape), to),
                                         is_diagonal(c.l, to.back(), to.back()), c.l.number(0, x.type.dtype)});
}

void matrix_set_diag(NodeContext& c) {
  const Operand &x = c.in(0), &diagonal = c.in(1);
  HONE_USER_CHECK(x.rank() >= 2 && !x.is_empty() && !x.type.dtype.is_bool() && diagonal.type.dtype == x.type.dtype)
      << to_string(diagonal.type) << " of " << to_string(x.type);
  const int64_t rows = x.type.shape[x.rank() - 2], columns = x.type.shape.back(), count = std::min(rows, columns);
  Extents wanted(x.type.shape.begin(), x.type.shape.end() - 1);
  wanted.back() = count;
  HONE_USER_CHECK(diagonal.type.shape == wanted)
      << "a diagonal " << to_string(diagonal.type) << " of " << to_string(x.type);
  Extents shape = wanted, after(x.rank(), 0);
  shape.insert(shape.end() - 1, 1);
  after.back() = columns - count;
  const Operand row = with_borders(c.l, c.l.reshape(diagonal, shape), Extents(x.rank(), 0), after);
  c.outputs[0] = c.l.pointwise("where", {c.l.broadcast(row, x.type.shape), is_diagonal(c.l, rows, columns), x});
}

void reverse_sequence(NodeContext& c) {
  using Options = file::ReverseSequenceOptions;
  const Operand& x = c.in(0);
  const auto time = static_cast<size_t>(axis_of(c.option(&Options::sequence_axis), x.rank())),
             batch = static_cast<size_t>(axis_of(c.option(&Options::batch_axis), x.rank()));
  if (const auto lengths = c.l.data_of(c.in(1))) {
    for (const int64_t n : lengths->numbers())
      HONE_USER_CHECK(n >= 0 && n <= x.type.shape[time]) << "a length of " << n << " of " << to_string(x.type);
  }
  c.outputs[0] = x.is_empty() ? x : reversed_sequences(c.l, x, c.in(1), time, batch);
}

// How many of the bounds, which ascend, are no larger. A NaN is behind all of them.
void bucketize(NodeContext& c) {
  const Operand& x = c.in(0);
  const auto* options = c.options<file::BucketizeOptions>();
  const auto* given = options ? options->boundaries() : nullptr;
  if (!given || given->size() == 0 || x.is_empty()) return void(c.outputs[0] = c.l.filled(0, {i32, x.type.shape}));
  const std::vector<float> bounds(given->begin(), given->end());
  HONE_USER_CHECK(std::is_sorted(bounds.begin(), bounds.end())) << "its boundaries do not ascend";
  HONE_USER_CHECK(c.l.may_make(static_cast<int64_t>(bounds.size()) * 8)) << bounds.size() << " boundaries";
  const DType t = x.type.dtype == f64 ? f64 : f32;  // whole numbers are compared as floats
  std::string bytes(reinterpret_cast<const char*>(bounds.data()), bounds.size() * sizeof(float));
  const auto count = static_cast<int64_t>(bounds.size());
  const Operand all = c.l.cast(c.l.constant(TensorData({f32, {count}}, std::move(bytes))), t);
  Extents one = x.type.shape;
  one.push_back(1);
  const Operand is_below = c.l.pointwise("less", {c.l.reshape(c.l.cast(x, t), one), all});
  const Operand counts = c.l.cast(c.l.pointwise("not", {is_below}), i32);
  c.outputs[0] = c.l.reduce("sum", counts, {static_cast<int64_t>(x.rank())}, false);
}

}  // namespace

void add_position_operators(ConverterTable& t) {
  t.own[112] = {&reverse_sequence, Numbers::kMoved};
  t.own[113] = {&matrix_diag, Numbers::kMoved};
  t.own[115] = {&matrix_set_diag, Numbers::kMoved};
  t.own[147] = {&bucketize};
}

}  // namespace hone::tflite
