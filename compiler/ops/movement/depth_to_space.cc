// depth_to_space: blocks of channels of x[n,c,h,w] become blocks of pixels.
#include "compiler/ops/dtypes.h"
#include "compiler/ops/movement/movement.h"
#include "compiler/ops/operator.h"

namespace hone {
namespace {

struct DepthToSpaceShape {
  std::vector<int64_t> out;
  int64_t block = 1;
  bool blocks_first = true;  ///< DCR: channels are numbered block row, block column, channel; CRD: channel first
};

DepthToSpaceShape shape_of_depth_to_space(const Attributes& a) {
  const auto& shape = a.get<std::vector<int64_t>>("shape");
  const int64_t block = a.number("block"), pixels = block * block;
  HONE_USER_CHECK(shape.size() == 4) << "depth_to_space: shape=" << a.text("shape") << " must have 4 dimensions";
  HONE_USER_CHECK(shape[1] % pixels == 0)
      << "depth_to_space: " << shape[1] << " channels are no multiple of block*block=" << pixels;
  const std::vector<int64_t> out{shape[0], shape[1] / pixels, checked_product("depth_to_space: h", shape[2], block),
                                 checked_product("depth_to_space: w", shape[3], block)};
  return {checked_shape("depth_to_space: the output", out), block, a.get<std::string>("mode") == "DCR"};
}

Definition depth_to_space(const Workload& w) {
  const auto& s = w.shape_as<DepthToSpaceShape>();
  return moved(w, s.out, [&](const Tensor& x, const std::vector<Expr>& i) {
    const Expr in_block = floor_mod(i[2], s.block) * s.block + floor_mod(i[3], s.block);
    const Expr channel = s.blocks_first ? in_block * s.out[1] + i[1] : i[1] * (s.block * s.block) + in_block;
    return x(i[0], channel, floor_div(i[2], s.block), floor_div(i[3], s.block));
  });
}

}  // namespace

Operator depth_to_space_operator() {
  Operator op;
  op.name = "depth_to_space";
  op.summary = "blocks of channels of x[n,c,h,w] become blocks of pixels: block=2,mode=DCR (ONNX's), CRD";
  op.attributes = {{"shape", "1x64x56x56", extents()},
                   {"block", "2", whole_number()},
                   {"mode", "DCR", one_of({"DCR", "CRD"})},
                   {"dtype", "f32", element_dtype()}};
  op.shape = [](const Attributes& a) { return std::any(shape_of_depth_to_space(a)); };
  op.infer = &infer_shape_and_dtype;
  op.define = &depth_to_space;
  op.flops = &elements_moved;
  return op;
}

}  // namespace hone
