// depthwise_conv2d: each channel of data[n,c,h,w] with its own kernel, weight[c,1,kh,kw].
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"

namespace hone {
namespace {

ConvShape depthwise_conv2d_shape(const Attributes& a) {
  const ConvShape s = depthwise_shape_of(a, a.number("c"));
  check_conv_shape("depthwise_conv2d", "kernel", s);
  return s;
}

std::vector<int64_t> depthwise_conv2d_input_shape(const Attributes& a) {
  const ConvShape s = depthwise_conv2d_shape(a);
  return {s.n, s.ci, s.h, s.w};
}

AttributeTexts infer_depthwise_conv2d(std::span<const TensorType> inputs) {
  AttributeTexts out = infer_image(inputs, "c");
  const TensorType& weight = input_of_rank(inputs, 1, "weight", 4);
  out.back().second = product_dtype_of(inputs[0].dtype, weight.dtype);
  out.insert(out.end(), {{"kh", std::to_string(weight.shape[2])}, {"kw", std::to_string(weight.shape[3])}});
  return out;
}

}  // namespace

Operator depthwise_conv2d_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "depthwise_conv2d";
  op.summary = "convolution of each channel with its own kernel: data[n,c,h,w] * weight[c,1,kh,kw]";
  op.attributes = {
      {"n", "1", whole_number()},
      {"c", "128", whole_number()},
      {"h", "56", whole_number()},
      {"w", "56", whole_number()},
      {"kh", "3", whole_number()},
      {"kw", "3", whole_number()},
      {"stride", "1", height_width(1)},
      {"pad", "1", pads()},
      {"dilation", "1", height_width(1)},
      {"layout", "NCHWc", layout_choice(false)},
      {"dtype", "f32", product_dtypes()},
      {"epilogue", "none",
       epilogue(functions, {[](const Attributes& a) { return output_shape(depthwise_conv2d_shape(a)); }, 1})},
      prologue_attribute(functions, {&depthwise_conv2d_input_shape, 1}),
      border_attribute(),
      extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(depthwise_conv2d_shape(a)); };
  op.infer = &infer_depthwise_conv2d;
  op.define = [](const Workload& w) { return convolution(w); };
  op.flops = &convolution_flops;
  return op;
}

}  // namespace hone
