// max_pool2d: the largest of each window of data[n,c,h,w].
#include "compiler/ops/dtypes.h"
#include "compiler/ops/epilogue.h"
#include "compiler/ops/extremes.h"
#include "compiler/ops/operator.h"
#include "compiler/ops/prologue.h"
#include "compiler/ops/windows/pooling.h"

namespace hone {
namespace {

PoolShape max_pool2d_shape(const Attributes& a) { return pool_shape_of("max_pool2d", a, ReduceKind::kMax, false); }

std::vector<int64_t> max_pool2d_input_shape(const Attributes& a) {
  const PoolShape s = max_pool2d_shape(a);
  return {s.n, s.ci, s.h, s.w};
}

}  // namespace

Operator max_pool2d_operator(const FunctionTable& functions) {
  Operator op;
  op.name = "max_pool2d";
  op.summary = "the largest of each window of data[n,c,h,w]";
  op.attributes = {
      {"n", "1", whole_number()},
      {"c", "64", whole_number()},
      {"h", "112", whole_number()},
      {"w", "112", whole_number()},
      {"kh", "3", whole_number()},
      {"kw", "3", whole_number()},
      {"stride", "2", height_width(1)},
      {"pad", "1", pads()},
      {"dilation", "1", height_width(1)},
      {"layout", "NCHWc", layout_choice(true)},
      {"dtype", "f32", number_dtype()},
      {"epilogue", "none",
       epilogue(functions, {[](const Attributes& a) { return output_shape(max_pool2d_shape(a)); }, 1}), true},
      prologue_attribute(functions, {&max_pool2d_input_shape, 1}),
      extremes_attribute()};
  op.shape = [](const Attributes& a) { return std::any(max_pool2d_shape(a)); };
  op.infer = [](std::span<const TensorType> inputs) { return infer_image(inputs, "c"); };
  op.define = [](const Workload& w) { return pooling(w); };
  op.flops = &pool_flops;
  return op;
}

}  // namespace hone
