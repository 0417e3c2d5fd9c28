// Templates on tiles: random configs, their instructions modelled, against the reference.
#include <gmock/gmock.h>

#include "compiler/ops/products/product.h"
#include "compiler/ops/templates/common.h"
#include "compiler/ops/templates/cpu/conv2d.h"
#include "compiler/ops/templates/cpu/matmul_tiles.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/ops/windows/convolution.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"
#include "tests/unit/tiles/tile_model.h"

namespace hone {
namespace {

class OnTiles : public testing::TestWithParam<std::string> {};

// How the configs of the algorithm begin.
std::string_view on_tiles(const std::string& workload) {
  return workload.starts_with("conv2d") ? "algorithm=8" : "unit=1";
}

TEST_P(OnTiles, TemplatesComputeWhatTheReferenceComputes) {
  reset_tile_model();
  expect_configs_match_reference(parse_workload(GetParam()), target_with_tiles(), 6, 7, on_tiles(GetParam()),
                                 TileCode::kModel);
  EXPECT_THAT(tile_faults(), testing::IsEmpty());
  EXPECT_GT(tile_counts().products, 0);
}

TEST_P(OnTiles, TheSameInVectorsWhereTheKernelRefuses) {
  reset_tile_model(/*allows=*/false);
  expect_configs_match_reference(parse_workload(GetParam()), target_with_tiles(), 2, 8, on_tiles(GetParam()),
                                 TileCode::kModel);
  EXPECT_THAT(tile_faults(), testing::IsEmpty());
  EXPECT_EQ(tile_counts().products, 0);
}

// Each config computes its sums on tiles, all of them and none twice.
class ProductsOnTiles : public testing::TestWithParam<std::string> {};

TEST_P(ProductsOnTiles, AreWholeInEveryConfig) {
  const Workload w = parse_workload(GetParam());
  const Target target = target_with_tiles(1);
  const Space space = make_space(w, target);
  const ProductShape& p = product_shape(w);
  const MatrixUnit& unit = *tile_unit_of(w, target);
  std::mt19937_64 rng(3);
  for (const Config& config : some_configs(space, 8, rng, "unit=1")) {
    const std::string text = space.print(config);
    SCOPED_TRACE(text);
    const auto number = [&](const std::string& knob) { return std::stoll(text.substr(text.find(knob) + knob.size())); };
    const int64_t high = number("tiles=") / 10, wide = number("tiles=") % 10;
    // Tasks have equal numbers of blocks, the last ones perhaps behind the end: skipped where rows are read in place.
    const Split rows = chunks(ceil_div(p.m, high * unit.rows), number("tile_tasks_m=")),
                columns = chunks(ceil_div(p.n, wide * unit.columns), number("tile_tasks_n="));
    const int64_t blocks = number("tile_pack_a=") ? rows[0] * rows[1] : ceil_div(p.m, high * unit.rows);
    LocalKernel kernel(lower_config(w, target, space, config), target, {}, Denormals::kKeep, TileCode::kModel);
    reset_tile_model();
    ASSERT_EQ(kernel.run_here(), HONE_OK);
    EXPECT_EQ(tile_counts().products, p.b * blocks * high * columns[0] * columns[1] * wide * ceil_div(p.k, unit.depth));
  }
}

const auto kProducts = testing::Values(
    "dense(m=64,n=64,k=128,dtype=bf16:bf16:f32:f32)", "dense(m=32,n=48,k=32,dtype=bf16)",
    "dense(m=37,n=70,k=96,dtype=bf16,epilogue=bias+relu)", "dense(m=8,n=21,k=64,dtype=bf16)",
    "dense(m=197,n=96,k=64,dtype=bf16:bf16:f32:f32,epilogue=bias+gelu)",
    "dense(m=33,n=40,k=64,dtype=bf16,prologue=mul[c]+relu)",
    "dense(m=33,n=64,k=64,dtype=bf16,epilogue=bias,extremes=1)", "dense(m=32,n=32,k=50,dtype=bf16)",
    "dense(m=20,n=33,k=101,dtype=u8:s8:s32:s32,epilogue=bias)", "dense(m=33,n=40,k=75,dtype=bf16,prologue=mul[c]+relu)",
    "batch_matmul(b=3,m=40,n=29,k=45,dtype=bf16)",
    "batch_matmul(b=2,m=33,n=35,k=90,dtype=s8:u8:s32:s32,epilogue=add[r]:f32+mul[0.25]+round+saturate:u8)",
    "batch_matmul(b=2,m=20,n=48,k=70,dtype=bf16:bf16:f32:f32,prologue=mul[0.125]+add)",
    "dense(m=48,n=80,k=128,dtype=u8:s8:s32:s32)", "dense(m=20,n=33,k=64,dtype=u8:s8:s32:s32)",
    "dense(m=50,n=64,k=192,dtype=u8:s8:s32:s32,epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
    "batch_matmul(b=3,m=40,n=29,k=64,dtype=bf16)", "batch_matmul(b=2,m=17,n=64,k=128,dtype=u8:s8:s32:s32)",
    "batch_matmul(b=2,m=33,n=35,k=64,dtype=s8:u8:s32:s32,"
    "epilogue=add[r]:f32+mul[0.25]+round+saturate:u8)",
    "batch_matmul(b=2,m=64,n=48,k=32,dtype=bf16:bf16:f32:f32,prologue=mul[0.125]+add)");

// Numbers of 4 and 8 bits, each form of zero points, and as many parts of A as its type takes.
const auto kBlocks = testing::Values(
    "dense_nbits(m=32,n=64,k=128,bits=4,block=32)", "dense_nbits(m=33,n=40,k=256,bits=4,block=64,zero=each)",
    "dense_nbits(m=17,n=70,k=64,bits=4,block=32,zero=0,dtype=bf16)",
    "dense_nbits(m=20,n=32,k=96,bits=4,block=32,dtype=f16,epilogue=bias+relu)",
    "dense_nbits(m=48,n=33,k=128,bits=8,block=128,zero=128)",
    "dense_nbits(m=16,n=16,k=64,bits=8,block=32,zero=each,dtype=f16)",
    "dense_nbits(m=40,n=64,k=64,bits=8,block=64,zero=0,prologue=mul[0.5]+relu,epilogue=add)");

INSTANTIATE_TEST_SUITE_P(Blocks, OnTiles, kBlocks);
INSTANTIATE_TEST_SUITE_P(Products, OnTiles, kProducts);
INSTANTIATE_TEST_SUITE_P(Products, ProductsOnTiles, kProducts);

const auto kConvolutions =
    testing::Values("conv2d(ci=64,h=8,w=8,co=48,kh=1,kw=1,pad=0,layout=NHWC,dtype=bf16:bf16:f32:f32)",
                    "conv2d(ci=32,h=8,w=9,co=48,kh=1,kw=1,pad=0,layout=NCHW16c,dtype=bf16:bf16:f32:f32)",
                    "conv2d(ci=64,h=9,w=7,co=40,layout=NCHW32c:8c,dtype=bf16,epilogue=bias+relu)",
                    "conv2d(ci=32,h=9,w=11,co=21,kh=5,kw=3,stride=2,pad=2x1,layout=NHWC,dtype=bf16,epilogue=bias+add)",
                    "conv2d(n=2,ci=32,h=6,w=6,co=32,layout=NCHW16c,dtype=bf16:bf16:f32:f32)",
                    "conv2d(ci=64,h=8,w=8,co=64,kh=1,kw=1,pad=0,layout=NCHW64c:16c,dtype=u8:s8:s32:s32)",
                    "conv2d(ci=64,h=9,w=7,co=40,dtype=u8:s8:s32:s32,layout=NCHW16c,border=131)",
                    "conv2d(ci=128,h=7,w=7,co=32,dilation=2,pad=2,dtype=u8:s8:s32:s32,layout=NCHWc,"
                    "epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
                    "conv2d(ci=32,h=8,w=8,co=32,dtype=bf16,layout=NCHW16c,prologue=relu)",
                    "conv2d(ci=24,h=8,w=9,co=48,kh=1,kw=1,pad=0,layout=NHWC,dtype=u8:s8:s32:s32,epilogue=bias)",
                    "conv2d(ci=96,h=7,w=7,co=32,kh=1,kw=1,pad=0,layout=NCHW16c,dtype=u8:s8:s32:s32)",
                    "conv2d(ci=24,h=9,w=7,co=40,layout=NCHW8c,dtype=bf16,epilogue=bias+relu)",
                    "conv2d(ci=13,h=6,w=7,co=20,stride=2,layout=NHWC,dtype=u8:s8:s32:s32,border=7)",
                    "conv2d(ci=48,h=7,w=7,co=32,dilation=2,pad=2,dtype=u8:s8:s32:s32,layout=NCHWc)",
                    "conv2d(ci=40,h=8,w=8,co=32,dtype=bf16,layout=NHWC,prologue=relu)",
                    "conv2d(ci=16,h=13,w=37,co=40,layout=NHWC,dtype=u8:s8:s32:s32,epilogue=bias,border=3)",
                    "conv2d(ci=64,h=17,w=33,co=32,stride=2,layout=NCHW16c,dtype=bf16,extremes=1)",
                    "conv2d(n=2,ci=24,h=9,w=35,co=32,kh=3,kw=1,pad=1x0,layout=NCHW8c,dtype=u8:s8:s32:s32)");

INSTANTIATE_TEST_SUITE_P(Convolutions, OnTiles, kConvolutions);

// Each config of a convolution does: none falls back to plain loops.
class ConvolutionsOnTiles : public testing::TestWithParam<std::string> {};

TEST_P(ConvolutionsOnTiles, AreWholeInEveryConfig) {
  const Workload w = parse_workload(GetParam());
  const Target target = target_with_tiles(1);
  const Space space = make_space(w, target);
  const ConvShape& c = conv_shape(w);
  const MatrixUnit& unit = *convolution_unit(w, target);
  const int64_t pixels = c.n * c.oh * c.ow, steps = ceil_div(c.ci * c.kh * c.kw, unit.depth);
  std::mt19937_64 rng(3);
  for (const Config& config : some_configs(space, 8, rng, "algorithm=8")) {
    const std::string text = space.print(config);
    SCOPED_TRACE(text);
    const auto number = [&](const std::string& knob) { return std::stoll(text.substr(text.find(knob) + knob.size())); };
    const int64_t high = number("t_tiles=") / 10, wide = number("t_tiles=") % 10;
    const int64_t gather = number("t_gather=");
    const bool is_image = gather == kImage || gather == kImageBefore;
    const int64_t all = is_image ? ceil_div(c.oh, high) : ceil_div(pixels, high * unit.rows);
    const Split tasks = chunks(all, number("t_tasks="));
    const int64_t blocks = gather == kTask || is_image ? tasks[0] * tasks[1] : all;
    const ImageRows image = image_rows(w, unit.depth, c.oh, c.ow);
    const int64_t tiles =
        is_image ? c.n * ceil_div(c.ow, unit.rows) * blocks * high * (image.segments * image.run / unit.depth)
                 : blocks * high * steps;
    LocalKernel kernel(lower_config(w, target, space, config), target, {}, Denormals::kKeep, TileCode::kModel);
    reset_tile_model();
    ASSERT_EQ(kernel.run_here(), HONE_OK);
    EXPECT_EQ(tile_counts().products, tiles * ceil_div(c.co, wide * unit.columns) * wide);
  }
}

// A layout that the workload names is that of every algorithm: a model's layers meet in it.
TEST_P(ConvolutionsOnTiles, LieAsTheWorkloadSays) {
  const Workload w = parse_workload(GetParam());
  if (layout_of(w).blocked && !layout_of(w).in_block) return;  // the config chooses
  const Target target = target_with_tiles(1);
  const Space space = make_space(w, target);
  std::mt19937_64 rng(3);
  const Module direct = lower_config(w, target, space, some_configs(space, 2, rng, "algorithm=0").front());
  for (const Config& config : some_configs(space, 4, rng, "algorithm=8")) {
    const Module m = lower_config(w, target, space, config);
    ASSERT_EQ(m.params.size(), direct.params.size());
    for (size_t p = 0; p < m.params.size(); ++p)
      EXPECT_TRUE(m.params[p].role == ParamRole::kConstant || m.params[p].layout == direct.params[p].layout)
          << m.params[p].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Convolutions, ConvolutionsOnTiles, kConvolutions);

}  // namespace
}  // namespace hone
