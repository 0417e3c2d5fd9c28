// Every task on ordinary and odd shapes: random configs, compiled and run, against the reference.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <set>

#include "compiler/codegen/llvm/machine/host_target.h"
#include "compiler/ops/elementwise.h"
#include "compiler/ops/functions/functions.h"
#include "tests/fakes/cpu_workloads.h"
#include "tests/fakes/reference_check.h"
#include "tests/fakes/workloads.h"

namespace hone {
namespace {

class Templates : public testing::TestWithParam<std::string> {};

TEST_P(Templates, ComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam()), 12, 7);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Templates,
    testing::Values(
        "dense(m=1,n=37,k=19)", "dense(m=1,n=10,k=640,epilogue=bias+relu)", "batch_matmul(b=2,m=3,n=21,k=384)",
        "dense(m=5,n=70,k=512)", "dense(m=33,n=70,k=64)", "dense(m=16,n=64,k=48,epilogue=bias+relu)",
        "dense(m=7,n=5,k=3,epilogue=add+bias)", "dense(m=20,n=48,k=32,dtype=f64)",
        "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32)", "batch_matmul(b=3,m=17,n=29,k=8)",
        "dense(m=9,n=33,k=16,dtype=f16,epilogue=bias+relu)", "dense(m=9,n=33,k=16,dtype=bf16)",
        "dense(m=9,n=33,k=16,dtype=tf32)", "conv2d(ci=8,h=7,w=7,co=16,dtype=f16:f16:f32:f32)",
        "batch_matmul(b=2,m=32,n=64,k=16)", "batch_matmul(b=1,m=1,n=1,k=1)", "conv2d(ci=16,h=14,w=14,co=32)",
        "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)", "conv2d(ci=8,h=9,w=11,co=13,pad=0)",
        "conv2d(ci=16,h=7,w=7,co=24,kh=1,kw=1,pad=0)", "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
        "conv2d(ci=12,h=10,w=13,co=18,groups=3,dilation=2,pad=2)", "conv2d(ci=5,h=8,w=8,co=7,pad=0:1:2:3,stride=1x2)",
        "conv2d(ci=16,h=8,w=8,co=16,epilogue=bias+add+relu)", "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NCHW)",
        "conv2d(n=2,ci=8,h=6,w=6,co=16,layout=NHWC)", "conv2d(ci=16,h=8,w=8,co=32,layout=NCHW8c:16c)",
        "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32)", "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)",
        "depthwise_conv2d(c=32,h=14,w=14)", "depthwise_conv2d(c=19,h=15,w=9,stride=2)",
        "depthwise_conv2d(c=16,h=8,w=8,kh=5,kw=5,pad=2,epilogue=bias+relu)",
        "depthwise_conv2d(c=7,h=12,w=12,pad=0:1:0:2,dilation=2)", "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC)",
        "max_pool2d(c=32,h=14,w=14)", "max_pool2d(c=19,h=15,w=9,kh=2,stride=1x2,pad=0:1:1:0)",
        "max_pool2d(c=12,h=9,w=11,dilation=2)", "max_pool2d(n=2,c=5,h=13,w=37,layout=NCHW)",
        "max_pool2d(c=24,h=6,w=6,layout=NHWC)", "max_pool2d(c=16,h=7,w=7,layout=NCHW8c)",
        "max_pool2d(c=16,h=9,w=9,dtype=f64)", "avg_pool2d(c=19,h=15,w=9,kh=3,kw=3,pad=1)",
        "avg_pool2d(c=32,h=8,w=8,kh=3,kw=3,stride=1,pad=1,count_include_pad=1)",
        "avg_pool2d(n=2,c=5,h=13,w=21,kh=3,pad=1x0,layout=NCHW)", "avg_pool2d(c=64,h=7,w=7,kh=7,kw=7,stride=1)",
        "avg_pool2d(c=8,h=5,w=5,kh=2,kw=2,dilation=3,pad=2,stride=1)", "elementwise(shape=2x8x7x7)",
        "elementwise(op=mul+add+gelu,shape=2x19x7x5,operands=1x19x1x1:same)",
        "elementwise(op=exp+sub,shape=100x37,operands=1x37)", "elementwise(op=div,shape=9x1x70,operands=9x1x1)",
        "elementwise(op=gelu+gelu+gelu+gelu+silu+gelu,shape=6x50)", "elementwise(op=tanh,shape=1)",
        "elementwise(op=log+exp,shape=33x3,dtype=f64)", "reduce(shape=2x9x14x14)",
        "reduce(op=mean,shape=28x768,axes=1)", "reduce(op=max,shape=37x70,axes=0)",
        "reduce(op=min,shape=7x33x5,axes=1,keepdims=1)", "reduce(op=sum,shape=6x32x100,axes=0:2)",
        "reduce(op=sum,shape=100003,axes=all)", "reduce(op=mean,shape=64x1000,axes=all)",
        "reduce(op=max,shape=3x4,axes=-1)", "reduce(op=sum,shape=4099x3,axes=0)", "reduce(op=sum,shape=1x1,axes=all)",
        "reduce(op=mean,shape=20x70,axes=1,dtype=f64)"));

