// conv2d: data[n,ci,h,w] * weight[co,ci/groups,kh,kw].
#include "compiler/ir/layout.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

ConvShape conv2d_shape(const Attributes& a) {
  const ConvShape s = conv_shape_of(a, a.number("ci"), a.number("co"), a.number("groups"));
  HONE_USER_CHECK(s.ci % s.groups == 0 && s.co % s.groups == 0)
      << "conv2d: groups=" << s.groups << " does not divide ci=" << s.ci << " and co=" << s.co;
  check_conv_shape("conv2d", "kernel", s);
  element_count({s.co, s.ci / s.groups, s.kh, s.kw});
  return s;
}

// Grouped convolutions with one channel a group have an operator of their own.
std::optional<Spelling> as_depthwise(const Attributes& a) {
  const int64_t groups = a.number("groups");
  if (groups == 1 || groups != a.number("ci") || groups != a.number("co")) return std::nullopt;
  Spelling s{"depthwise_conv2d", {}};
  for (const Attributes::Item& item : a) {
    if (item.name == "ci")
      s.attributes.emplace_back("c", item.text);
    else if (item.name != "co" && item.name != "groups")
      s.attributes.emplace_back(item.name, item.text);
  }
  return s;
}

std::vector<int64_t> conv2d_input_shape(const Attributes& a) {
  const ConvShape s = conv2d_shape(a);
  return {s.n, s.ci, s.h, s.w};
}

AttributeTexts infer_conv2d(std::span<const TensorType> inputs) {
  AttributeTexts out = infer_image(inputs, "ci");
  const TensorType &data = inputs[0], &weight = input_of_rank(inputs, 1, "weight", 4);
  HONE_USER_CHECK(weight.shape[1] >= 1 && data.shape[1] % weight.shape[1] == 0)
      << "'weight' is " << to_string(weight) << ", and its " << weight.shape[1] << " channels do not divide the "
      << data.shape[1] << " of 'data'";
  out.back().second = product_dtype_of(data.dtype, weight.dtype);
  out.insert(out.end(), {{"co", std::to_string(weight.shape[0])},
                         {"kh", std::to_string(weight.shape[2])},
                         {"kw", std::to_string(weight.shape[3])},
                         {"groups", std::to_string(data.shape[1] / weight.shape[1])}});
  return out;
}

}  // namespace

Operator conv2d_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "conv2d";
  op.summary = "2-D convolution: data[n,ci,h,w] * weight[co,ci/groups,kh,kw]";
  op.attributes = {
      {"n", "1", whole_number()},
      {"ci", "64", whole_number()},
      {"h", "56", whole_number()},
      {"w", "56", whole_number()},
      {"co", "64", whole_number()},
      {"kh", "3", whole_number()},
      {"kw", "3", whole_number()},
      {"stride", "1", height_width(1)},
      {"pad", "1", pads()},
      {"dilation", "1", height_width(1)},
      {"groups", "1", whole_number()},
      {"layout", "NCHWc", layout_choice(false)},
      {"dtype", "f32", product_dtypes()},
      {"epilogue", "none", epilogue(functions, {[](const Attributes& a) { return output_shape(conv2d_shape(a)); }, 1})},
      prologue_attribute(functions, {&conv2d_input_shape, 1}),
      border_attribute(),
      extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(conv2d_shape(a)); };
  op.infer = &infer_conv2d;
  op.define = [](const Workload& w) { return convolution(w); };
  op.flops = &convolution_flops;
  op.respell = &as_depthwise;
  return op;
}

}  // namespace hone
