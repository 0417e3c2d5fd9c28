#include "compiler/ops/workload.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "compiler/ops/definition.h"
#include "compiler/ops/dtypes.h"
#include "compiler/ops/windows/conv_shape.h"
#include "compiler/reference/reference.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

using testing::HasSubstr;

std::string canonical(const std::string& text) { return to_string(parse_workload(text)); }

std::string refusal_in_workload(const std::string& text) {
  try {
    parse_workload(text);
  } catch (const UserError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Workload, PrintsEveryAttribute) {
  EXPECT_EQ(canonical("conv2d()"),
            "conv2d(n=1,ci=64,h=56,w=56,co=64,kh=3,kw=3,stride=1,pad=1,dilation=1,groups=1,layout=NCHWc,dtype=f32,"
            "epilogue=none)");
  EXPECT_EQ(canonical(" dense( m = 3 , k=5) "), "dense(m=3,n=768,k=5,dtype=f32,epilogue=none)");
}

TEST(Workload, RoundTripsThroughItsText) {
  for (const char* text :
       {"conv2d(ci=3,pad=0:1:2:3,stride=2x1,layout=NCHW8c:16c,epilogue=bias+add+relu)",
        "depthwise_conv2d(c=7,dilation=1x2)", "batch_matmul(b=2,m=3,n=4,k=5)", "dense(dtype=u8:s8:s32:s32)",
        "max_pool2d(kh=2,pad=0:1:1:0,layout=NCHW8c)", "avg_pool2d(count_include_pad=1,dilation=2x1)",
        "elementwise(op=mul+add+gelu,shape=2x3x4,operands=1x3x1:same)", "elementwise(op=exp)",
        "reduce(op=mean,shape=2x3x4,axes=-1:0,keepdims=1)", "reduce(axes=all)"})
    EXPECT_EQ(canonical(canonical(text)), canonical(text));
}

TEST(Workload, AbbreviatesWhatIsEqual) {
  EXPECT_THAT(canonical("conv2d(stride=2x2,pad=1:2:1:2,dilation=3x3,dtype=f32:f32:f32:f32,layout=NCHW8c:8c)"),
              HasSubstr("stride=2,pad=1x2,dilation=3,groups=1,layout=NCHW8c,dtype=f32"));
  EXPECT_THAT(canonical("conv2d(pad=2:2:2:2)"), HasSubstr("pad=2,"));
}

TEST(Workload, SaysOperandsAndAxesInTermsOfTheShape) {
  EXPECT_EQ(canonical("elementwise(op=add+relu+mul,shape=2x3,operands=2x3:1x3)"),
            "elementwise(op=add+relu+mul,shape=2x3,operands=same:1x3,dtype=f32)");
  EXPECT_EQ(canonical("elementwise(op=add+mul,shape=2x3)"),
            "elementwise(op=add+mul,shape=2x3,operands=same:same,dtype=f32)");
  EXPECT_EQ(canonical("elementwise(op=relu,shape=07)"), "elementwise(op=relu,shape=7,operands=none,dtype=f32)");
  EXPECT_EQ(canonical("reduce(op=max,shape=2x3x4,axes=-1:0)"),
            "reduce(op=max,shape=2x3x4,axes=0:2,keepdims=0,dtype=f32)");
  EXPECT_EQ(canonical("reduce(shape=2x3x4,axes=all)"), "reduce(op=sum,shape=2x3x4,axes=0:1:2,keepdims=0,dtype=f32)");
}

TEST(Workload, OutputsHaveTheShapesOfOnnx) {
  EXPECT_EQ(define(parse_workload("max_pool2d()")).output()->shape, (std::vector<int64_t>{1, 64, 56, 56}));
  EXPECT_EQ(define(parse_workload("avg_pool2d(c=3,h=7,w=9,kh=3,kw=2,stride=2x1,pad=1:0:1:1)")).output()->shape,
            (std::vector<int64_t>{1, 3, 4, 9}));
  EXPECT_EQ(define(parse_workload("reduce(op=mean,shape=2x3x4,axes=1)")).output()->shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(define(parse_workload("reduce(shape=2x3x4,axes=0:2,keepdims=1)")).output()->shape,
            (std::vector<int64_t>{1, 3, 1}));
  EXPECT_EQ(define(parse_workload("reduce(shape=2x3x4,axes=all)")).output()->shape, (std::vector<int64_t>{1}));
}

TEST(Workload, OneChannelAGroupIsDepthwise) {
  EXPECT_EQ(
      canonical("conv2d(ci=32,co=32,groups=32)"),
      "depthwise_conv2d(n=1,c=32,h=56,w=56,kh=3,kw=3,stride=1,pad=1,dilation=1,layout=NCHWc,dtype=f32,epilogue=none)");
}

TEST(Workload, FloatsOf16BitsAreSummedInF32) {
  EXPECT_THAT(canonical("dense(dtype=f16)"), HasSubstr("dtype=f16:f16:f32:f16"));
  EXPECT_THAT(canonical("dense(dtype=bf16)"), HasSubstr("dtype=bf16:bf16:f32:bf16"));
  EXPECT_THAT(canonical("conv2d(dtype=f16:f16:f32:f32)"), HasSubstr("dtype=f16:f16:f32:f32"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(bits=3)"), HasSubstr("bits=3 is not supported; allowed: 4, 8"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(block=20)"),
              HasSubstr("block=20 is no whole number of 32-bit words of 8 numbers"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(k=100)"), HasSubstr("k=100 is no whole number of blocks of 32"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(zero=16)"), HasSubstr("zero=16 does not fit 4 bits"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(zero=all)"), HasSubstr("zero"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(dtype=f64)"),
              HasSubstr("dtype=f64 is not supported; allowed: f32, f16, bf16"));
}

TEST(Workload, SumsOfF16AreInF16WhereThatIsAskedFor) {
  EXPECT_THAT(canonical("dense(dtype=f16:f16:f16:f16)"), HasSubstr("dtype=f16:f16:f16:f16"));
  EXPECT_THAT(canonical("conv2d(dtype=f16:f16:f16:f32)"), HasSubstr("dtype=f16:f16:f16:f32"));
  EXPECT_TRUE(dtypes_of(parse_workload("dense(dtype=f16:f16:f16:f32)")).f16_runs);
  EXPECT_FALSE(dtypes_of(parse_workload("dense(dtype=f16)")).f16_runs);
  EXPECT_EQ(accumulator_bits(parse_workload("dense(dtype=f16:f16:f16:f32)")), 16);
  EXPECT_THAT(refusal_in_workload("dense(dtype=f16:f32:f16:f16)"), HasSubstr("dtype=f16:f32:f16:f16 is not supported"));
  EXPECT_THAT(refusal_in_workload("dense_nbits(dtype=f16:f16:f16:f16)"),
              HasSubstr("is not supported; allowed: f16, bf16"));
  EXPECT_THAT(refusal_in_workload("softmax(dtype=f16:f16:f16:f16)"), HasSubstr("is not supported"));
}

// docs/keys.md: databases may have them, of later versions.
TEST(Workload, PartsOfLaterVersionsAreRefusedInOneLine) {
  EXPECT_EQ(refusal_in_workload("dense(m=1..512)"), "m=1..512: ranges are not supported by this version");
  EXPECT_EQ(refusal_in_workload("elementwise(shape=1..8x64)"),
            "shape=1..8x64: ranges are not supported by this version");
  EXPECT_EQ(refusal_in_workload("dense(math=bf16x3)"), "math=bf16x3 is not supported by this version; allowed: f32");
  EXPECT_EQ(refusal_in_workload("op(name=my_norm,def=0123456789abcdef0123456789abcdef,rows=8)"),
            "op(name=my_norm,...): an operator that its user defines: its definition is in a file "
            "of --operators, or in his program");
  EXPECT_EQ(refusal_in_workload("op(name=my_norm)"),
            "op: its first attributes are name=NAME and def=HASH, 32 lower-case hexadecimal digits");
}

TEST(Workload, WhatIsTodaysAnywayIsLeftOut) {
  EXPECT_EQ(canonical("dense(m=8,n=16,k=32,math=f32)"), "dense(m=8,n=16,k=32,dtype=f32,epilogue=none)");
  EXPECT_EQ(canonical("dense(m=8..8,n=16,k=32)"), canonical("dense(m=8,n=16,k=32)"));
  EXPECT_EQ(canonical("lstm(cell_clip=0)"), canonical("lstm()"));
  EXPECT_THAT(canonical("lstm(cell_clip=10.0)"), HasSubstr("cell_clip=10)"));
  EXPECT_EQ(canonical(canonical("lstm(cell_clip=1e30)")), canonical("lstm(cell_clip=1e30)"));
}

TEST(Workload, SaysWhatIsWrong) {
  EXPECT_THAT(
      refusal_in_workload("conv3d()"),
      HasSubstr("unknown task 'conv3d'; did you mean conv2d? known: conv2d, depthwise_conv2d, dense, dense_nbits, "
                "batch_matmul, max_pool2d, avg_pool2d, elementwise, reduce, transpose, "
                "reshape, broadcast, concat, slice, pad, gather, gather_elements, "
                "lookup, gather_nd, depth_to_space, space_to_depth, resize, softmax, "
                "log_softmax, layer_norm, rms_norm, l2_norm, argmax, argmin, top_k"));
  EXPECT_THAT(refusal_in_workload("conv2d"), HasSubstr("is not of the form task(attribute=value,...)"));
  EXPECT_THAT(refusal_in_workload("conv2(h=8)"),
              HasSubstr("unknown task 'conv2'; did you mean conv2d? known: conv2d, "));
  EXPECT_THAT(refusal_in_workload("nothing(h=8)"), HasSubstr("unknown task 'nothing'; known: conv2d, "));
  EXPECT_THAT(refusal_in_workload("conv2d(strid=2)"),
              HasSubstr("unknown attribute 'strid'; did you mean stride? it has n, "));
  EXPECT_THAT(refusal_in_workload("conv2d(height=2)"), HasSubstr("unknown attribute 'height'; it has n, "));
  EXPECT_THAT(refusal_in_workload("elementwise(shape=4,op=rela)"),
              HasSubstr("'rela' is unknown; did you mean relu? allowed: "));
  EXPECT_THAT(refusal_in_workload("conv2d(h=0)"), HasSubstr("h=0 is not a whole number from 1"));
  EXPECT_THAT(refusal_in_workload("conv2d(pad=-1)"), HasSubstr("pad=-1 is not a whole number from 0"));
  EXPECT_THAT(refusal_in_workload("conv2d(pad=1:2:3)"), HasSubstr("TOP:LEFT:BOTTOM:RIGHT"));
  EXPECT_THAT(refusal_in_workload("conv2d(stride=1x2x3)"), HasSubstr("neither one number nor HxW"));
  EXPECT_THAT(refusal_in_workload("conv2d(kh=9,h=5,pad=1)"), HasSubstr("larger than the padded input 7x58"));
  EXPECT_THAT(refusal_in_workload("conv2d(groups=3)"), HasSubstr("groups=3 does not divide"));
  EXPECT_THAT(refusal_in_workload("conv2d(layout=CHWN)"), HasSubstr("layout=CHWN is unknown"));
  EXPECT_THAT(refusal_in_workload("conv2d(layout=NCHW0c)"), HasSubstr("layout=NCHW0c is unknown"));
  EXPECT_THAT(refusal_in_workload("conv2d(dtype=f8)"),
              HasSubstr("dtype=f8 is not supported; allowed: f32, f64, tf32, f16:f16:f32:f16"));
  EXPECT_THAT(refusal_in_workload("conv2d(epilogue=secant)"),
              HasSubstr("'secant' is unknown; allowed: none, or bias relu"));
  EXPECT_THAT(refusal_in_workload("conv2d(x=1)"), HasSubstr("unknown attribute 'x'; it has n, ci,"));
  EXPECT_THAT(refusal_in_workload("conv2d(h=1,h=2)"), HasSubstr("'h' is given twice"));
  EXPECT_THAT(refusal_in_workload("conv2d(h=)"), HasSubstr("'h' has no value"));
  EXPECT_THAT(refusal_in_workload("conv2d(n=?)"), HasSubstr("not supported yet"));
  EXPECT_THAT(refusal_in_workload("max_pool2d(kh=9,h=5,pad=1)"),
              HasSubstr("the window 9x3 (dilation 1x1) is larger than the padded input 7x114"));
  EXPECT_THAT(refusal_in_workload("max_pool2d(pad=3)"), HasSubstr("pad=3 must be less than the window's reach 3x3"));
  EXPECT_THAT(refusal_in_workload("avg_pool2d(layout=NCHW8c:16c)"),
              HasSubstr("has different blocks for input and output"));
  EXPECT_THAT(refusal_in_workload("avg_pool2d(count_include_pad=2)"),
              HasSubstr("count_include_pad=2 is neither 0 nor 1"));
  EXPECT_THAT(refusal_in_workload("max_pool2d(dtype=u8:s8:s32:s32)"),
              HasSubstr("max_pool2d: dtype=u8:s8:s32:s32 is not supported; allowed: f16, bf16, f32, f64, s8, s16, s32, "
                        "s64, u8, u16, u32, u64"));
  EXPECT_THAT(refusal_in_workload("elementwise(op=relu+secant)"),
              HasSubstr("op=relu+secant: 'secant' is unknown; allowed: relu relu6"));
  EXPECT_THAT(refusal_in_workload("elementwise(op=add+mul,shape=2x3,operands=same:same:same)"),
              HasSubstr("operands=same:same:same are 3, but op=add+mul takes 2"));
  EXPECT_THAT(refusal_in_workload("elementwise(op=add,shape=2x3,operands=2x2)"),
              HasSubstr("2x2 does not fit shape=2x3; each extent is the shape's or 1"));
  EXPECT_THAT(refusal_in_workload("elementwise(shape=2x0)"), HasSubstr("shape: '0' is not a whole number from 1"));
  EXPECT_THAT(refusal_in_workload("elementwise(shape=2x?)"), HasSubstr("unknown extents are not supported yet"));
  EXPECT_THAT(refusal_in_workload("elementwise(shape=1x1x1x1x1x1x1x1x1)"), HasSubstr("has 9 axes; at most 8"));
  EXPECT_THAT(refusal_in_workload("elementwise(shape=4294967296x4294967296)"), HasSubstr("more than 2^48 elements"));
  EXPECT_THAT(refusal_in_workload("reduce(op=median)"),
              HasSubstr("op=median is unknown; allowed: sum, mean, max, min"));
  EXPECT_THAT(refusal_in_workload("reduce(shape=2x3,axes=2)"),
              HasSubstr("axes: '2' is not a whole number from -2 to 1"));
  EXPECT_THAT(refusal_in_workload("reduce(shape=2x3,axes=1:-1)"), HasSubstr("axes=1:-1 names an axis twice"));
  EXPECT_THAT(refusal_in_workload("lstm(cell_clip=-1)"), HasSubstr("lstm: cell_clip=-1 is no number from 0 on"));
  EXPECT_THAT(refusal_in_workload("lstm(cell_clip=1x)"), HasSubstr("lstm: cell_clip=1x is no number from 0 on"));
  EXPECT_THAT(refusal_in_workload("reduce(keepdims=yes)"), HasSubstr("keepdims=yes is neither 0 nor 1"));
  EXPECT_THAT(refusal_in_workload("batch_matmul(b=2,m=16777216,n=16777216)"), HasSubstr("more than 2^48 elements"));
}

TEST(Workload, CountsTheDirectAlgorithmsOperations) {
  EXPECT_DOUBLE_EQ(flops(parse_workload("conv2d()")), 2.0 * 64 * 56 * 56 * 64 * 9);
  EXPECT_DOUBLE_EQ(flops(parse_workload("depthwise_conv2d(c=8,h=4,w=4)")), 2.0 * 8 * 16 * 9);
  EXPECT_DOUBLE_EQ(flops(parse_workload("batch_matmul(b=2,m=3,n=4,k=5)")), 2.0 * 2 * 3 * 4 * 5);
  EXPECT_DOUBLE_EQ(flops(parse_workload("max_pool2d(c=8,h=4,w=4,kh=3,kw=3,stride=2,pad=1)")), 8.0 * 4 * 9);
  EXPECT_DOUBLE_EQ(flops(parse_workload("elementwise(op=mul+gelu,shape=10x10)")), 100.0 * 6);
  EXPECT_DOUBLE_EQ(flops(parse_workload("reduce(op=max,shape=10x20,axes=1)")), 200.0);
}

TEST(Workload, CountsTheBytesOfItsTensors) {
  EXPECT_DOUBLE_EQ(tensor_bytes(parse_workload("dense(m=2,n=3,k=5,epilogue=bias)")), 4.0 * (10 + 15 + 3 + 6));
  EXPECT_DOUBLE_EQ(tensor_bytes(parse_workload("elementwise(op=mul+add,shape=4x5,operands=1x5:same)")),
                   4.0 * (20 + 5 + 20 + 20));
  EXPECT_DOUBLE_EQ(tensor_bytes(parse_workload("reduce(shape=4x5,axes=1,dtype=f64)")), 8.0 * (20 + 4));
  EXPECT_DOUBLE_EQ(tensor_bytes(parse_workload("max_pool2d(c=8,h=4,w=4,kh=2,kw=2,pad=0)")), 4.0 * (128 + 32));
}

TEST(Reference, SamplesIncludeEveryCornerAndTheTails) {
  const Workload w = parse_workload("dense(m=1021,n=2039,k=997)");
  const auto samples = reference_samples(define(w), 0, 1, 1e6);
  EXPECT_GE(samples.size(), 16384u);
  const std::set<int64_t> all(samples.begin(), samples.end());
  EXPECT_EQ(all.size(), samples.size());
  for (int64_t m : {0, 1020})
    for (int64_t n : {0, 2038}) EXPECT_TRUE(all.count(m * 2039 + n));
  for (int64_t tail = 0; tail < 16; ++tail) {
    EXPECT_TRUE(std::any_of(samples.begin(), samples.end(), [&](int64_t s) { return s / 2039 == 1020 - tail; }));
    EXPECT_TRUE(std::any_of(samples.begin(), samples.end(), [&](int64_t s) { return s % 2039 == 2038 - tail; }));
  }
  EXPECT_TRUE(reference_samples(define(parse_workload("dense(m=8,n=8,k=8)")), 0, 1).empty());
}

}  // namespace
}  // namespace hone
