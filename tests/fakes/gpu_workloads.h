// Small workloads of every GPU template, with odd shapes, tails and single elements.
#pragma once

#include "compiler/ops/workload.h"
#include "compiler/target/target.h"

namespace hone {

inline constexpr const char* kGpuWorkloads[] = {
    "dense(m=20,n=24,k=16)",
    "dense(m=1,n=33,k=20)",
    "dense(m=13,n=9,k=7,epilogue=bias+relu)",
    "batch_matmul(b=2,m=10,n=12,k=8)",
    "batch_matmul(b=3,m=5,n=7,k=9,epilogue=add)",
    "dense(m=9,n=12,k=8,dtype=u8:s8:s32:s32)",
    "dense(m=7,n=10,k=256,epilogue=bias+relu)",
    "dense(m=20,n=24,k=16,dtype=f16)",
    "dense(m=9,n=7,k=10,dtype=bf16,epilogue=bias+relu)",
    "batch_matmul(b=2,m=10,n=16,k=8,dtype=f16:f16:f32:f32,epilogue=add)",
    "conv2d(n=1,ci=8,h=6,w=6,co=8,kh=3,kw=3,stride=1,pad=1,layout=NHWC,dtype=f16,epilogue=bias+add+relu)",
    "conv2d(n=1,ci=8,h=5,w=6,co=16,kh=3,kw=3,stride=1,pad=1,layout=NHWC,dtype=s8:s8:s32:s32)",
    "dense(m=20,n=24,k=64,dtype=f16,epilogue=bias+relu)",
    "dense(m=33,n=17,k=96,dtype=s8:s8:s32:s32)",
    "batch_matmul(b=2,m=17,n=24,k=64,dtype=f16)",
    "conv2d(n=1,ci=4,h=5,w=5,co=6,kh=3,kw=3,stride=1,pad=1,dtype=f64)",
    "conv2d(n=1,ci=8,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,layout=NCHW)",
    "conv2d(n=2,ci=4,h=6,w=6,co=8,kh=3,kw=3,stride=2,pad=1,layout=NHWC,epilogue=bias+relu)",
    "conv2d(n=2,ci=5,h=5,w=7,co=7,kh=1,kw=1,stride=1,pad=0,epilogue=add)",
    "conv2d(n=1,ci=3,h=11,w=10,co=6,kh=5,kw=3,stride=2x1,pad=2:1:2:0,dilation=1x2)",
    "conv2d(n=1,ci=8,h=5,w=5,co=16,kh=3,kw=3,stride=1,pad=1,layout=NCHW4c,epilogue=add+relu)",
    "conv2d(n=2,ci=6,h=5,w=5,co=4,kh=3,kw=3,stride=1,pad=1,groups=2,epilogue=bias)",
    "conv2d(n=2,ci=3,h=5,w=6,co=5,kh=3,kw=3,stride=1,pad=1,layout=NCHW)",
    "conv2d(n=3,ci=4,h=4,w=5,co=4,kh=3,kw=3,stride=1,pad=1,layout=NHWC)",
    "conv2d(n=1,ci=1,h=1,w=1,co=1,kh=1,kw=1,stride=1,pad=0)",
    "conv2d(n=1,ci=16,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,epilogue=bias+relu)",
    "conv2d(n=2,ci=17,h=6,w=5,co=8,kh=3,kw=3,stride=1,pad=0,layout=NHWC,epilogue=add)",
    "depthwise_conv2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=1,pad=1,epilogue=bias+relu)",
    "depthwise_conv2d(n=2,c=12,h=7,w=7,kh=5,kw=3,stride=2,pad=2x1,dilation=1x2,layout=NHWC)",
    "max_pool2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=2,pad=1)",
    "max_pool2d(n=2,c=8,h=7,w=7,kh=2,kw=3,stride=1,pad=0,dilation=2,layout=NCHW8c)",
    "avg_pool2d(n=1,c=7,h=6,w=8,kh=3,kw=2,stride=1x2,pad=1x0,layout=NHWC)",
    "avg_pool2d(n=2,c=3,h=5,w=5,kh=3,kw=3,stride=2,pad=1,count_include_pad=1)",
    "avg_pool2d(n=1,c=70,h=3,w=2,kh=3,kw=2,stride=1,pad=0)",
    "elementwise(op=add,shape=3x67)",
    "elementwise(op=relu,shape=1)",
    "elementwise(op=mul+add+tanh,shape=5x32x9)",
    "reduce(op=sum,shape=5x67,axes=1)",
    "reduce(op=mean,shape=2x300x5,axes=1)",
    "reduce(op=max,shape=3x4x5x6,axes=0:2:3,keepdims=1)",
    "reduce(op=min,shape=1037,axes=0)",
    "reduce(op=max,shape=6x517,axes=1)",
    "reduce(op=sum,shape=1,axes=0)",
    "dense(m=13,n=9,k=7,epilogue=bias+x=s+sigmoid+mul[s])",
    "dense(m=9,n=12,k=8,dtype=u8:s8:s32:s32,epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
    "batch_matmul(b=2,m=10,n=12,k=8,epilogue=mul[0.125]+add[1x10x12])",
    "dense(m=20,n=24,k=16,dtype=f16,epilogue=mul[r]+gelu)",
    "conv2d(n=1,ci=8,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,layout=NCHW,epilogue=bias+silu+add)",
    "conv2d(n=2,ci=4,h=6,w=6,co=8,kh=3,kw=3,stride=2,pad=1,layout=NHWC,epilogue=bias+mul[2x8x1x1]+clip[0;6])",
    "conv2d(n=1,ci=16,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,epilogue=bias+hard_swish)",
    "depthwise_conv2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=1,pad=1,epilogue=bias+silu)",
    "max_pool2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=2,pad=1,epilogue=mul[c]+relu)",
    "avg_pool2d(n=2,c=3,h=5,w=5,kh=3,kw=3,stride=2,pad=1,epilogue=add+tanh)",
    "elementwise(op=x=s+exp+clip[0.5;2]+mul[s]+round,shape=3x67)",
    "elementwise(op=mul[100]+saturate:s8,shape=3x67)",
    "elementwise(op=mul[1000]+round:u8,shape=3x67)",
    "elementwise(op=add+silu,shape=3x67,dtype=f16)",
    "elementwise(op=mul+max,shape=3x67,dtype=s64)",
    "elementwise(op=less+and,shape=3x67x2,operands=3x1x2:1x67x1,x=3x67x1)",
    "elementwise(op=where+leaky[0.1],shape=3x67,operands=3x1:same)",
    "elementwise(op=not:f32,shape=3x68,dtype=bool)",
    "dense(m=13,n=9,k=7,epilogue=bias+prelu[c]+greater[0])",
    "reduce(op=sum,shape=5x67,axes=1,dtype=bf16)",
    "reduce(op=mean,shape=5x67,axes=1,dtype=s32)",
    "reduce(op=max,shape=70x9,axes=0,dtype=u8)",
    "max_pool2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=2,pad=1,dtype=s8)",
    "avg_pool2d(n=1,c=7,h=6,w=8,kh=3,kw=2,stride=1x2,pad=1x0,dtype=f16)",
    "reduce(op=mean,shape=2x300x5,axes=1,epilogue=add[1]+rsqrt)",
    "dense(m=13,n=9,k=7,epilogue=bias,prologue=mul[c]+add[c]+relu)",
    "batch_matmul(b=2,m=10,n=12,k=8,prologue=mul[0.125]+add)",
    "conv2d(n=1,ci=8,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,layout=NCHW,epilogue=bias,prologue=mul[c]+add[c]+relu)",
    "conv2d(n=1,ci=16,h=7,w=9,co=12,kh=3,kw=3,stride=1,pad=1,layout=NHWC,prologue=add+silu)",
    "depthwise_conv2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=1,pad=1,prologue=relu)",
    "max_pool2d(n=1,c=5,h=9,w=11,kh=3,kw=3,stride=2,pad=1,prologue=mul[c]+relu)",
    "avg_pool2d(n=1,c=7,h=6,w=8,kh=3,kw=2,stride=1x2,pad=1x0,prologue=silu)",
    "transpose(shape=3x5x7,perm=2:0:1)",
    "transpose(shape=37x20,dtype=bool)",
    "reshape(shape=6x35x2,to=7x1x60,dtype=s16)",
    "broadcast(shape=3x1x70,to=3x9x70)",
    "broadcast(shape=1,to=37,dtype=bool)",
    "concat(shapes=1x2x3:1x4x3:1x1x3,axis=1)",
    "concat(shapes=5x7:5x1:5x31:5x2:5x40,axis=-1,dtype=f64)",
    "slice(shape=9x40,begin=8:1,step=-2:3,size=4x13)",
    "pad(shape=2x5x33,before=0:1:3,after=1:0:2,value=-inf)",
    "pad(shape=3x7x37,before=0:2:3,after=0:1:5,mode=reflect,dtype=f16)",
    "pad(shape=5x19,before=2,after=3,mode=edge,dtype=s8)",
    "pad(shape=5x19,before=7:0,after=0:41,mode=wrap,dtype=u16)",
    "pad(shape=1,before=2,after=0,value=1,dtype=bool)",
    "gather(shape=50x33,indices=7,axis=0)",
    "gather(shape=3x13x5,indices=2x3,axis=1,index=s32,dtype=f16)",
    "gather(shape=1,indices=1,axis=0,dtype=bool)",
    "gather_elements(shape=5x37,indices=3x70,axis=1,index=s32)",
    "gather_nd(shape=5x9x33,indices=7x2)",
    "gather_nd(shape=3x4,indices=2,dtype=bool)",
    "depth_to_space(shape=2x12x5x7,block=2)",
    "depth_to_space(shape=1x18x3x16,block=3,mode=CRD,dtype=u8)",
    "space_to_depth(shape=2x3x10x14,block=2)",
    "resize(shape=1x3x14x15,size=1x3x28x30)",
    "resize(shape=5x9,size=9x4,coordinates=align_corners,rounding=round_prefer_ceil,dtype=bool)",
    "resize(shape=1x3x7x9,size=1x3x14x37,mode=linear)",
    "resize(shape=9x7,size=1x21,mode=linear,coordinates=pytorch_half_pixel,dtype=u8)",
    "resize(shape=2x6x5,size=2x4x15,mode=cubic,coordinates=asymmetric,cubic_coeff_a=-0.5,exclude_outside=1)",
};

/// Small workloads that tensor cores can compute, with tails.
inline constexpr const char* kTensorCoreWorkloads[] = {
    "dense(m=20,n=24,k=64,dtype=f16,epilogue=bias+relu)",
    "dense(m=20,n=24,k=64,dtype=f16,epilogue=bias+gelu+add)",
    "dense(m=33,n=40,k=48,dtype=bf16)",
    "dense(m=33,n=24,k=64,dtype=f16,epilogue=bias,prologue=mul[c]+silu)",
    "dense(m=17,n=24,k=32,dtype=tf32)",
    "dense(m=9,n=12,k=512,dtype=f16,epilogue=bias)",
    "batch_matmul(b=2,m=10,n=9,k=256,dtype=bf16:bf16:f32:f32)",
    "dense(m=33,n=17,k=96,dtype=s8:s8:s32:s32)",
    "dense(m=16,n=40,k=64,dtype=u8:s8:s32:s32)",
    "batch_matmul(b=2,m=17,n=24,k=64,dtype=f16)",
    "batch_matmul(b=2,m=20,n=19,k=24,dtype=tf32,epilogue=add)",
    "conv2d(n=1,ci=32,h=6,w=7,co=24,kh=3,kw=3,stride=1,pad=1,layout=NHWC,dtype=f16,epilogue=bias+add+relu)",
    "conv2d(n=2,ci=32,h=6,w=5,co=20,kh=3,kw=2,stride=2,pad=1,layout=NHWC,dtype=s8:s8:s32:s32)",
    "conv2d(n=1,ci=16,h=7,w=7,co=24,kh=3,kw=3,stride=1,pad=1,layout=NCHW,dtype=bf16)",
    "conv2d(n=2,ci=32,h=4,w=5,co=24,kh=1,kw=1,stride=1,pad=0,layout=NCHW,dtype=f16,epilogue=bias)",
    "conv2d(n=1,ci=32,h=5,w=5,co=24,kh=3,kw=3,stride=1,pad=1,layout=NCHW,dtype=u8:s8:s32:s32)",
    "conv2d(n=1,ci=16,h=5,w=5,co=16,kh=3,kw=3,stride=1,pad=1,layout=NCHW8c,dtype=tf32)",
};
/// How configs of that algorithm begin.
inline const char* tensor_core_algorithm(const Workload& w) {
  return w.task() == "conv2d" ? "algorithm=3," : "algorithm=1,";
}

/// Those a PoCL or a small GPU has room for.
inline Target small_gpu(const char* kind) {
  return Target::parse(std::string(kind) == "cuda" ? "cuda -arch=sm_80" : "opencl -sms=2");
}

inline std::string name_of_workload(const char* text) {
  std::string name;
  for (const char* c = text; *c; ++c) name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

}  // namespace hone