// Few columns: vectors run along k.
INSTANTIATE_TEST_SUITE_P(FewColumns, Templates,
                         testing::Values("dense(m=37,n=2,k=70,epilogue=bias+relu)", "dense(m=1,n=1,k=33)",
                                         "dense(m=5,n=4,k=130,epilogue=add)", "dense(m=200,n=3,k=64,prologue=mul[0.5])",
                                         "batch_matmul(b=3,m=9,n=3,k=149)",
                                         "batch_matmul(b=2,m=5,n=1,k=64,epilogue=add)",
                                         "batch_matmul(b=7,m=33,n=4,k=40)",
                                         "batch_matmul(b=1,m=20,n=2,k=100,dtype=f64)",
                                         "dense(m=9,n=1,k=77,dtype=f16)"));

// Sums of products of bytes, four at a time where they lie together.
INSTANTIATE_TEST_SUITE_P(
    Bytes, Templates,
    testing::Values("dense(m=13,n=70,k=60,dtype=u8:s8:s32:s32)", "dense(m=1,n=96,k=128,dtype=u8:s8:s32:s32)",
                    "dense(m=20,n=40,k=33,dtype=u8:s8:s32:s32,epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
                    "batch_matmul(b=2,m=9,n=32,k=20,dtype=u8:s8:s32:s32)",
                    "conv2d(ci=16,h=9,w=7,co=40,dtype=u8:s8:s32:s32,layout=NCHW8c,epilogue=bias)",
                    "conv2d(ci=32,h=8,w=9,co=48,kh=1,kw=1,pad=0,dtype=u8:s8:s32:s32,layout=NCHW8c:16c)",
                    "conv2d(ci=64,h=11,w=9,co=32,kh=5,kw=3,stride=2,pad=2x1,dtype=u8:s8:s32:s32,layout=NCHW16c)",
                    "conv2d(n=2,ci=24,h=7,w=7,co=48,groups=2,dtype=u8:s8:s32:s32,layout=NCHW4c:8c)",
                    "conv2d(ci=6,h=7,w=7,co=12,dtype=u8:s8:s32:s32)",
                    "dense(m=1,n=96,k=128,dtype=f32:s8:f32:f32,epilogue=mul[c]+bias)",
                    "dense(m=3,n=5,k=64,dtype=f32:s8:f32:f32)", "dense(m=4,n=2,k=70,dtype=f32:s8:f32:f32)",
                    "elementwise(op=mul[300]+round+add[101]+saturate:u8,shape=7x33)",
                    "elementwise(op=mul[8]+mul[0.5]+round+add[-3]+saturate:s8,shape=70)",
                    "elementwise(op=mul[300]+round+saturate:u8,shape=7x33)",
                    "elementwise(op=mul[300]+saturate:s8,shape=70)",
                    "elementwise(op=mul[99999]+round+saturate:s16,shape=70)",
                    "elementwise(op=mul[99999]+add[0.5]+round+saturate:u16,shape=70)",
                    "elementwise(op=mul[9]+log+mul[99]+round+saturate:u8,shape=70)",
                    "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32,border=131)",
                    "depthwise_conv2d(c=32,h=9,w=9,dtype=u8:s8:s32:s32,layout=NCHW16c,border=9)",
                    "depthwise_conv2d(c=20,h=11,w=8,kh=5,kw=5,pad=2,stride=2,dtype=u8:s8:s32:s32,epilogue=bias)",
                    "depthwise_conv2d(c=8,h=6,w=9,kh=2,kw=7,pad=0x3,dtype=u8:s8:s32:s32,layout=NCHW8c)",
                    "depthwise_conv2d(c=16,h=7,w=7,dilation=2,pad=2,dtype=u8:s8:s32:s32)",
                    "depthwise_conv2d(c=24,h=6,w=6,layout=NHWC,dtype=u8:s8:s32:s32)",
                    "depthwise_conv2d(c=5,h=6,w=20,layout=NCHW,dtype=u8:s8:s32:s32)",
                    "conv2d(ci=16,h=6,w=6,co=16,dtype=u8:s8:s32:s32,layout=NHWC)"));

