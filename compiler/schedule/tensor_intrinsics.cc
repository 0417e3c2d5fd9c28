#include "compiler/schedule/tensor_intrinsics.h"

namespace hone {
namespace {

TensorIntrinsic fma_f32() {
  const Var i("i"), j("j");
  const Buffer a = make_buffer("A", f32, {1}), b = make_buffer("B", f32, {1}), c = make_buffer("C", f32, {1, 1});
  TensorIntrinsic t;
  t.name = "fma_f32";
  t.axes = {{i, false, 1, 32, LoopKind::kUnroll}, {j, false, 4, 64, LoopKind::kVectorize}};
  t.out = {c, 1};
  t.out_indices = {i, j};
  t.tensors = {{a, 0}, {b, 1}};
  t.value = load(a, {i}) * load(b, {j});
  t.implement = [](const std::vector<std::vector<Expr>>& reads) { return reads[0][0] * reads[0][1]; };
  t.fused_step = true;
  return t;
}

TensorIntrinsic dot_u8s8_s32() {
  const Var j("j"), k("k");
  const Buffer a = make_buffer("A", u8, {4}), b = make_buffer("B", i8, {1, 4}), c = make_buffer("C", i32, {1});
  TensorIntrinsic t;
  t.name = "dot_u8s8_s32";
  t.axes = {{j, false, 4, 64, LoopKind::kVectorize}, {k, true, 4, 4, LoopKind::kSerial}};
  t.out = {c, 1};
  t.out_indices = {j};
  t.tensors = {{a, 1}, {b, 2}};
  t.value = cast(i32, load(a, {k})) * cast(i32, load(b, {j, k}));
  t.consumed = 1;
  t.implement = [](const std::vector<std::vector<Expr>>& reads) {
    std::vector<Expr> args;
    for (size_t n : {0, 1})
      for (const auto& step : reads) args.push_back(step[n]);
    return call(Intrinsic::kDot4, std::move(args));
  };
  return t;
}

}  // namespace

const std::vector<TensorIntrinsic>& tensor_intrinsics() {
  static const std::vector<TensorIntrinsic> table = {fma_f32(), dot_u8s8_s32()};
  return table;
}

}  // namespace hone
