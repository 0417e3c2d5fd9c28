// space_to_depth: blocks of pixels of x[n,c,h,w] become blocks of channels.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct SpaceToDepthShape {
  std::vector<int64_t> out;
  int64_t block = 1, channels = 1;
};

SpaceToDepthShape shape_of_space_to_depth(const Attributes& a) {
  const auto& shape = a.get<std::vector<int64_t>>("shape");
  const int64_t block = a.number("block");
  HONE_USER_CHECK(shape.size() == 4) << "space_to_depth: shape=" << a.text("shape") << " must have 4 dimensions";
  HONE_USER_CHECK(shape[2] % block == 0 && shape[3] % block == 0)
      << "space_to_depth: an image of " << shape[2] << "x" << shape[3] << " is no multiple of block=" << block;
  const std::vector<int64_t> out{shape[0], checked_product("space_to_depth: c", shape[1], block * block),
                                 shape[2] / block, shape[3] / block};
  return {checked_shape("space_to_depth: the output", out), block, shape[1]};
}

// Channels are numbered block row, block column, channel.
Definition space_to_depth(const Workload& w) {
  const auto& s = w.shape_as<SpaceToDepthShape>();
  return moved(w, s.out, [&](const Tensor& x, const std::vector<Expr>& i) {
    const Expr in_block = floor_div(i[1], s.channels);
    return x(i[0], floor_mod(i[1], s.channels), i[2] * s.block + floor_div(in_block, s.block),
             i[3] * s.block + floor_mod(in_block, s.block));
  });
}

}  // namespace

Operator space_to_depth_operator() {
  Operator op;
  op.name = "space_to_depth";
  op.summary = "blocks of pixels of x[n,c,h,w] become blocks of channels: block=2";
  op.attributes = {
      {"shape", "1x64x56x56", extents()}, {"block", "2", whole_number()}, {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_space_to_depth(a)); };
  op.infer = &infer_shape_and_dtype;
  op.define = &space_to_depth;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