// Sums of products of bf16, two at a time where they lie together.
INSTANTIATE_TEST_SUITE_P(
    Pairs, Templates,
    testing::Values("dense(m=13,n=70,k=60,dtype=bf16)", "dense(m=1,n=96,k=128,dtype=bf16:bf16:f32:f32)",
                    "dense(m=5,n=40,k=33,dtype=bf16,epilogue=bias+silu)", "batch_matmul(b=2,m=9,n=32,k=20,dtype=bf16)",
                    "conv2d(ci=16,h=9,w=7,co=40,dtype=bf16,layout=NCHW8c,epilogue=bias+relu)",
                    "conv2d(ci=32,h=8,w=9,co=48,kh=1,kw=1,pad=0,dtype=bf16,layout=NCHW8c:16c)",
                    "conv2d(ci=6,h=7,w=7,co=12,dtype=bf16,stride=2)",
                    "conv2d(ci=24,h=7,w=7,co=48,groups=2,dtype=bf16:bf16:f32:f32,layout=NCHW4c:8c)",
                    "conv2d(ci=8,h=7,w=7,co=16,dtype=bf16,prologue=relu)"));

// Numbers of 16 bits that are multiplied in f32.
INSTANTIATE_TEST_SUITE_P(
    Widened, Templates,
    testing::Values("dense(m=33,n=140,k=40,dtype=f16:f32:f32:f16,epilogue=bias+relu)",
                    "dense(m=20,n=48,k=33,dtype=bf16:f32:f32:f32)",
                    "dense(m=17,n=40,k=24,dtype=f16:f32:f32:f16,prologue=mul[0.5])",
                    "conv2d(ci=16,h=9,w=7,co=40,dtype=f16:f32:f32:f16,layout=NCHW8c,epilogue=bias+relu)",
                    "conv2d(ci=32,h=12,w=13,co=48,dtype=bf16:f32:f32:bf16,layout=NCHW16c,epilogue=bias+add)",
                    "conv2d(ci=32,h=8,w=9,co=144,kh=1,kw=1,pad=0,dtype=f16:f32:f32:f16,layout=NCHW8c:16c)",
                    "conv2d(ci=6,h=17,w=20,co=12,dtype=f16:f32:f32:f32,stride=2,layout=NCHW)"));

