// Small workloads of every GPU template, with odd shapes, tails and single elements.
#pragma once

#include "compiler/target/target.h"

namespace hone {

inline constexpr const char* kGpuWorkloads[] = {
    "dense(m=20,n=24,k=16)",
    "dense(m=1,n=33,k=20)",
    "dense(m=13,n=9,k=7,epilogue=bias+relu)",
    "batch_matmul(b=2,m=10,n=12,k=8)",
    "batch_matmul(b=3,m=5,n=7,k=9,epilogue=add)",
    "elementwise(op=add,shape=3x67)",
    "elementwise(op=relu,shape=1)",
    "elementwise(op=mul+add+tanh,shape=5x32x9)",
};

/// Those a PoCL or a small GPU has room for.
inline Target small_gpu(const char* kind) { return Target::parse(std::string(kind) == "cuda" ? "cuda -arch=sm_75" : "opencl -sms=2"); }

inline std::string name_of_workload(const char* text) {
  std::string name;
  for (const char* c = text; *c; ++c) name += std::isalnum(static_cast<unsigned char>(*c)) ? *c : '_';
  return name;
}

}  // namespace hone
