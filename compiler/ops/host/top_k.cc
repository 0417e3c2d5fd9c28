// top_k: where the largest or smallest elements of a row are, in order.
#include <fmt/format.h>

#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/host_function.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

using Indices = std::vector<Expr>;

struct TopKShape {
  std::vector<int64_t> shape, out;
  size_t axis = 0;
  bool largest = true;
};

TopKShape shape_of_top_k(const Attributes& a) {
  TopKShape s{a.get<std::vector<int64_t>>("shape"), {}, static_cast<size_t>(a.number("axis")), a.get<bool>("largest")};
  s.out = s.shape;
  s.out[s.axis] = a.number("k");
  HONE_USER_CHECK(s.out[s.axis] <= s.shape[s.axis])
      << "k=" << s.out[s.axis] << " of the " << s.shape[s.axis] << " elements along axis " << s.axis;
  return s;
}

// By counting: an element's rank is how many of its row come before it, so that there are n^2 comparisons and no
// branches. Equal elements keep their order. A NaN is neither before nor after any element, so that it may share the
// rank of another element and leave some rank without an element: its position is then 0.
Definition top_k(const Workload& w) {
  const auto& s = w.shape_as<TopKShape>();
  const size_t axis = s.axis;
  const int64_t n = s.shape[axis];
  // In 32 bits where those do: as many ranks as elements of f32 in a vector.
  const DType number = n < INT32_MAX ? i32 : i64;
  const Tensor x = placeholder("x", s.shape, dtypes_of(w).in);
  const std::vector<std::string> names = axis_names(s.shape.size());
  const Tensor rank = compute_reduce("rank", s.shape, names, {x}, [&](const Indices& i) {
    const Axis other = reduce_axis("other", n);
    Indices at = i;
    at[axis] = other;
    const Expr mine = x.at(i), its = x.at(at), before = s.largest ? lt(mine, its) : lt(its, mine);
    const Expr is_first = logical_and(eq(its, mine), lt(Expr(other), i[axis]));
    return sum(select(logical_or(before, is_first), make_const(1, number), make_const(0, number)), {other});
  });
  const Tensor position = compute_reduce("place", s.out, names, {rank}, [&](const Indices& i) {
    const Axis other = reduce_axis("other", n);
    Indices at = i;
    at[axis] = other;
    return max_over(select(eq(rank.at(at), cast(number, i[axis])), cast(number, Expr(other)), make_const(0, number)),
                    {other});
  });
  Definition d;
  d.inputs = {{x, ParamRole::kInput}};
  d.anchor = rank;
  d.outputs = {compute("out", s.out, names, {position}, [&](const Indices& i) { return cast(i64, position.at(i)); })};
  return d;
}

// Counting does n comparisons an element, in vectors; a heap does log k, one by one.
std::optional<HostFunction> host_top_k(const Workload& w) {
  constexpr int64_t kMostCounted = 64;
  const auto& s = w.shape_as<TopKShape>();
  const int64_t n = s.shape[s.axis], k = s.out[s.axis];
  if (n <= kMostCounted) return std::nullopt;
  const auto at = s.shape.begin() + static_cast<std::ptrdiff_t>(s.axis);
  const DType t = dtypes_of(w).in;
  return HostFunction{"top_k",
                      {element_count({s.shape.begin(), at}), n, element_count({at + 1, s.shape.end()}), k,
                       s.largest ? 1 : 0, order_code(t), t.bytes() * 8},
                      {{t, s.shape}},
                      {{i64, s.out}},
                      8 * n + 16 * k,
                      &hone_internal_top_k};
}

AttributeTexts infer_top_k(std::span<const TensorType> inputs) {
  const TensorType& x = input_at(inputs, 0, "x");
  return {{"shape", text_of_extents(x.shape)}, {"dtype", to_string(x.dtype)}};
}

}  // namespace

Operator top_k_operator() {
  Operator op;
  op.name = "top_k";
  op.summary =
      "places (s64) of the k largest elements along an axis, in order: axis=-1 (the last); largest=0: of the smallest; "
      "of equal ones the first come first";
  op.attributes = {{"shape", "16x1000", extents()},
                   {"axis", "-1", axis_of_shape()},
                   {"k", "5", whole_number()},
                   {"largest", "1", flag()},
                   {"dtype", "f32", number_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_top_k(a)); };
  op.infer = &infer_top_k;
  op.define = &top_k;
  op.host = &host_top_k;
  op.flops = [](const Workload& w) {
    const auto& s = w.shape_as<TopKShape>();
    return static_cast<double>(element_count(s.shape) + element_count(s.out)) * static_cast<double>(s.shape[s.axis]);
  };
  return op;
}

}  // namespace hone