// Pictures as cameras give them, centred and scaled by the convolution that reads them.
INSTANTIATE_TEST_SUITE_P(
    Pictures, Templates,
    testing::Values("conv2d(ci=3,h=33,w=37,co=20,kh=7,kw=7,stride=2,pad=3,dtype=u8:f32:f32:f32,layout=NCHW3c:16c,"
                    "epilogue=bias+relu,prologue=mul[1]+bias)",
                    "conv2d(n=2,ci=3,h=9,w=70,co=16,stride=2,dtype=u8:f32:f32:f32,layout=NCHW3c:8c,prologue=add[c])",
                    "conv2d(ci=3,h=16,w=16,co=24,kh=4,kw=4,stride=4,pad=0,dtype=u8:f32:f32:f32,layout=NCHW3c:8c)",
                    "conv2d(ci=4,h=9,w=9,co=16,dtype=s16:f32:f32:f32,layout=NCHW1c:16c,prologue=mul[0.5])",
                    "conv2d(ci=1,h=1,w=90,co=16,kh=1,kw=9,pad=0x4,dtype=s16:f32:f32:f32,layout=NCHW1c:16c)",
                    "conv2d(ci=3,h=9,w=37,co=5,dtype=u8:f32:f32:f32,layout=NCHW,prologue=mul[0.1]+add[-1])",
                    "conv2d(ci=3,h=9,w=11,co=16,layout=NCHW3c:16c,epilogue=bias)",
                    "conv2d(ci=6,h=7,w=7,co=12,groups=2,dtype=s8:f32:f32:f32,prologue=relu)",
                    "depthwise_conv2d(c=5,h=6,w=20,layout=NCHW,dtype=u8:f32:f32:f32,prologue=mul[0.5])",
                    "dense(m=5,n=40,k=33,dtype=u8:f32:f32:f32,prologue=mul[0.5]+add[-1])",
                    "batch_matmul(b=2,m=9,n=32,k=20,dtype=u16:f32:f32:f32)"));

// Kernels that also return their least and greatest element, found while they store it or afterwards (sums in parts),
// with padding, tails and single elements.
INSTANTIATE_TEST_SUITE_P(
    Extremes, Templates,
    testing::Values("dense(m=19,n=70,k=24,epilogue=bias+gelu,extremes=1)", "dense(m=64,n=96,k=256,extremes=1)",
                    "dense(m=1,n=1,k=33,extremes=1)", "dense(m=33,n=3,k=70,extremes=1)",
                    "dense(m=9,n=33,k=16,dtype=u8:s8:s32:s32,extremes=1)", "dense(m=20,n=48,k=32,dtype=f64,extremes=1)",
                    "dense(m=9,n=33,k=16,dtype=f16,extremes=1)",
                    "batch_matmul(b=3,m=17,n=29,k=8,epilogue=add,extremes=1)",
                    "conv2d(ci=16,h=9,w=7,co=40,layout=NCHW8c,epilogue=bias+relu,extremes=1)",
                    "conv2d(ci=16,h=14,w=14,co=32,extremes=1)", "conv2d(ci=5,h=8,w=8,co=7,layout=NCHW,extremes=1)",
                    "conv2d(ci=32,h=8,w=9,co=40,kh=1,kw=1,pad=0,layout=NCHW16c,epilogue=bias+silu,extremes=1)",
                    "depthwise_conv2d(c=19,h=15,w=9,stride=2,extremes=1)",
                    "elementwise(op=exp+sub,shape=100x37,operands=1x37,extremes=1)",
                    "elementwise(op=tanh,shape=1,extremes=1)", "elementwise(op=neg,shape=70,dtype=s64,extremes=1)",
                    "max_pool2d(c=19,h=15,w=9,extremes=1)", "layer_norm(shape=128x384,extremes=1)",
                    "rms_norm(shape=5x33,extremes=1)", "attention(b=2,m=17,n=37,k=8,v=12,extremes=1)"));

// Weights of few bits in blocks.
INSTANTIATE_TEST_SUITE_P(WeightsInBlocks, Templates,
                         testing::Values("dense_nbits(m=1,n=130,k=256)", "dense_nbits(m=1,n=64,k=64,block=64,zero=0)",
                                         "dense_nbits(m=2,n=40,k=96,zero=each,epilogue=bias+gelu)",
                                         "dense_nbits(m=1,n=7,k=8,block=8,zero=15)",
                                         "dense_nbits(m=33,n=37,k=128,bits=8,block=128,zero=128,epilogue=add)",
                                         "dense_nbits(m=17,n=20,k=64,bits=8,block=4,zero=each)",
                                         "dense_nbits(m=6,n=48,k=80,block=16,dtype=f16,epilogue=mul[c])",
                                         "dense_nbits(m=3,n=48,k=64,dtype=bf16,prologue=mul[0.5])"));

