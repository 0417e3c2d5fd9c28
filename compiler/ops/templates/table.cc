#include <absl/strings/str_join.h>

#include <string>
#include <vector>
#include "base/check.h"

#include "compiler/ops/operator.h"
#include "compiler/ops/templates/template.h"

namespace hone {
namespace {

constexpr Template kTemplates[] = {
    {"conv2d_cpu", "conv2d", "llvm", 4, &conv2d_cpu},
    {"depthwise_cpu", "depthwise_conv2d", "llvm", 3, &depthwise_cpu},
    {"matmul_cpu", "dense", "llvm", 4, &matmul_cpu},
    {"matmul_cpu", "batch_matmul", "llvm", 3, &matmul_cpu},
    {"dense_nbits_cpu", "dense_nbits", "llvm", 1, &dense_nbits_cpu},
    {"pool_cpu", "max_pool2d", "llvm", 2, &pool_cpu},
    {"pool_cpu", "avg_pool2d", "llvm", 2, &pool_cpu},
    {"fused_cpu", "elementwise", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "reduce", "llvm", 1, &fused_workload_cpu},
    {"transpose_cpu", "transpose", "llvm", 1, &transpose_cpu},
    {"fused_cpu", "reshape", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "broadcast", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "concat", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "slice", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "pad", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "gather", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "gather_elements", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "gather_nd", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "lookup", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "depth_to_space", "llvm", 1, &fused_workload_cpu},
    {"fused_cpu", "space_to_depth", "llvm", 1, &fused_workload_cpu},
    {"resize_cpu", "resize", "llvm", 1, &resize_cpu},
    {"generic_cpu", "softmax", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "log_softmax", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "layer_norm", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "rms_norm", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "l2_norm", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "argmax", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "argmin", "llvm", 1, &generic_workload_cpu},
    {"generic_cpu", "top_k", "llvm", 1, &generic_workload_cpu},
    {"attention_cpu", "attention", "llvm", 1, &attention_cpu},
    {"cached_attention_cpu", "cached_attention", "llvm", 2, &cached_attention_cpu},
    {"recurrent_cpu", "lstm", "llvm", 1, &recurrent_cpu},
    {"recurrent_cpu", "gru", "llvm", 1, &recurrent_cpu},
    {"recurrent_cpu", "rnn", "llvm", 1, &recurrent_cpu},
    {"matmul_gpu", "dense", "cuda", 3, &matmul_gpu},
    {"matmul_gpu", "batch_matmul", "cuda", 3, &matmul_gpu},
    {"elementwise_gpu", "elementwise", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "transpose", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "reshape", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "broadcast", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "concat", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "slice", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "pad", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather_elements", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather_nd", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "lookup", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "depth_to_space", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "space_to_depth", "cuda", 1, &elementwise_gpu},
    {"elementwise_gpu", "resize", "cuda", 1, &elementwise_gpu},
    {"reduce_gpu", "reduce", "cuda", 2, &reduce_gpu},
    {"matmul_gpu", "dense", "opencl", 3, &matmul_gpu},
    {"matmul_gpu", "batch_matmul", "opencl", 3, &matmul_gpu},
    {"elementwise_gpu", "elementwise", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "transpose", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "reshape", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "broadcast", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "concat", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "slice", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "pad", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather_elements", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "gather_nd", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "lookup", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "depth_to_space", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "space_to_depth", "opencl", 1, &elementwise_gpu},
    {"elementwise_gpu", "resize", "opencl", 1, &elementwise_gpu},
    {"reduce_gpu", "reduce", "opencl", 2, &reduce_gpu},
    {"conv2d_gpu", "conv2d", "cuda", 3, &conv2d_gpu},
    {"depthwise_gpu", "depthwise_conv2d", "cuda", 1, &depthwise_gpu},
    {"pool_gpu", "max_pool2d", "cuda", 1, &pool_gpu},
    {"pool_gpu", "avg_pool2d", "cuda", 1, &pool_gpu},
    {"conv2d_gpu", "conv2d", "opencl", 3, &conv2d_gpu},
    {"depthwise_gpu", "depthwise_conv2d", "opencl", 1, &depthwise_gpu},
    {"pool_gpu", "max_pool2d", "opencl", 1, &pool_gpu},
    {"pool_gpu", "avg_pool2d", "opencl", 1, &pool_gpu},
    {"generic_gpu", "dense_nbits", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "dense_nbits", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "attention", "cuda", 1, &generic_workload_gpu},
    {"cached_attention_gpu", "cached_attention", "cuda", 1, &cached_attention_gpu},
    {"generic_gpu", "attention", "opencl", 1, &generic_workload_gpu},
    {"cached_attention_gpu", "cached_attention", "opencl", 1, &cached_attention_gpu},
    {"generic_gpu", "lstm", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "gru", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "rnn", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "lstm", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "gru", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "rnn", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "softmax", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "log_softmax", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "layer_norm", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "rms_norm", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "l2_norm", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "argmax", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "top_k", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "argmin", "cuda", 1, &generic_workload_gpu},
    {"generic_gpu", "softmax", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "log_softmax", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "layer_norm", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "rms_norm", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "l2_norm", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "argmax", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "top_k", "opencl", 1, &generic_workload_gpu},
    {"generic_gpu", "argmin", "opencl", 1, &generic_workload_gpu},
};

}  // namespace

const Template& template_for(const Workload& w, const Target& target) {
  for (const Template& t : kTemplates)
    if (t.task == w.task() && t.target_kind == target.kind) return t;
  HONE_USER_CHECK(w.op->define) << w.task()
                                << " is a part of models alone: a function in C, of which there is no other "
                                << "program to choose";
  std::vector<std::string> kinds, tasks;
  for (const Template& t : kTemplates) {
    if (t.task == w.task()) kinds.emplace_back(t.target_kind);
    if (t.target_kind == target.kind) tasks.emplace_back(t.task);
  }
  throw UserError("no template for task '" + w.task() + "' on target kind '" + target.kind +
                  "'; the task has some for " + absl::StrJoin(kinds, ", ") +
                  (tasks.empty() ? "" : ", the kind for " + absl::StrJoin(tasks, ", ")));
}

}  // namespace hone
