// Rows of one segment combined to one.
#include <algorithm>
#include <limits>
#include <string>

#include "compiler/frontend/lowering/operators/scatter.h"
#include "compiler/frontend/lowering/ragged.h"
#include "compiler/frontend/tflite/node/node.h"
#include "compiler/ir/layout.h"

namespace hone::tflite {
namespace {

enum : int32_t { kSegmentProducts = 153, kSegmentGreatest = 154, kSegmentSums = 155, kSegmentLeast = 157 };

// A tensor of the type's elements, all of which are what a segment without rows gives.
Operand of_nothing(Lowering& l, const std::string& reduction, const TensorType& type) {
  const DType t = type.dtype;
  if (reduction == "add" || reduction == "mul") return l.filled(reduction == "mul" ? 1 : 0, type);
  HONE_USER_CHECK(t == f32 || t == i32) << to_string(type);
  const bool is_least = reduction == "max";
  if (t == f32)
    return l.filled(
        static_cast<double>(is_least ? std::numeric_limits<float>::lowest() : std::numeric_limits<float>::max()), type);
  const int64_t v = is_least ? INT32_MIN : INT32_MAX;
  return l.broadcast(l.constant(TensorData::of_numbers({v}, t).reshaped({})), type.shape);
}

// The first axes of x are those of ids; what lies behind them is a row.
void combine_segments(NodeContext& c, int64_t segments, const std::string& reduction) {
  const Operand &x = c.in(0), &ids = c.in(1);
  HONE_USER_CHECK(ids.rank() >= 1 && ids.rank() <= x.rank() && (ids.type.dtype == i32 || ids.type.dtype == i64) &&
                  std::equal(ids.type.shape.begin(), ids.type.shape.end(), x.type.shape.begin()))
      << "segments " << to_string(ids.type) << " of " << to_string(x.type);
  Extents shape(x.type.shape.begin() + static_cast<std::ptrdiff_t>(ids.rank()), x.type.shape.end());
  const int64_t row = element_count(shape);
  shape.insert(shape.begin(), segments);
  const TensorType type{x.type.dtype, shape};
  element_count(shape);
  const Operand base = of_nothing(c.l, reduction, type);
  if (x.is_empty() || base.is_empty()) return void(c.outputs[0] = base);
  c.outputs[0] = scattered_rows(c.l, base, x, c.l.cast(ids, i64), segments, row, reduction);
}

// As many segments as a call's ids say: one for each row at most, since they begin with 0 and ascend by one. A call
// with others fails, as it does in TensorFlow Lite.
void segment_sum_of_call(NodeContext& c) {
  Lowering& l = c.l;
  const Operand& x = c.in(0);
  HONE_USER_CHECK(c.in(1).rank() == 1 && !c.in(1).is_empty() && !x.is_empty())
      << "segments " << to_string(c.in(1).type);
  const int64_t n = c.in(1).type.shape[0];
  const Operand ids = l.cast(c.in(1), i64);
  const auto part = [&](int64_t first, int64_t size) { return l.slice(ids, {first}, {1}, {size}); };
  const auto number = [&](double v) { return l.number(v, i64); };
  Operand is_right = l.reshape(l.pointwise("equal", {part(0, 1), number(0)}), {1});
  if (n > 1) {
    const Operand rises = l.pointwise("sub", {part(1, n - 1), part(0, n - 1)});
    const auto extreme = [&](const char* kind) { return l.reshape(l.reduce(kind, rises, {0}, false), {1}); };
    const Operand ascends = l.pointwise("and", {l.pointwise("greater_equal", {extreme("min"), number(0)}),
                                                l.pointwise("less_equal", {extreme("max"), number(1)})});
    is_right = l.pointwise("and", {is_right, ascends});
  }
  const Operand last = l.pointwise("add", {part(n - 1, 1), number(1)});
  const Operand count{l.b.add_one("require", {}, {l.value(last), l.value(is_right)}), {i64, {1}}};
  combine_segments(c, n, "add");
  c.outputs[0] = with_extent(l, c.outputs[0], 0, l.value(count));
}

// As many segments as the ids, ascending from the first to the last, say.
void segment_sum(NodeContext& c) {
  if (!c.l.data_of(c.in(1))) return segment_sum_of_call(c);
  const std::vector<int64_t> ids = c.constant_numbers(1, "segments", SIZE_MAX);
  HONE_USER_CHECK(c.in(1).rank() == 1) << "segments " << to_string(c.in(1).type);
  HONE_USER_CHECK(std::is_sorted(ids.begin(), ids.end()) && (ids.empty() || ids[0] >= 0))
      << "its segments do not ascend from 0 on";
  combine_segments(c, ids.empty() ? 0 : ids.back() + 1, "add");
}

void unsorted_segments(NodeContext& c) {
  const int64_t segments = c.constant_number(2, "number of segments");
  HONE_USER_CHECK(segments >= 0) << segments << " segments";
  if (const auto ids = c.l.data_of(c.in(1))) {
    for (const int64_t id : ids->numbers()) HONE_USER_CHECK(id < segments) << "segment " << id << " of " << segments;
  }
  combine_segments(c, segments,
                   c.number == kSegmentProducts   ? "mul"
                   : c.number == kSegmentGreatest ? "max"
                   : c.number == kSegmentLeast    ? "min"
                                                  : "add");
}

}  // namespace

void add_segment_operators(ConverterTable& t) {
  t.own[125] = {&segment_sum};
  for (const int32_t number : {kSegmentProducts, kSegmentGreatest, kSegmentSums, kSegmentLeast})
    t.own[number] = {&unsorted_segments};
}

}  // namespace hone::tflite