// Tiles of several of the layout's blocks, whole and with a last one that is short.
INSTANTIATE_TEST_SUITE_P(
    Blocks, Templates,
    testing::Values("conv2d(ci=16,h=9,w=7,co=40,layout=NCHW8c,epilogue=bias+add+relu)",
                    "conv2d(ci=16,h=8,w=9,co=48,kh=1,kw=1,pad=0,layout=NCHW8c:16c,epilogue=bias+silu)",
                    "conv2d(ci=16,h=6,w=9,co=80,layout=NCHW16c,epilogue=add)",
                    "conv2d(ci=24,h=7,w=7,co=48,groups=2,layout=NCHW4c:8c)",
                    "conv2d(ci=8,h=7,w=7,co=12,layout=NCHW4c)"));

// Images of one row, whose columns threads divide.
INSTANTIATE_TEST_SUITE_P(
    Sequences, Templates,
    testing::Values("conv2d(ci=8,h=1,w=71,co=16,kh=1,kw=3,pad=0x1,layout=NCHW8c,epilogue=bias+add)",
                    "conv2d(ci=8,h=1,w=150,co=24,kh=1,kw=8,stride=1x4,pad=0x2,layout=NCHW8c)",
                    "conv2d(n=2,ci=5,h=1,w=33,co=7,kh=1,kw=2,pad=0:1:0:0)",
                    "conv2d(ci=5,h=1,w=133,co=2,kh=1,kw=4,stride=1x2,pad=0:1:0:0,layout=NCHW,epilogue=bias)"));

INSTANTIATE_TEST_SUITE_P(
    Attention, Templates,
    testing::Values("attention(b=2,m=17,n=37,k=8,v=12)",
                    "attention(b=3,m=1,n=129,k=16,v=16,scores=mul[0.25]+add[1x1x129])",
                    "attention(b=1,m=9,n=3,k=5,v=7,scores=add,epilogue=bias+relu)",
                    "attention(b=2,m=13,n=70,k=3,v=40,scores=x=s+sigmoid+mul[s]+add[r],epilogue=add)",
                    "attention(b=1,m=5,n=100,k=24,v=1,dtype=f64)", "attention(b=2,m=7,n=33,k=8,v=20,dtype=f16)",
                    "attention(b=1,m=1,n=1,k=1,v=1)", "attention(b=5,m=33,n=16,k=16,v=16,scores=mul[c])"));

INSTANTIATE_TEST_SUITE_P(
    CachedAttention, Templates,
    testing::Values("cached_attention(b=2,m=1,n=130,k=64,v=64)", "cached_attention(b=3,m=4,n=37,k=8,v=12)",
                    "cached_attention(b=1,m=3,n=100,k=20,v=7,scores=mul[0.25]+add[1x1x100],epilogue=add)",
                    "cached_attention(b=2,m=5,n=70,k=3,v=40,scores=x=s+sigmoid+mul[s]+add[r],epilogue=add)",
                    "cached_attention(b=1,m=2,n=64,k=24,v=1,dtype=f64)", "cached_attention(b=1,m=1,n=1,k=1,v=1)",
                    "cached_attention(b=2,m=7,n=33,k=8,v=20,dtype=f16)"));

INSTANTIATE_TEST_SUITE_P(
    Recurrent, Templates,
    testing::Values("lstm(hidden=37)", "lstm(batch=13,hidden=70,peepholes=1)", "lstm(batch=3,hidden=16,masked=1)",
                    "lstm(batch=5,hidden=64,f=hard_sigmoid[0.2;0.5],g=clip[-1;1]+tanh,peepholes=1,masked=1)",
                    "lstm(batch=2,hidden=9,dtype=f64)", "lstm(batch=3,hidden=20,dtype=f16)", "lstm(hidden=1)",
                    "gru(hidden=48)", "gru(batch=9,hidden=100,masked=1)",
                    "gru(batch=7,hidden=33,reset_after=0,masked=1)", "gru(batch=2,hidden=1,reset_after=0)",
                    "gru(batch=4,hidden=16,dtype=bf16)", "rnn(batch=3,hidden=70)",
                    "rnn(batch=2,hidden=16,f=relu,masked=1)", "rnn(hidden=130,dtype=f64)"));

