// Products that Arm's matrix instructions compute (FEAT_I8MM, FEAT_BF16), of every template and type that has them.
#pragma once

namespace hone {

/// How the configs of these workloads on the instructions begin, by operator.
inline constexpr char kBlocksOfProduct[] = "unit=2", kBlocksOfConvolution[] = "algorithm=9";

inline constexpr const char* kBlockProducts[] = {
    "dense(m=64,n=64,k=128,dtype=bf16:bf16:f32:f32)",
    "dense(m=2,n=4,k=4,dtype=bf16)",
    "dense(m=7,n=70,k=36,dtype=bf16,epilogue=bias+relu)",
    "dense(m=37,n=21,k=64,dtype=bf16:bf16:f32:f32,epilogue=bias+gelu)",
    "dense(m=33,n=40,k=64,dtype=bf16,prologue=mul[c]+relu)",
    "dense(m=48,n=80,k=128,dtype=u8:s8:s32:s32)",
    "dense(m=20,n=33,k=72,dtype=u8:s8:s32:s32)",
    "dense(m=13,n=24,k=40,dtype=s8:s8:s32:s32)",
    "dense(m=1,n=24,k=64,dtype=s8:s8:s32:s32)",
    "dense(m=50,n=64,k=192,dtype=u8:s8:s32:s32,epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
    "batch_matmul(b=3,m=40,n=29,k=60,dtype=bf16)",
    "batch_matmul(b=2,m=17,n=64,k=128,dtype=u8:s8:s32:s32)",
    "batch_matmul(b=2,m=33,n=35,k=64,dtype=s8:u8:s32:s32,epilogue=add[r]:f32+mul[0.25]+round+saturate:u8)",
    "batch_matmul(b=2,m=9,n=48,k=16,dtype=s8:s8:s32:s32)",
    "batch_matmul(b=2,m=64,n=48,k=32,dtype=bf16:bf16:f32:f32,prologue=mul[0.125]+add)"};

inline constexpr const char* kBlockConvolutions[] = {
    "conv2d(ci=64,h=8,w=8,co=48,kh=1,kw=1,pad=0,layout=NHWC,dtype=bf16:bf16:f32:f32)",
    "conv2d(ci=32,h=8,w=9,co=48,kh=1,kw=1,pad=0,layout=NCHW16c,dtype=bf16:bf16:f32:f32)",
    "conv2d(ci=12,h=9,w=7,co=40,layout=NCHW4c:8c,dtype=bf16,epilogue=bias+relu)",
    "conv2d(ci=20,h=9,w=11,co=21,kh=5,kw=3,stride=2,pad=2x1,layout=NHWC,dtype=bf16,epilogue=bias+add)",
    "conv2d(n=2,ci=32,h=6,w=6,co=32,layout=NCHW8c,dtype=bf16:bf16:f32:f32)",
    "conv2d(ci=64,h=8,w=8,co=64,kh=1,kw=1,pad=0,layout=NCHW8c:16c,dtype=u8:s8:s32:s32)",
    "conv2d(ci=40,h=9,w=7,co=40,dtype=u8:s8:s32:s32,layout=NCHW8c,border=131)",
    "conv2d(ci=24,h=7,w=7,co=32,dtype=s8:s8:s32:s32,layout=NHWC)",
    "conv2d(ci=32,h=7,w=7,co=32,dilation=2,pad=2,dtype=u8:s8:s32:s32,layout=NCHWc,"
    "epilogue=bias+cast:f32+mul[c]+round+saturate:u8)",
    "conv2d(ci=32,h=8,w=8,co=32,dtype=bf16,layout=NCHW16c,prologue=relu)"};

}  // namespace hone
