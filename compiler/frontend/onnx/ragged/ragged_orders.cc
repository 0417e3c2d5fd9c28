// Rules of operators that would see the filler: sums, products, maxima, orders. It is replaced first.
#include <algorithm>
#include <limits>

#include "compiler/frontend/onnx/ragged/ragged_node.h"
#include "compiler/ir/layout.h"

namespace hone::onnx {
namespace {

TensorData extreme(DType t, bool lowest) {
  if (t.is_float()) {
    const double v = lowest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    return TensorData({f64, {}}, std::string(reinterpret_cast<const char*>(&v), sizeof(v)));
  }
  const bool is_signed = t.code == TypeCode::kInt;
  const int bits = t.bytes() * 8;
  const uint64_t sign = uint64_t{1} << (bits - 1), all = sign | (sign - 1);
  const uint64_t v = is_signed ? (lowest ? ~(sign - 1) : sign - 1) : (lowest ? 0 : all);
  return TensorData::of_numbers({static_cast<int64_t>(v)}, t).reshaped({});
}

// x with filler that every maximum, minimum or order takes last.
Operand with_worst(const RaggedNode& n, const Operand& x, bool lowest) {
  return filled(n.l(), x, n.l().cast(n.l().constant(extreme(x.type.dtype, lowest)), x.type.dtype));
}

void top_k(const RaggedNode& n) {
  const Operand& x = n.in(0);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", -1), x.rank()));
  const auto r = n.ragged(0);
  const bool is_open = n.is_counted(1);
  if (r && r->axis == axis) n.c.inputs[0] = with_worst(n, x, n.c.number("largest", 1) != 0);
  if (is_open) {
    HONE_USER_CHECK(!r || r->axis == axis) << "two extents are known only when it runs";
    // The bound of k may exceed the number of elements.
    std::vector<int64_t> k = n.in(1).known->numbers();
    HONE_USER_CHECK(k.size() == 1) << "its k has " << k.size() << " elements";
    n.c.inputs[1] = n.l().numbers({std::min(k[0], x.type.shape[axis])});
    n.run();
    // No more than there are.
    const Operand asked{n.number_at(n.in(1), 0), {i64, {1}}};
    const Operand there = r ? Operand{r->count, {i64, {1}}} : n.l().numbers({x.type.shape[axis]});
    return n.set_all(Ragged{axis, n.required(asked.id, n.l().pointwise("less_equal", {asked, there}))});
  }
  n.run();
  if (!r || r->axis != axis) return n.set_all(r);
  const Operand k = n.l().numbers({n.c.outputs[0].type.shape[axis]});
  n.set_all(Ragged{axis, n.l().value(n.l().pointwise("minimum", {{r->count, {i64, {1}}}, k}))});
}

// The axes that a reduction goes over; all where none are given.
std::vector<bool> reduced_axes(const RaggedNode& n) {
  const size_t rank = n.in(0).rank();
  std::optional<Extents> axes = n.c.numbers("axes");
  if (!axes && n.has(1)) axes = n.c.constant_numbers(1, "axes");
  const bool takes_none = (!axes || axes->empty()) && n.c.number("noop_with_empty_axes", 0) != 0;
  std::vector<bool> out(rank, (!axes || axes->empty()) && !takes_none);
  for (const int64_t a : axes.value_or(Extents{})) out[static_cast<size_t>(axis_of(a, rank))] = true;
  return out;
}

void reduction(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (!r) return n.run();
  const std::string& op = n.c.node.op_type();
  const Operand& x = n.in(0);
  const std::vector<bool> goes = reduced_axes(n);
  if (!goes[r->axis]) {
    n.run();
    const auto before = std::count(goes.begin(), goes.begin() + static_cast<std::ptrdiff_t>(r->axis), true);
    return n.set(0, on_axis(r, n.c.number("keepdims", 1) ? 0 : -before));
  }
  if (op == "ReduceMax" || op == "ReduceLogSumExp")
    n.c.inputs[0] = with_worst(n, x, true);
  else if (op == "ReduceMin")
    n.c.inputs[0] = with_worst(n, x, false);
  else if (op == "ReduceProd")
    n.c.inputs[0] = filled(n.l(), x, n.l().number(1, x.type.dtype));
  else
    n.c.inputs[0] = filled_with_zeros(n.l(), x);
  n.run();
  if (op != "ReduceMean") return;
  // The converter divides by all that there may be.
  const DType t = x.type.dtype;
  HONE_USER_CHECK(t.is_float()) << "a mean of " << to_string(t) << " of which only a call knows how many there are";
  const Operand count = n.l().cast({r->count, {i64, {1}}}, t);
  const Operand scale =
      n.l().pointwise("div", {n.l().reshape(n.l().number(static_cast<double>(x.type.shape[r->axis]), t), {1}), count});
  const Extents shape = n.c.outputs[0].type.shape;
  n.c.outputs[0] = n.l().reshape(
      n.l().pointwise("mul", {n.l().reshape(n.c.outputs[0], shape.empty() ? Extents{1} : shape), scale}), shape);
}

void arg_extreme(const RaggedNode& n) {
  const auto r = n.ragged(0);
  if (!r) return n.run();
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", 0), n.in(0).rank()));
  if (r->axis == axis) {
    HONE_USER_CHECK(n.c.number("select_last_index", 0) == 0) << "the last one of what is known only when it runs";
    n.c.inputs[0] = with_worst(n, n.in(0), n.c.node.op_type() == "ArgMax");
    return n.run();
  }
  n.run();
  n.set(0, on_axis(r, r->axis > axis && !n.c.number("keepdims", 1) ? -1 : 0));
}

void softmax(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(axis_of(n.c.number("axis", n.c.opset < 13 ? 1 : -1), n.in(0).rank()));
  if (r && (r->axis == axis || (n.c.opset < 13 && r->axis > axis))) n.c.inputs[0] = with_worst(n, n.in(0), true);
  n.run();
  n.set(0, r);
}

void product(const RaggedNode& n) {
  const auto of_a = n.ragged(0), of_b = n.ragged(1);
  const Operand &a = n.in(0), &b = n.in(1);
  HONE_USER_CHECK(a.rank() >= 2 && b.rank() >= 2) << to_string(a.type) << " times " << to_string(b.type);
  const bool sums_a = of_a && of_a->axis + 1 == a.rank(), sums_b = of_b && of_b->axis + 2 == b.rank();
  // Filler behind the elements would be added, and need not be finite: it becomes 0.
  if (sums_a || sums_b)
    for (size_t i : {size_t{0}, size_t{1}}) {
      Operand x = n.in(i);
      if (!x.ragged) x.ragged = Ragged{x.rank() - (i == 0 ? 1 : 2), (sums_a ? of_a : of_b)->count};
      if (x.ragged->axis == x.rank() - (i == 0 ? 1 : 2)) n.c.inputs[i] = filled_with_zeros(n.l(), x);
    }
  n.run();
  const size_t rank = n.c.outputs[0].rank();
  std::optional<Ragged> out;
  if (of_a && !sums_a) agree(&out, on_axis(of_a, static_cast<int64_t>(rank - a.rank())));
  if (of_b && !sums_b) agree(&out, on_axis(of_b, static_cast<int64_t>(rank - b.rank())));
  for (const auto& [x, r, sums] : {std::tuple(&a, of_a, sums_a), std::tuple(&b, of_b, sums_b)})
    HONE_USER_CHECK(!r || sums || x->type.shape[r->axis] == n.c.outputs[0].type.shape[r->axis + rank - x->rank()])
        << "an extent that is known only when it runs is broadcast";
  n.set(0, out);
}

void running_sum(const RaggedNode& n) {
  const auto r = n.ragged(0);
  const auto axis = static_cast<size_t>(axis_of(n.c.constant_number(1, "axis"), n.in(0).rank()));
  HONE_USER_CHECK(!r || r->axis != axis || n.c.number("reverse", 0) == 0)
      << "backwards along an axis whose extent is known only when it runs";
  n.run();
  n.set(0, r);
}

}  // namespace

void add_order_rules(RuleTable& t) {
  t["TopK"] = &top_k;
  t["ArgMax"] = &arg_extreme;
  t["ArgMin"] = &arg_extreme;
  t["Softmax"] = &softmax;
  t["LogSoftmax"] = &softmax;
  t["MatMul"] = &product;
  t["CumSum"] = &running_sum;
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    t[op] = &reduction;
}

}  // namespace hone::onnx