INSTANTIATE_TEST_SUITE_P(
    Types, Templates, testing::ValuesIn([] {
      std::vector<std::string> all;
      for (const char* t : {"f16", "bf16", "f64", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"}) {
        const bool is_float = std::string_view(t).find('f') != std::string_view::npos;
        const char* operators[] = {"elementwise(op=mul+add+relu,shape=37x19,operands=1x19:same",
                                   "reduce(shape=33x70,axes=1",
                                   "reduce(op=mean,shape=70x33,axes=0",
                                   "reduce(op=max,shape=9x33,axes=1",
                                   "reduce(op=sum_square,shape=9x33,axes=1",
                                   "reduce(op=l1,shape=70x9,axes=0",
                                   "reduce(op=min,shape=3x5x7,axes=all",
                                   "max_pool2d(c=19,h=9,w=11"};
        for (const char* op : operators) all.push_back(fmt::format("{},dtype={})", op, t));
        if (!is_float) continue;
        for (const char* op :
             {"reduce(op=l2,shape=9x133,axes=1", "reduce(op=l2,shape=70x9,axes=0,epilogue=add[1]+rsqrt",
              "elementwise(op=exp+silu+x=s+tanh+mul[s],shape=37x19", "avg_pool2d(c=19,h=9,w=11,kh=3,kw=3,pad=1"})
          all.push_back(fmt::format("{},dtype={})", op, t));
      }
      for (const char* text :
           {"dense(m=9,n=33,k=40,epilogue=bias+relu,dtype=f64)", "conv2d(ci=12,h=9,w=9,co=20,dtype=f64)",
            "conv2d(ci=16,h=9,w=9,co=20,dtype=f16,epilogue=bias+silu)", "depthwise_conv2d(c=19,h=9,w=9,dtype=f64)"})
        all.emplace_back(text);
      return all;
    }()));

// Operators that move elements, of every type.
INSTANTIATE_TEST_SUITE_P(
    Movement, Templates, testing::ValuesIn([] {
      const std::set<std::string> operators{
          "transpose",      "reshape",        "broadcast", "concat",          "slice",     "pad",   "gather",
          "depth_to_space", "space_to_depth", "resize",    "gather_elements", "gather_nd", "lookup"};
      std::vector<std::string> all;
      for (const std::string text : kCpuWorkloads)
        if (operators.contains(text.substr(0, text.find('(')))) all.push_back(text);
      for (const char* t : {"f16", "bf16", "f64", "s8", "s32", "s64", "u8", "u16", "u32", "u64", "bool"}) {
        for (const char* op : {"transpose(shape=9x35", "concat(shapes=3x7:3x12,axis=1",
                               "pad(shape=5x19,before=1,after=2,value=1", "gather(shape=9x37,indices=5,index=s32"})
          all.push_back(fmt::format("{},dtype={})", op, t));
        if (std::string_view(t) != "bool")
          all.push_back(fmt::format("resize(shape=7x9,size=9x13,mode=linear,dtype={})", t));
      }
      return all;
    }()));

// Tiles that both axes end in the middle of, axes shorter than a tile, blocks of channels to planes and back.
INSTANTIATE_TEST_SUITE_P(
    Transposes, Templates,
    testing::Values("transpose(shape=50x35)", "transpose(shape=64x16)", "transpose(shape=3x70)",
                    "transpose(shape=70x3,dtype=s32)", "transpose(shape=70x2)", "transpose(shape=2x1x9,perm=2:0:1)",
                    "transpose(shape=3x17x5x34,perm=0:2:3:1)", "transpose(shape=3x34x5x17,perm=3:1:2:0)",
                    "transpose(shape=2x3x7x7x16,perm=0:1:4:2:3)", "transpose(shape=2x3x16x7x7,perm=0:1:3:4:2)",
                    "transpose(shape=1x2x9x8x8,perm=0:1:4:2:3)", "transpose(shape=1x2x8x5x9,perm=0:1:3:4:2)"));

TEST(Reductions, OfLogarithmsTakePositiveNumbers) {
  const Workload w = parse_workload("reduce(op=log_sum,shape=2x300,axes=1,dtype=f64)");
  const Target target = host_target(1);
  const Space space = make_space(w, target);
  LocalKernel kernel(lower_config(w, target, space, space.default_config()), target);
  std::vector<double> x(600);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<double>(i) / 100;
  kernel.set_input(0, x.data());
  ASSERT_EQ(kernel.run(), HONE_OK);
  EXPECT_NEAR(element(kernel.get_output(1), f64, 1), std::log(300 + 300 * 449.5 / 100), 1e-12);
  EXPECT_THROW(parse_workload("reduce(op=l2,shape=2x3,axes=1,dtype=s32)"), UserError);
}

// Every function of the table, so that a new one is tested by being there.
TEST(Functions, AreWhatTheReferenceSays) {
  const FunctionTable functions = standard_functions();
  for (const auto& f : functions.rows()) {
    std::string text = f->name;
    if (f->arguments.size() > f->operands()) text += f->arguments.size() == 1 ? "[0.5]" : "[-0.5;0.25]";
    if (f->needs_result) text += ":s8";
    SCOPED_TRACE(text);
    const char* type = f->takes_floats ? "f32" : f->takes_integers ? "s32" : "bool";
    expect_configs_match_reference(parse_workload(fmt::format("elementwise(op={},shape=3x67,dtype={})", text, type)), 2,
                                   5);
  }
}

// Planes: odd widths, one row, few and many output channels, strides of whole and of shuffled vectors, dilation,
// borders.
class PlanarConvolutions : public testing::TestWithParam<const char*> {};

TEST_P(PlanarConvolutions, ComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam()), 6, 3, "algorithm=3,");
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PlanarConvolutions,
    testing::Values("conv2d(ci=5,h=9,w=37,co=3,kh=5,pad=2x1,stride=1x2,layout=NCHW)",
                    "conv2d(n=2,ci=3,h=1,w=70,co=1,kh=1,kw=9,stride=1x3,pad=0x4,layout=NCHW)",
                    "conv2d(ci=4,h=12,w=40,co=13,dilation=2,pad=2,layout=NCHW,epilogue=bias+add+relu)",
                    "conv2d(n=2,ci=7,h=6,w=19,co=9,stride=2x4,layout=NCHW,prologue=mul[c]+relu)",
                    "conv2d(ci=2,h=5,w=33,co=2,stride=5,pad=0:3:2:1,layout=NCHW)",
                    "conv2d(ci=8,h=3,w=16,co=8,dtype=u8:s8:s32:s32,layout=NCHW)",
                    "conv2d(ci=3,h=9,w=21,co=4,dtype=f16,layout=NCHW,epilogue=bias)"));

