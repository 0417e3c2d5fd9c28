// avg_pool2d: the mean of each window of data[n,c,h,w].
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {
namespace {

PoolShape avg_pool2d_shape(const Attributes& a) {
  return pool_shape_of("avg_pool2d", a, ReduceKind::kSum, a.get<bool>("count_include_pad"));
}

std::vector<int64_t> avg_pool2d_input_shape(const Attributes& a) {
  const PoolShape s = avg_pool2d_shape(a);
  return {s.n, s.ci, s.h, s.w};
}

}  // namespace

Operator avg_pool2d_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "avg_pool2d";
  op.summary = "the mean of each window of data[n,c,h,w]; count_include_pad=1 divides by kh*kw at the borders too";
  op.attributes = {
      {"n", "1", whole_number()},
      {"c", "64", whole_number()},
      {"h", "56", whole_number()},
      {"w", "56", whole_number()},
      {"kh", "2", whole_number()},
      {"kw", "2", whole_number()},
      {"stride", "2", height_width(1)},
      {"pad", "0", pads()},
      {"dilation", "1", height_width(1)},
      {"count_include_pad", "0", flag()},
      {"layout", "NCHWc", layout_choice(true)},
      {"dtype", "f32", float_dtype()},
      {"epilogue", "none",
       epilogue(functions, {[](const Attributes& a) { return output_shape(avg_pool2d_shape(a)); }, 1}), true},
      prologue_attribute(functions, {&avg_pool2d_input_shape, 1}),
      extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(avg_pool2d_shape(a)); };
  op.infer = [](std::span<const TensorType> inputs) { return infer_image(inputs, "c"); };
  op.define = [](const Workload& w) { return pooling(w); };
  op.flops = &pool_flops;
  return op;
}

}  // namespace hone
