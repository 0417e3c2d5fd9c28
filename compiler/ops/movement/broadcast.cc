// broadcast: x repeated along the dimensions in which it has one element.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct BroadcastShape {
  std::vector<int64_t> from, to;
};

// Extents, or `same` for those of `shape`. Each extent of `shape` must equal this one or be 1.
AttributeParser broadcast_of_shape() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    std::vector<int64_t> to = text == "same" ? shape : parse_extents("to", text);
    bool fits = to.size() == shape.size();
    for (size_t d = 0; fits && d < to.size(); ++d) fits = shape[d] == to[d] || shape[d] == 1;
    HONE_USER_CHECK(fits) << "to=" << text << ": shape=" << text_of_extents(shape)
                          << " does not fit; it has as many dimensions, and each extent is to's or 1";
    return ParsedAttribute{text_of_extents(to), std::move(to)};
  };
}

Definition broadcasted(const Workload& w) {
  const auto& s = w.shape_as<BroadcastShape>();
  return moved(w, s.to, [&](const Tensor& x, std::vector<Expr> i) {
    for (size_t d = 0; d < i.size(); ++d)
      if (s.from[d] == 1) i[d] = make_int(0);
    return x.at(std::move(i));
  });
}

}  // namespace

Operator broadcast_operator() {
  Operator op;
  op.name = "broadcast";
  op.summary = "x repeated along the dimensions in which it has one element: shape=1x64x1x1,to=8x64x56x56";
  op.attributes = {
      {"shape", "1x64x1x1", extents()}, {"to", "same", broadcast_of_shape()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) {
    return std::any(BroadcastShape{a.get<std::vector<int64_t>>("shape"), a.get<std::vector<int64_t>>("to")});
  };
  op.infer = &infer_shape_and_dtype;
  op.define = &broadcasted;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