// Convolutions as matrix products: pixels in place and gathered, over several images, of odd widths, strided and
// dilated.
class GemmConvolutions : public testing::TestWithParam<const char*> {};

TEST_P(GemmConvolutions, ComputeWhatTheReferenceComputes) {
  expect_configs_match_reference(parse_workload(GetParam()), 6, 3, "algorithm=1,");
}

INSTANTIATE_TEST_SUITE_P(Shapes, GemmConvolutions,
                         testing::Values("conv2d(ci=16,h=7,w=7,co=24,kh=1,kw=1,pad=0)",
                                         "conv2d(n=3,ci=20,h=5,w=7,co=33,kh=1,kw=1,pad=0,epilogue=bias+add+relu)",
                                         "conv2d(ci=16,h=14,w=14,co=32,kh=1,kw=1,stride=2,pad=0)",
                                         "conv2d(n=2,ci=8,h=9,w=11,co=13,pad=0:1:2:0)",
                                         "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3)",
                                         "conv2d(ci=12,h=10,w=13,co=18,dilation=2,pad=2,layout=NHWC)",
                                         "conv2d(ci=8,h=6,w=6,co=16,layout=NCHW)",
                                         "conv2d(ci=8,h=7,w=7,co=16,dtype=u8:s8:s32:s32)",
                                         "conv2d(ci=1,h=1,w=1,co=1,kh=1,kw=1,pad=0)"));

}  // namespace
}  // namespace hone
