// reshape: the elements of x, in row-major order, as a tensor of another shape.
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct ReshapeShape {
  std::vector<int64_t> from, to;
};

// Extents, or `same`: those of `shape`.
AttributeParser same_count() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    std::vector<int64_t> to = text == "same" ? shape : parse_extents("to", text);
    HONE_USER_CHECK(element_count(to) == element_count(shape))
        << "to=" << text << " has " << element_count(to) << " elements, shape=" << text_of_extents(shape) << " has "
        << element_count(shape);
    return ParsedAttribute{text_of_extents(to), std::move(to)};
  };
}

// Where the element at `i` of a tensor of shape `to` lies in one of shape `from`. Dimensions are taken in the smallest
// runs that hold as many elements in both: inside a run indices are divided, across runs they are not.
std::vector<Expr> source_of(const std::vector<int64_t>& from, const std::vector<int64_t>& to,
                            const std::vector<Expr>& i) {
  std::vector<Expr> at(from.size());
  for (size_t s = 0, t = 0; s < from.size() || t < to.size();) {
    size_t s_end = s, t_end = t;
    int64_t s_count = 1, t_count = 1;
    do {
      if (s_count <= t_count && s_end < from.size())
        s_count *= from[s_end++];
      else
        t_count *= to[t_end++];
    } while (s_count != t_count);
    Expr flat = make_int(0);
    for (; t < t_end; ++t) flat = flat * to[t] + i[t];
    for (size_t d = s_end; d-- > s;) {
      at[d] = d == s ? flat : floor_mod(flat, from[d]);
      flat = floor_div(flat, from[d]);
    }
    s = s_end;
  }
  return at;
}

Definition reshaped(const Workload& w) {
  const auto& s = w.shape_as<ReshapeShape>();
  return moved(w, s.to, [&](const Tensor& x, const std::vector<Expr>& i) { return x.at(source_of(s.from, s.to, i)); });
}

}  // namespace

Operator reshape_operator() {
  Operator op;
  op.name = "reshape";
  op.summary = "the elements of x, in row-major order, as another shape: to=64x3136";
  op.attributes = {{"shape", "1x64x56x56", extents()}, {"to", "same", same_count()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) {
    return std::any(ReshapeShape{a.get<std::vector<int64_t>>("shape"), a.get<std::vector<int64_t>>("to")});
  };
  op.infer = &infer_shape_and_dtype;
  op.define = &reshaped;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
