// Products of f16: summed in f16 (ops/runs.h), by every CPU template that does so, and in f32.
#pragma once

namespace hone {

/// One run and several, such as end early, are a part of a block of channels or several blocks.
inline constexpr const char* kF16SumWorkloads[] = {
    "dense(m=9,n=33,k=40,dtype=f16:f16:f16:f16,epilogue=bias+relu)",
    "dense(m=13,n=64,k=768,dtype=f16:f16:f16:f16)",
    "dense(m=5,n=40,k=197,dtype=f16:f16:f16:f32)",
    "dense(m=1,n=96,k=1024,dtype=f16:f16:f16:f32,epilogue=bias)",
    "dense(m=7,n=1,k=300,dtype=f16:f16:f16:f16,prologue=mul[0.5])",
    "batch_matmul(b=2,m=9,n=37,k=300,dtype=f16:f16:f16:f16,epilogue=mul[0.5])",
    "conv2d(ci=64,h=9,w=7,co=40,dtype=f16:f16:f16:f16,layout=NCHW8c,epilogue=bias+add+relu)",
    "conv2d(ci=256,h=6,w=7,co=48,kh=1,kw=1,pad=0,dtype=f16:f16:f16:f16,layout=NCHW16c)",
    "conv2d(ci=32,h=9,w=9,co=24,kh=5,kw=5,pad=2,dtype=f16:f16:f16:f32,layout=NCHW16c:8c)",
    "conv2d(ci=3,h=17,w=19,co=20,kh=7,kw=7,stride=2,pad=3,dtype=f16:f16:f16:f16)",
    "conv2d(ci=48,h=7,w=8,co=32,groups=2,dtype=f16:f16:f16:f16)",
    "conv2d(ci=40,h=8,w=20,co=12,layout=NCHW,dtype=f16:f16:f16:f16,epilogue=bias)",
    "conv2d(n=2,ci=32,h=6,w=6,co=16,layout=NHWC,dtype=f16:f16:f16:f16)",
    "depthwise_conv2d(c=32,h=14,w=14,dtype=f16:f16:f16:f16,epilogue=bias+relu)",
    "depthwise_conv2d(c=19,h=15,w=9,kh=5,kw=5,pad=2,stride=2,layout=NCHW,dtype=f16:f16:f16:f32)",
};

/// Sums in f32 of whole tiles and of tails.
inline constexpr const char* kF16ProductWorkloads[] = {
    "dense(m=9,n=33,k=40,dtype=f16,epilogue=bias+relu)",
    "dense(m=16,n=64,k=96,dtype=f16:f16:f32:f32)",
    "batch_matmul(b=2,m=9,n=37,k=30,dtype=f16)",
    "conv2d(ci=16,h=9,w=7,co=40,dtype=f16,layout=NCHW8c,epilogue=bias)",
    "conv2d(ci=5,h=9,w=37,co=3,kh=5,pad=2x1,layout=NCHW,dtype=f16)",
    "depthwise_conv2d(c=19,h=15,w=9,stride=2,dtype=f16)",
};

}  // namespace hone
