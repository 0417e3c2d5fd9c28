// slice: elements of x at regular steps, forwards or backwards.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

constexpr int64_t kMostStep = int64_t{1} << 32;

struct SliceShape {
  std::vector<int64_t> begin, step, size;
};

// How many elements lie from `begin` to the end of `extent` that `step` goes to.
int64_t rest_of(int64_t extent, int64_t begin, int64_t step) {
  return step > 0 ? ceil_div(extent - begin, step) : begin / -step + 1;
}

AttributeParser steps() {
  return [each = number_each(-kMostStep, kMostStep)](std::string_view text, const AttributeContext& context) {
    ParsedAttribute parsed = each(text, context);
    for (int64_t step : std::any_cast<const std::vector<int64_t>&>(parsed.value))
      HONE_USER_CHECK(step != 0) << "step=" << text << ": a step is 0";
    return parsed;
  };
}

// First indices, all inside of `shape`.
AttributeParser begins() {
  return [each = number_each(0, kMostStep)](std::string_view text, const AttributeContext& context) {
    ParsedAttribute parsed = each(text, context);
    const auto& begin = std::any_cast<const std::vector<int64_t>&>(parsed.value);
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    for (size_t d = 0; d < shape.size(); ++d)
      HONE_USER_CHECK(begin[d] < shape[d]) << "begin=" << text << ": " << begin[d] << " is outside of axis " << d
                                           << ", which has " << shape[d] << " elements";
    return parsed;
  };
}

// Extents, or `rest`: as many as there are.
AttributeParser sizes_of_slice() {
  return [](std::string_view text, const AttributeContext& context) {
    const auto& shape = context.before.get<std::vector<int64_t>>("shape");
    const auto& begin = context.before.get<std::vector<int64_t>>("begin");
    const auto& step = context.before.get<std::vector<int64_t>>("step");
    std::vector<int64_t> most;
    for (size_t d = 0; d < shape.size(); ++d) most.push_back(rest_of(shape[d], begin[d], step[d]));
    std::vector<int64_t> size = text == "rest" ? most : parse_extents("size", text);
    HONE_USER_CHECK(size.size() == shape.size())
        << "size=" << text << " has " << size.size() << " dimensions, shape has " << shape.size();
    for (size_t d = 0; d < shape.size(); ++d)
      HONE_USER_CHECK(size[d] <= most[d]) << "size=" << text << ": along axis " << d << " there are " << most[d]
                                          << " elements from " << begin[d] << " by steps of " << step[d];
    return ParsedAttribute{text_of_extents(size), std::move(size)};
  };
}

Definition sliced(const Workload& w) {
  const auto& s = w.shape_as<SliceShape>();
  return moved(w, s.size, [&](const Tensor& x, const std::vector<Expr>& i) {
    std::vector<Expr> at;
    for (size_t d = 0; d < i.size(); ++d)
      // A step along an axis of one element is never taken; it may be anything.
      at.push_back(s.size[d] == 1 ? make_int(s.begin[d]) : i[d] * s.step[d] + s.begin[d]);
    return x.at(at);
  });
}

}  // namespace

Operator slice_operator() {
  Operator op;
  op.name = "slice";
  op.summary = "elements of x from begin by step: shape=8x9,begin=0:8,step=2:-1,size=4x9; one number is for all axes";
  op.attributes = {{"shape", "1x64x56x56", extents()},
                   {"begin", "0", begins()},
                   {"step", "1", steps()},
                   {"size", "rest", sizes_of_slice()},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) {
    return std::any(SliceShape{a.get<std::vector<int64_t>>("begin"), a.get<std::vector<int64_t>>("step"),
                               a.get<std::vector<int64_t>>("size")});
  };
  op.infer = &infer_shape_and_dtype;
  op.define = &sliced;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
