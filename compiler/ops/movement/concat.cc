// concat: tensors behind each other along an axis.
#include <absl/strings/str_join.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/ops/attributes/split_text.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

using Shapes = std::vector<std::vector<int64_t>>;

constexpr size_t kMostInputs = 256;

struct ConcatShape {
  Shapes shapes;
  size_t axis = 0;
  std::vector<int64_t> offsets;  ///< where each input begins along the axis
  std::vector<int64_t> out;
};

// Extents of each input, joined by colons. Value: std::vector<std::vector<int64_t>>.
AttributeParser shapes_of_inputs() {
  return [](std::string_view text, const AttributeContext& context) {
    Shapes shapes;
    const auto parts = split_text(text, ':');
    HONE_USER_CHECK(parts.size() <= kMostInputs)
        << context.name << " are " << parts.size() << " shapes; at most " << kMostInputs;
    for (const std::string& part : parts) shapes.push_back(parse_extents(context.name, part));
    std::string canonical =
        absl::StrJoin(shapes, ":", [](std::string* out, const auto& shape) { *out += text_of_extents(shape); });
    return ParsedAttribute{std::move(canonical), std::move(shapes)};
  };
}

ConcatShape shape_of_concat(const Attributes& a) {
  ConcatShape s{a.get<Shapes>("shapes"), static_cast<size_t>(a.number("axis")), {}, {}};
  s.out = s.shapes[0];
  int64_t length = 0;
  for (const auto& shape : s.shapes) {
    bool fits = shape.size() == s.out.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) fits = d == s.axis || shape[d] == s.out[d];
    HONE_USER_CHECK(fits) << "shapes: " << text_of_extents(shape) << " does not fit " << text_of_extents(s.shapes[0])
                          << "; they differ in nothing but the extent of axis " << s.axis;
    s.offsets.push_back(length);
    length += shape[s.axis];
  }
  s.out[s.axis] = length;
  s.out = checked_shape("concat: the output", s.out);
  return s;
}

// The element at `i` of inputs first .. last - 1 behind each other, by halving: among 256 inputs eight comparisons
// find the right one.
Expr element_among(const ConcatShape& s, const std::vector<Tensor>& inputs, const std::vector<Expr>& i, size_t first,
                   size_t last) {
  if (last - first == 1) {
    std::vector<Expr> at = i;
    at[s.axis] = at[s.axis] - s.offsets[first];
    return inputs[first].at(at);
  }
  const size_t middle = first + (last - first) / 2;
  return select(lt(i[s.axis], s.offsets[middle]), element_among(s, inputs, i, first, middle),
                element_among(s, inputs, i, middle, last));
}

Definition concatenated(const Workload& w) {
  const auto& s = w.shape_as<ConcatShape>();
  std::vector<Tensor> inputs;
  Definition d;
  for (const auto& shape : s.shapes) {
    inputs.push_back(placeholder(fmt::format("x{}", inputs.size() + 1), shape, dtypes_of(w).in));
    d.inputs.emplace_back(inputs.back(), ParamRole::kInput);
  }
  d.outputs = {compute("out", s.out, axis_names(s.out.size()), inputs,
                       [&](const std::vector<Expr>& i) { return element_among(s, inputs, i, 0, inputs.size()); })};
  return d;
}

AttributeTexts infer_concat(std::span<const TensorType> inputs) {
  const TensorType& first = input_at(inputs, 0, "x1");
  std::string shapes;
  for (const TensorType& t : inputs) shapes += (shapes.empty() ? "" : ":") + text_of_extents(t.shape);
  return {{"shapes", shapes}, {"dtype", to_string(first.dtype)}};
}

}  // namespace

Operator concat_operator() {
  Operator op;
  op.name = "concat";
  op.summary = "tensors behind each other along an axis: shapes=1x64x56x56:1x32x56x56,axis=1";
  op.attributes = {
      {"shapes", "1x64x56x56:1x64x56x56", shapes_of_inputs()},
      {"axis", "1", axis_of([](const Attributes& before) { return before.get<Shapes>("shapes")[0].size(); })},
      {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_concat(a)); };
  op.infer = &infer_concat;
  op.define = &concatenated;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
